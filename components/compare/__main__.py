"""Compare the candidate's evaluation with the champion's: promote, keep, or undecided, with reasons.

The champion is read from the registry. The stage ends well whatever the verdict, so that the report shows it; the stage
`promote` acts on it.
"""

from __future__ import annotations

from components.compare.params import Params
from faithline.pipeline.records import write_json
from faithline.pipeline.stage import StageContext, main


def run(ctx: StageContext[Params]) -> dict[str, float | int | str]:
    """Write the verdict."""
    import msgspec

    from faithline.promotion.gate import find_verdict, registry_of

    settings = ctx.params.promote
    root = ctx.dep("data/evaluation").parents[1]
    verdict = find_verdict(root, registry_of(root, settings), settings)
    for reason in verdict.reasons:
        ctx.log.info(verdict.verdict, reason=reason)
    write_json(ctx.out("data/comparison") / "verdict.json", msgspec.to_builtins(verdict))
    found: dict[str, float | int | str] = {
        "verdict": verdict.verdict,
        "champion": verdict.champion or "none",
        "items": verdict.items,
    }
    checks = {
        check.metric: {"candidate": check.candidate, "champion": check.champion, "difference": check.difference}
        for check in verdict.checks
    }
    write_json(ctx.out("metrics/compare.json"), {**found, "checks": checks})
    return found


if __name__ == "__main__":
    main("compare", Params, run)
