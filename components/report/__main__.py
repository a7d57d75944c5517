"""Write reports/report.html: scores with intervals, worst answers, data, training curve, and where it all came from."""

from __future__ import annotations

from components.report.params import Params
from faithline.pipeline.stage import StageContext, main


def run(ctx: StageContext[Params]) -> dict[str, float | int | str]:
    """Read the run's files and write the page."""
    from components.report.page import render
    from components.report.sources import read
    from faithline.data.prepared import documents

    sources = read(ctx.dep)
    for path in sources.absent:
        ctx.log.warning("shown as absent", file=path)
    page = render(sources, documents(ctx.dep("data/prepared")), ctx.params.report)
    ctx.out("reports/report.html").write_text(page, encoding="utf-8")
    return {"characters": len(page), "absent": len(sources.absent)}


if __name__ == "__main__":
    main("report", Params, run)
