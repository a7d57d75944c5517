"""Train MARCH by PPO: Solver and Checker learn from what the blinded Checker says of the Solver's numbers."""

from __future__ import annotations

from components.train_march.params import Params
from faithline.pipeline.records import write_json
from faithline.pipeline.stage import StageContext, main


def run(ctx: StageContext[Params]) -> dict[str, float]:
    """Run the stage."""
    import transformers

    from components.train_march import train
    from faithline.rl.reports import write_curve

    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    training = train.Training(ctx)
    training.try_canaries()
    result = training.run()
    training.export(ctx.out("models/march"))
    write_curve(result.curve, ctx.out("plots/train_march.csv"))
    metrics = train.summary(result)
    if metrics.get("no_question_rate") == 1.0:
        ctx.log.warning("no held-out response states a number: the reward has nothing to tell them apart by")
    write_json(ctx.out("metrics/train_march.json"), metrics)
    return metrics


if __name__ == "__main__":
    main("train_march", Params, run)
