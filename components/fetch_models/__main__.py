"""Put the backbone and the embedding model in place: found, digests verified, converted to safetensors folders."""

from __future__ import annotations

import os
from pathlib import Path

from components.fetch_models.params import Params
from faithline.pipeline.stage import StageContext, main


def run(ctx: StageContext[Params]) -> dict[str, float | int | str]:
    """Fetch each model into its output folder."""
    from faithline.models.resolve import fetch
    from faithline.models.site import Site
    from faithline.pipeline.machine import cache_folder, hub_offline

    backbone, embedder = ctx.out("models/backbone"), ctx.out("models/embedder")
    site = Site(
        root=backbone.parents[1],  # outputs are named relative to the project
        cache=cache_folder(os.environ, Path.home()),
        offline=hub_offline(os.environ),
        log=ctx.log,
        progress=ctx.progress,
    )
    metrics: dict[str, float | int | str] = {}
    for role, spec, out in (("embedder", ctx.params.embedder, embedder), ("backbone", ctx.params.backbone, backbone)):
        fetched = fetch(spec, out, site)
        metrics[f"{role}_source"] = fetched.source
        metrics[f"{role}_parameters"] = fetched.weights.parameters
        metrics[f"{role}_weight_bytes"] = fetched.weights.bytes
    return metrics


if __name__ == "__main__":
    main("fetch_models", Params, run)
