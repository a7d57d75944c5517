"""Warm-start the grounded-answer role: supervised LoRA training on prepared questions."""

from __future__ import annotations

from components.warm_start.params import Params
from faithline.pipeline.records import write_json
from faithline.pipeline.stage import StageContext, main


def run(ctx: StageContext[Params]) -> dict[str, float | int]:
    """Run the stage."""
    import transformers

    from components.warm_start import train
    from components.warm_start.health import require_better
    from faithline.lm import backbone
    from faithline.lm.chat import Chat

    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    settings, folder = ctx.params.warm_start, ctx.dep("models/backbone")
    chat = Chat(backbone.load_tokenizer(folder))
    examples = train.read_examples(ctx.dep("data/prepared"), settings, ctx.seed, chat)
    for split, chosen in (("train", examples.train), ("validation", examples.validation)):
        ctx.log.info(split, questions=len(chosen.rows), tokens_read=chosen.tokens, **chosen.skipped)
    base = backbone.load(folder, device=settings.device, dtype=settings.dtype)
    tokens = round(settings.optimisation.epochs * examples.train.tokens)
    with ctx.progress(tokens, "tokens", "training") as progress:
        result = train.train(base, examples, settings, ctx.seed, progress.advance)
    metrics = train.summary(result, examples)
    require_better(metrics["eval_loss_before"], metrics["eval_loss"])
    out = ctx.out("models/warm_start")
    train.write_adapter(result.model, out, "models/backbone")
    backbone.write_base(out, folder)
    train.write_curve(result.curve, ctx.out("plots/warm_start.csv"))
    write_json(ctx.out("metrics/warm_start.json"), metrics)
    return metrics


if __name__ == "__main__":
    main("warm_start", Params, run)
