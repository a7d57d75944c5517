"""The promotion gate: statistics, verdict, registry of champions, evidence bundles. No torch.

`pairing` puts candidate and champion beside each other, `statistics` and `planning` are pure, `verdict` decides,
`bundle` collects the evidence, `registry` holds what is in force. A candidate is compared by the stage `compare` and
promoted by the stage `promote`, which refuses a verdict against a champion that is no longer the one.
"""
