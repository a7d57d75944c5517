"""From chat messages to token ids, within a length limit.

The template's control tokens and the messages' contents are tokenised apart: the chat template is rendered once with
placeholders for the contents, its pieces are encoded with control tokens, the contents without. So `<|im_end|>` inside
a document is eleven letters and signs to the model, a prompt holds exactly the control tokens of the template, and no
content can take part in the template's logic.

When a prompt is too long only evidence is cut: whole passages from the end, then the first passage that no longer fits
is shortened to whole sentences, and only a sole passage to words. Question and template are never cut; if they alone
exceed the limit the result is `TooLong`.
"""

from __future__ import annotations

import bisect
import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from faithline.agents.passage import Passage
from faithline.pipeline.errors import EnvironmentMismatch

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

__all__ = ["Chat", "Fitted", "Message", "TooLong"]

Message = Mapping[str, str]
"""A chat message: `role` and `content`."""

Build = Callable[[Sequence[Passage]], Sequence[Message]]
"""Makes a role's messages from the passages to show; the question is bound already."""

_PLACEHOLDER = re.compile("\ue000(\\d+)\ue001")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_WORD_END = re.compile(r"(?<=\S)\s+")


@dataclass(frozen=True)
class Fitted:
    """A prompt within the limit."""

    ids: list[int]
    """Token ids, up to and including the header of the turn to write."""
    shown: tuple[str, ...]
    """Document ids in the prompt, in order."""
    dropped: int
    """Passages left out whole."""
    shortened: bool
    """Whether the last passage shown has lost its end."""


@dataclass(frozen=True)
class TooLong:
    """Template and question alone exceed the limit."""

    tokens: int
    limit: int


class Chat:
    """A tokeniser's chat template, with contents kept apart from control tokens."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        self.tokenizer = tokenizer
        self._frames: dict[tuple[tuple[str, ...], bool], list[list[int]]] = {}
        self.control_ids: frozenset[int] = frozenset(
            number for number, token in tokenizer.added_tokens_decoder.items() if token.special
        ) | frozenset(tokenizer.all_special_ids)
        self.end_id = self._end_of_turn()
        """Token that ends the assistant's turn."""
        self.stop_ids: frozenset[int] = frozenset({self.end_id, tokenizer.eos_token_id})
        """Tokens that end a completion."""

    def encode(self, text: str) -> list[int]:
        """Tokenise content: control tokens in it become plain text.

        What the tokeniser still makes a control token of is left out: pieces that it does not know, where its unknown
        token is also its end token (SmolLM2 lacks some control characters).
        """
        ids: list[int] = self.tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        return ids if self.control_ids.isdisjoint(ids) else [number for number in ids if number not in self.control_ids]

    def prompt(self, messages: Sequence[Message], *, generate: bool = True) -> list[int]:
        """Tokenise a chat.

        Args:
            messages: The turns so far.
            generate: End with the header of the assistant's turn.

        Returns:
            Token ids, beginning-of-text included where the template writes it.
        """
        frame = self._frame(tuple(message["role"] for message in messages), generate)
        ids = list(frame[0])
        for message, after in zip(messages, frame[1:], strict=True):
            ids += self.encode(message["content"])
            ids += after
        return ids

    def completion(self, text: str) -> list[int]:
        """Tokenise what the assistant should write: the text and the token that ends its turn."""
        return [*self.encode(text), self.end_id]

    def decode(self, ids: Sequence[int]) -> str:
        """Turn generated ids into text, without control tokens."""
        plain = [number for number in ids if number not in self.control_ids]
        return str(self.tokenizer.decode(plain, clean_up_tokenization_spaces=False))

    def fit(self, build: Build, passages: Sequence[Passage], limit: int) -> Fitted | TooLong:
        """Tokenise a role's prompt with as much of the evidence as the limit allows.

        Args:
            build: The role's prompt builder, given the passages to show.
            passages: Evidence, best first: what does not fit is cut from the end.
            limit: Tokens the prompt may have.
        """
        passages = list(passages)
        ids = self.prompt(build(passages))
        if len(ids) <= limit:
            return self._fitted(ids, passages, passages, shortened=False)
        bare = self.prompt(build([]))
        if len(bare) > limit:
            return TooLong(tokens=len(bare), limit=limit)
        whole = self._most(build, [passages[: count + 1] for count in range(len(passages))], limit)
        kept = self._shortened(build, passages, whole, limit)
        return self._fitted(self.prompt(build(kept)), passages, kept, shortened=len(kept) > whole)

    def _shortened(self, build: Build, passages: list[Passage], whole: int, limit: int) -> list[Passage]:
        """The first `whole` passages and, where it fits, the beginning of the next one."""
        text = passages[whole].text
        for ends in (_SENTENCE_END, _WORD_END) if whole == 0 else (_SENTENCE_END,):
            heads = [text[: match.start()] for match in ends.finditer(text)]
            tried = [[*passages[:whole], dataclasses.replace(passages[whole], text=head)] for head in heads]
            count = self._most(build, tried, limit)
            if count:
                return tried[count - 1]
        return passages[:whole]

    def _most(self, build: Build, contexts: Sequence[Sequence[Passage]], limit: int) -> int:
        """How many of some growing contexts fit: a larger one never fits when a smaller one does not."""
        return bisect.bisect_right(contexts, limit, key=lambda passages: len(self.prompt(build(passages))))

    @staticmethod
    def _fitted(ids: list[int], passages: list[Passage], kept: list[Passage], *, shortened: bool) -> Fitted:
        shown = tuple(passage.document_id for passage in kept)
        return Fitted(ids=ids, shown=shown, dropped=len(passages) - len(kept), shortened=shortened)

    def _frame(self, roles: tuple[str, ...], generate: bool) -> list[list[int]]:
        """Token ids of the template before, between and after the contents of messages with these roles."""
        if (roles, generate) not in self._frames:
            chat = [{"role": role, "content": f"\ue000{number}\ue001"} for number, role in enumerate(roles)]
            # A fixed date: templates that print today's would make yesterday's outputs differ from today's.
            rendered = self.tokenizer.apply_chat_template(
                chat, tokenize=False, add_generation_prompt=generate, date_string="26 Jul 2024"
            )
            pieces = _PLACEHOLDER.split(str(rendered))
            if pieces[1::2] != [str(number) for number in range(len(roles))]:
                raise EnvironmentMismatch(
                    f"the chat template drops, repeats or re-orders messages with the roles {', '.join(roles)}",
                    where="the backbone's chat_template",
                    next_step="use a model whose template takes these roles",
                )
            frame = [self.tokenizer(piece, add_special_tokens=False)["input_ids"] for piece in pieces[::2]]
            self._frames[roles, generate] = frame
        return self._frames[roles, generate]

    def _end_of_turn(self) -> int:
        """The control token that the template puts after an assistant's turn; else the tokeniser's end token."""
        after = self._frame(("user", "assistant"), False)[-1]
        if after and after[0] in self.control_ids:
            return after[0]
        return int(self.tokenizer.eos_token_id)
