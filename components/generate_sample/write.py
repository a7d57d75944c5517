"""One function per file of the sample: the world's items through the format's writer, streamed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

from components.generate_sample.params import GenerateSample, HotpotQA, Musique, TwoWiki
from faithline.world.biomedical import biomedical_items
from faithline.world.comparisons import ask_bridge_comparison, ask_comparison, ask_gap, ask_interval
from faithline.world.draws import Draws
from faithline.world.formats.bioasq import bioasq_rows
from faithline.world.formats.hotpotqa import hotpotqa_rows
from faithline.world.formats.musique import musique_rows
from faithline.world.formats.ragtruth import response_rows, source_row
from faithline.world.formats.streams import Row, write_csv, write_json_array, write_json_lines
from faithline.world.formats.truthfulqa import HEADER, truthfulqa_rows
from faithline.world.formats.two_wiki import two_wiki_rows
from faithline.world.library import Library
from faithline.world.questions import Question, ask_chain, ask_inference, ask_past, ask_single, ask_unanswerable
from faithline.world.responses import sources
from faithline.world.truthful import truthful_items
from faithline.world.world import Asker, Stream, World

__all__ = ["items_total", "write_sample"]

T = TypeVar("T")
OnItem = Callable[[], None]


def write_sample(folder: Path, settings: GenerateSample, on_item: OnItem) -> dict[str, int]:
    """Write all files of the sample.

    Args:
        folder: Where to write; must exist.
        settings: Checked settings.
        on_item: Called after each item, for progress.

    Returns:
        Rows by file; the two RAGTruth files count separately.
    """
    world = World(settings.seed, settings.world)
    hotpotqa = world.items(Stream.HOTPOTQA, settings.hotpotqa.questions, _hotpotqa_askers(settings.hotpotqa))
    two_wiki = world.items(Stream.TWO_WIKI, settings.two_wiki.questions, _two_wiki_askers(settings.two_wiki))
    musique = world.items(Stream.MUSIQUE, settings.musique.questions, _musique_askers(settings.musique))
    biomedical = _counted(biomedical_items(world, settings.bioasq), on_item)
    truthful = _counted(truthful_items(world, settings.truthfulqa), on_item)
    return {
        "hotpotqa": write_json_array(folder / "hotpotqa.json", hotpotqa_rows(_counted(hotpotqa, on_item))),
        "two_wiki": write_json_array(folder / "2wikimultihopqa.json", two_wiki_rows(_counted(two_wiki, on_item))),
        "musique": write_json_lines(folder / "musique.jsonl", musique_rows(_counted(musique, on_item))),
        "bioasq": write_json_array(folder / "bioasq.json", bioasq_rows(biomedical), key="questions"),
        "truthfulqa": write_csv(
            folder / "truthfulqa.csv", HEADER, truthfulqa_rows(truthful, evidence=settings.truthfulqa.evidence)
        ),
        **_write_ragtruth(folder / "ragtruth", world, settings, on_item),
    }


def items_total(settings: GenerateSample) -> int:
    """How often `write_sample` will call `on_item`; sources of responses count twice, once per file."""
    questions = (settings.hotpotqa, settings.two_wiki, settings.musique, settings.bioasq, settings.truthfulqa)
    return sum(section.questions for section in questions) + 2 * settings.ragtruth.sources


def _write_ragtruth(folder: Path, world: World, settings: GenerateSample, on_item: OnItem) -> dict[str, int]:
    """Both files, each from its own pass over the sources: cheaper than holding one of them in memory."""
    folder.mkdir(exist_ok=True)
    infos = (source_row(source) for source in _counted(sources(world, settings.ragtruth), on_item))
    responses: Iterator[Row] = (
        row for source in _counted(sources(world, settings.ragtruth), on_item) for row in response_rows(source)
    )
    return {
        "ragtruth_sources": write_json_lines(folder / "source_info.jsonl", infos),
        "ragtruth_responses": write_json_lines(folder / "response.jsonl", responses),
    }


def _hotpotqa_askers(settings: HotpotQA) -> dict[Asker, float]:
    shares = settings.shares
    return {
        ask_single: shares.single,
        partial(ask_chain, hops=2): shares.bridge,
        ask_comparison: shares.comparison,
        ask_gap: shares.numeric,
        _temporal: shares.temporal,
    }


def _two_wiki_askers(settings: TwoWiki) -> dict[Asker, float]:
    shares = settings.shares
    return {
        partial(ask_chain, hops=2): shares.compositional,
        ask_inference: shares.inference,
        ask_comparison: shares.comparison,
        ask_bridge_comparison: shares.bridge_comparison,
    }


def _musique_askers(settings: Musique) -> dict[Asker, float]:
    return {
        partial(ask, hops=hops): hops_share * kind_share
        for ask, kind_share in ((ask_chain, 1 - settings.unanswerable), (ask_unanswerable, settings.unanswerable))
        for hops, hops_share in ((2, 1 - settings.three_hops), (3, settings.three_hops))
    }


def _temporal(library: Library, draws: Draws) -> Question | None:
    return ask_past(library, draws) if draws.chance(0.5) else ask_interval(library, draws)


def _counted(items: Iterable[T], on_item: OnItem) -> Iterator[T]:
    for item in items:
        yield item
        on_item()
