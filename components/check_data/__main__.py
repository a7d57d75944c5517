"""Measure the noise of data/prepared and hold it against the gates; exit 20 when one is shut or the data drifted.

Writes reports/noise.json, reports/drift.json (read by schedulers), reports/data_docs, metrics/check_data.json and
data/gate.json, which every training stage depends on. A shut gate leaves none of them; what was found is always in
logs/check_data, and a page that explains it at logs/check_data/data_docs/index.html.
"""

from __future__ import annotations

import shutil

from components.check_data.params import Params
from faithline.pipeline.records import input_digest, write_json
from faithline.pipeline.stage import StageContext, main

_ACCEPT = "look at what changed; if the new data are wanted: `faithline data accept`, then commit data_snapshot.json"


def run(ctx: StageContext[Params]) -> dict[str, float | int]:
    """Measure, judge, write down, and only then stop the run if it must stop."""
    import msgspec

    from components.check_data.summary import flat_metrics
    from faithline.gates.gate import SNAPSHOT, check_data, declared_in
    from faithline.gates.noise_figures import NoiseFigures, read_figures
    from faithline.noise.measure import measure, rows_to_read

    prepared, gates, found = ctx.dep("data/prepared"), ctx.params.gates, ctx.log_folder()
    declared = declared_in(prepared)
    noise: dict[str, object] = {}

    def figures() -> dict[str, NoiseFigures]:
        with ctx.progress(rows_to_read(prepared), "rows", "measuring noise") as progress:
            noise.update(measure(prepared, ctx.params.noise, progress.advance))
        write_json(found / "noise.json", noise)
        return read_figures(found / "noise.json", declared)

    result = check_data(
        prepared,
        declared=declared,
        noise=figures,
        gates=gates,
        accepted=ctx.dep(SNAPSHOT),
        docs=found / "data_docs",
    )
    write_json(found / "gates.json", result.outcome.as_json())
    for name, suite in result.outcome.suites.items():
        ctx.log.info("gate", suite=name, declared=suite.declared, evaluated=suite.evaluated, held=suite.held)
    where = f"data/prepared; all findings: logs/{found.name}/data_docs/index.html"
    result.outcome.require_passed(where=where, next_step="mend the data, or change `gates` in params.yaml knowingly")
    assert result.drift is not None  # noqa: S101 - measured whenever the layout holds
    write_json(found / "drift.json", msgspec.to_builtins(result.drift))
    for reason in result.drift.reasons:
        ctx.log.info("differs from the accepted snapshot", what=reason)
    result.drift.require_accepted(gates.drift, where=where, next_step=_ACCEPT)

    shutil.copytree(found / "data_docs", ctx.out("reports/data_docs"), dirs_exist_ok=True)
    for name in ("noise.json", "gates.json", "drift.json"):
        shutil.copyfile(found / name, ctx.out(f"reports/{name}"))
    metrics = flat_metrics(result, noise)
    write_json(ctx.out("metrics/check_data.json"), metrics)
    # No figure and no limit in it: training runs anew for other data, not for another threshold.
    write_json(ctx.out("data/gate.json"), {"passed": True, "prepared": input_digest(prepared)})
    return {key: metrics[key] for key in ("suites", "expectations", "drifted")}


if __name__ == "__main__":
    main("check_data", Params, run)
