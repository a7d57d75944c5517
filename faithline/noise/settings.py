"""Settings of the noise statistics and of controlled noise; values come from params.yaml only."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

__all__ = ["ControlledNoise", "Language", "Leakage", "NearDuplicates", "Noise"]

Share = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
Count = Annotated[int, msgspec.Meta(ge=1)]


class NearDuplicates(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """MinHash with banded look-up."""

    shingle_words: Count
    """Words per shingle; a document is compared by its set of shingles."""
    permutations: Annotated[int, msgspec.Meta(ge=4, le=1024, multiple_of=4)]
    """MinHash values per document, two bytes each; four make a band. Standard error of an estimate J:
    sqrt(J (1 - J) / permutations)."""
    min_jaccard: Share
    """Estimated Jaccard similarity from which two documents count as near-duplicates. Bands find a pair of similarity J
    with probability 1 - (1 - J^4)^(permutations / 4): at 64, 99.98 % of pairs at 0.8, and 65 % at 0.5."""


class Leakage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Overlap of evaluation with training data."""

    ngram_words: Count
    """Words of a shared run that counts as overlap; 13 as in GPT-3's contamination study (arXiv 2005.14165, App. C)."""
    max_document_ngrams: Count
    """n-grams of documents and long answers to keep in scratch files, 12 bytes each. All are kept while the text holds
    fewer; beyond that only window minima (winnowing), and the report says from which length on a shared run is sure to
    be found. Questions are always compared in full."""


class Language(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Cheap language rule."""

    min_words: Count
    """Shorter texts are not judged."""
    min_function_words: Share
    """A text in Latin script with a smaller share of English function words is noted: a list, or not English."""
    max_other_script: Share
    """A text with a larger share of characters from one other script counts as written in that script."""


class Noise(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Section `noise`."""

    quantiles: Annotated[list[Share], msgspec.Meta(min_length=1)]
    """Quantiles shown for every length and count; exact, as the smallest value that reaches the share."""
    near_duplicates: NearDuplicates
    leakage: Leakage
    language: Language
    truncated_min_words: Count
    """From this length on a document that ends without closing punctuation counts as truncated."""
    longest_text: Count
    """Characters of one text that are analysed; lengths are exact whatever this is, and longer texts are counted."""
    sort_mib: Count
    """Memory for sorting what waits in scratch files; less means more passes over them."""
    examples: Annotated[int, msgspec.Meta(ge=0)]
    """Ids listed per finding; texts are never shown."""


class ControlledNoise(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Noise put into questions on purpose, for robustness curves."""

    seed: int
    """Decides which documents are drawn or dropped and where drawn ones go; per question, so other questions do not
    matter."""
    add_distractors: Annotated[int, msgspec.Meta(ge=0)]
    """Documents of other questions of the set added to every question, before any target."""
    irrelevant_share: Share | None
    """Wanted share of irrelevant documents of every question; null = leave it."""
    raise_by: Literal["add_distractors", "drop_gold"]
    """How a question below the target gets there."""
    max_documents: Count
    """A question is never given more documents than this; what that leaves short of the target is counted."""
