"""Score data/answers against data/prepared: EM, F1, answer rate and others, with bootstrap intervals per slice."""

from __future__ import annotations

from components.evaluate.params import Params
from faithline.pipeline.records import write_json
from faithline.pipeline.stage import StageContext, main


def run(ctx: StageContext[Params]) -> dict[str, float | int | str]:
    """Write items, slices, the flat metrics and the plot table."""
    import msgspec
    import pyarrow.parquet as pq

    from components.evaluate.answers import read_answers
    from components.evaluate.items import add_hallucinated, join, score_items
    from components.evaluate.summary import evaluation, flat_metrics, plot_rows
    from faithline.data.prepared import documents, questions

    settings = ctx.params.evaluate
    answers = read_answers(ctx.dep("data/answers") / "answers.parquet")
    asked, unanswered = join(answers, questions(ctx.dep("data/prepared")))
    ctx.log.info("scoring", answers=asked.num_rows, unanswered=sum(unanswered.values()))
    texts = None
    if settings.hallucination == "unfound":
        table = documents(ctx.dep("data/prepared")).table
        bodies = zip(table["title"].to_pylist(), table["text"].to_pylist(), strict=True)
        texts = dict(zip(table["document_id"].to_pylist(), (f"{title} {text}" for title, text in bodies), strict=True))
    items = add_hallucinated(score_items(asked, settings.normalisation), settings.normalisation, texts)
    result = evaluation(items, settings)
    flat = flat_metrics(result, unanswered)

    folder = ctx.out("data/evaluation")
    pq.write_table(items, folder / "items.parquet", compression="zstd")
    write_json(folder / "slices.json", msgspec.to_builtins(result))
    write_json(ctx.out("metrics/evaluate.json"), flat)
    ctx.out("plots/evaluate.csv").write_text(plot_rows(result), encoding="utf-8")
    shown_metrics = ("n", "em", "f1", "hallucination_rate", "answer_rate", "failure_rate")
    return {key: flat["all"][key] for key in shown_metrics if key in flat["all"]}


if __name__ == "__main__":
    main("evaluate", Params, run)
