"""Warm-start the roles: supervised LoRA training, one adapter per entry of warm_start.adapters."""

from __future__ import annotations

from components.warm_start.params import Params
from faithline.pipeline.records import write_json
from faithline.pipeline.stage import StageContext, main


def run(ctx: StageContext[Params]) -> dict[str, dict[str, float | int]]:
    """Run the stage."""
    import transformers

    from components.warm_start import train
    from components.warm_start.health import require_better
    from faithline.lm import backbone
    from faithline.lm.chat import Chat

    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    settings, folder = ctx.params.warm_start, ctx.dep("models/backbone")
    chat = Chat(backbone.load_tokenizer(folder))
    prepared, sft = ctx.dep("data/prepared"), ctx.dep("data/training/sft")
    # All data are read before anything is trained: what is wrong with them is known at once.
    examples = {
        name: train.read_examples(prepared, sft, adapter, ctx.seed, chat) for name, adapter in settings.adapters.items()
    }
    for name, chosen in examples.items():
        for split, found in (("train", chosen.train), ("validation", chosen.validation)):
            ctx.log.info(split, adapter=name, examples=len(found.rows), tokens_read=found.tokens, **found.skipped)
    tokens = sum(round(settings.optimisation.epochs * chosen.train.tokens) for chosen in examples.values())
    out, curves, metrics = ctx.out("models/warm_start"), {}, {}
    with ctx.progress(tokens, "tokens", "training") as progress:
        for name, chosen in examples.items():
            base = backbone.load(folder, device=settings.device, dtype=settings.dtype)
            result = train.train(base, chosen, settings, ctx.seed, progress.advance)
            curves[name], metrics[name] = result.curve, train.summary(result, chosen)
            require_better(metrics[name]["eval_loss_before"], metrics[name]["eval_loss"], name)
            (out / name).mkdir()
            train.write_adapter(result.model, out / name, "models/backbone")
            backbone.write_base(out / name, folder)
    train.write_curves(curves, ctx.out("plots/warm_start.csv"))
    write_json(ctx.out("metrics/warm_start.json"), metrics)
    return metrics


if __name__ == "__main__":
    main("warm_start", Params, run)
