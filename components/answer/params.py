"""Settings of answer; every value comes from params.yaml."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from faithline.noise.settings import ControlledNoise

Count = Annotated[int, msgspec.Meta(ge=1)]


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Section `answer`."""

    splits: Annotated[list[Literal["train", "validation", "test"]], msgspec.Meta(min_length=1)]
    """Splits to answer questions of."""
    sets: list[str] | None
    """Sets of data/prepared; null = all that have questions."""
    limit: Count | None
    """Most questions per set, drawn by seed; null = all. A larger limit keeps the questions of a smaller one."""
    top_k: Count | None
    """Passages shown: those of the question's own that are most similar to it; null = all."""
    order: Literal["given", "ranked"]
    """Order of the passages in the prompt: as the set gives them, or most similar first."""
    max_prompt_tokens: Count
    """Longer prompts lose evidence, the least similar passages first."""
    max_new_tokens: Count
    """Tokens of an answer; one that does not end within them is malformed unless its closing asterisks are there."""
    temperature: Annotated[float, msgspec.Meta(ge=0.0)]
    """0 = greedy."""
    top_p: Annotated[float, msgspec.Meta(gt=0.0, le=1.0)]
    """Probability mass to sample from; no effect when greedy."""
    batch_tokens: Count
    """Tokens, prompts and answers with padding, that are decoded together: memory against speed."""
    chunk_questions: Count
    """Questions prompted, sorted by length and written together: memory against speed."""
    device: Literal["auto", "cpu", "cuda"]
    dtype: Literal["auto", "float32", "bfloat16"]
    """Number type of the model; `auto` is bfloat16 on a GPU that computes it, float32 elsewhere."""


class Params(msgspec.Struct, frozen=True, kw_only=True):
    """What the stage reads of params.yaml."""

    seed: int
    answer: Answer
    controlled_noise: ControlledNoise
