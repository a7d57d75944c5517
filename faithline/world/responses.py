"""Sources and the responses of pseudo models to them, hallucinations labelled.

Three tasks as in RAGTruth: answering a question over three passages, summarising a text, describing a business from
its record. Every model answers every source; how it writes, and where it hallucinates, is the business of `faults`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

import msgspec
import orjson

from faithline.world.businesses import Business, make_business
from faithline.world.draws import Draws
from faithline.world.facts import Fact
from faithline.world.faults import Faults, write_about_business, write_from_passages
from faithline.world.library import Library
from faithline.world.noise import distractors
from faithline.world.passages import Passage
from faithline.world.questions import Question, ask_chain, ask_single
from faithline.world.settings import ModelSettings, ResponseSettings
from faithline.world.spans import Draft, Span
from faithline.world.world import Stream, World

__all__ = ["Response", "Source", "sources"]

Quality: TypeAlias = Literal["good", "truncated", "incorrect_refusal"]

_SOURCES_PER_CLUSTER = 8
_REFUSAL = "Unable to answer based on given passages."


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """What a pseudo model answered."""

    model: str
    text: str
    spans: list[Span]
    quality: Quality


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """What the models were asked, and their responses."""

    index: int
    task: Literal["QA", "Summary", "Data2txt"]
    question: str
    """Of a QA source."""
    needs: tuple[Fact, ...]
    """Facts that answer it; of a summary, those that link its passages."""
    passages: tuple[Passage, ...]
    business: Business | None
    template: str
    split: Literal["train", "test"]
    responses: list[Response]

    def told(self) -> str:
        """All that the models were given, as one text."""
        if self.business:
            return orjson.dumps(self.business.record).decode()
        return "\n".join(passage.text for passage in self.passages)


def sources(world: World, settings: ResponseSettings) -> Iterator[Source]:
    """The first `settings.sources` sources with their responses; source i is the same however many there are."""
    shares = msgspec.structs.asdict(settings.tasks)
    makers: dict[str, Callable[[Library, Draws], Source]] = {"qa": _qa, "summary": _summary, "data2txt": _data2txt}
    for index in range(settings.sources):
        if index % _SOURCES_PER_CLUSTER == 0:
            library = world.library(Stream.RAGTRUTH, index // _SOURCES_PER_CLUSTER)
        draws = Draws(world.seed, "source", index)
        source = makers[draws.weighted(shares)](library, draws)
        responses = [
            _respond(source, library, model, settings, Draws(world.seed, "response", index, model.name))
            for model in settings.models
        ]
        split: Literal["train", "test"] = "test" if draws.chance(settings.test) else "train"
        yield msgspec.structs.replace(source, index=index, split=split, responses=responses)


def _source(task: Literal["QA", "Summary", "Data2txt"], template: str) -> Source:
    return Source(
        index=0,
        task=task,
        question="",
        needs=(),
        passages=(),
        business=None,
        template=template,
        split="train",
        responses=[],
    )


def _qa(library: Library, draws: Draws) -> Source:
    question: Question | None = None
    while question is None:
        question = ask_single(library, draws) if draws.chance(0.5) else ask_chain(library, draws, 2)
    supporting = {fact.subject.key: library.main(fact.subject) for fact in question.needs}
    passages = [*supporting.values()]
    passages += distractors(question.needs, library, 3 - len(passages), 1.0, draws)
    return msgspec.structs.replace(
        _source("QA", question.template),
        question=question.text,
        needs=question.needs,
        passages=tuple(draws.shuffled(passages)),
    )


def _summary(library: Library, draws: Draws) -> Source:
    chain = draws.choice(library.chains(3))
    passages = tuple(library.main(fact.subject) for fact in chain)
    attributes = "-".join(fact.attribute.name for fact in chain[:-1])
    return msgspec.structs.replace(_source("Summary", f"summary.{attributes}"), needs=chain[:-1], passages=passages)


def _data2txt(library: Library, draws: Draws) -> Source:
    return msgspec.structs.replace(_source("Data2txt", "data2txt.business"), business=make_business(library, draws))


def _respond(
    source: Source, library: Library, model: ModelSettings, settings: ResponseSettings, draws: Draws
) -> Response:
    mark = draws.below(10_000) / 10_000
    if mark < settings.refused:
        return Response(model=model.name, text=_REFUSAL, spans=[], quality="incorrect_refusal")
    draft = Draft()
    faults = Faults(rate=model.fault_rate, subtle=settings.subtle, baseless=settings.baseless)
    if source.business:
        write_about_business(draft, source.business, faults, draws)
    else:
        write_from_passages(
            draft, source.task, source.needs, passages=source.passages, library=library, faults=faults, draws=draws
        )
    quality: Quality = "good"
    if mark < settings.refused + settings.truncated:
        draft.cut(draft.text.rindex(" ", 0, len(draft.text) * draws.between(50, 95) // 100))
        quality = "truncated"
    return Response(model=model.name, text=draft.text, spans=draft.spans, quality=quality)
