"""Make the candidate the champion if the verdict says so: its evidence bundle first, then one change of the registry.

Exit 10 if the verdict is to keep the champion, or undecided.
"""

from __future__ import annotations

from components.promote.params import Params
from faithline.pipeline.records import write_json
from faithline.pipeline.stage import StageContext, main


def run(ctx: StageContext[Params]) -> dict[str, float | int | str]:
    """Write the bundle and the receipt, and change the registry."""
    from faithline.pipeline.graph import load_graph
    from faithline.promotion.gate import promote, registry_of
    from faithline.promotion.tags import tag_names

    settings = ctx.params.promote
    root = ctx.dep("data/comparison").parents[1]
    folder = ctx.out("data/promotion")
    done = promote(root, load_graph(root), registry_of(root, settings), settings, folder / "bundle")
    version = done.manifest.version
    if done.state.champion == version:
        tags = " ".join(tag_names(settings, done.state))
        ctx.log.info("already the champion" if done.known else "promoted", version=version, tags=tags)
    else:
        ctx.log.info("waits for approval", version=version, next=f"faithline promote approve {version}")
    receipt = {"name": settings.name, "version": version, "bundle": done.manifest.bundle, "approval": settings.approval}
    write_json(folder / "receipt.json", receipt)
    return {"version": version}


if __name__ == "__main__":
    main("promote", Params, run)
