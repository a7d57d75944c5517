"""Answer the prepared questions over their own passages with the warm-started backbone.

Writes data/answers/answers.parquet and metrics/answer.json.
"""

from __future__ import annotations

import dataclasses
import time

from components.answer.params import Params
from faithline.pipeline.records import write_json
from faithline.pipeline.stage import StageContext, main


def run(ctx: StageContext[Params]) -> dict[str, float | int]:
    """Run the stage."""
    import transformers

    from components.answer.answer import Models, answer_questions, check_window
    from components.answer.questions import read_questions, with_noise
    from faithline.data import prepared
    from faithline.lm import backbone
    from faithline.lm.chat import Chat
    from faithline.retrieval.index import load_index

    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    settings, data = ctx.params.answer, ctx.dep("data/prepared")
    questions, noise = with_noise(read_questions(data, settings, ctx.seed), data, ctx.params.controlled_noise)
    if noise is not None:
        ctx.log.info("controlled noise", **dataclasses.asdict(noise))
    documents = prepared.documents(data)
    index = load_index(
        ctx.dep("data/index"), ctx.dep("models/embedder"), device=settings.device, documents=list(documents)
    )
    model = backbone.load(
        ctx.dep("models/backbone"),
        device=settings.device,
        dtype=settings.dtype,
        adapter=ctx.dep("models/warm_start/answer"),
        merge=True,
    )
    check_window(model, settings)
    models = Models(model, Chat(model.tokenizer), index)
    ctx.log.info("answering", questions=questions.num_rows, device=str(model.device), dtype=str(model.dtype))
    started = time.monotonic()
    with ctx.progress(questions.num_rows, "questions", "answering") as progress:
        metrics = answer_questions(
            questions,
            documents,
            models,
            settings,
            seed=ctx.seed,
            path=ctx.out("data/answers") / "answers.parquet",
            advance=progress.advance,
        )
    seconds = time.monotonic() - started
    ctx.log.info("speed", seconds=round(seconds, 1), questions_per_s=round(questions.num_rows / seconds, 2))
    if noise is not None:
        metrics |= {f"noise_{name}": count for name, count in dataclasses.asdict(noise).items()}
    write_json(ctx.out("metrics/answer.json"), metrics)
    return metrics


if __name__ == "__main__":
    main("answer", Params, run)
