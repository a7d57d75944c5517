"""A judge that is a local model: the prompt as a user's message in its chat template, decoded greedily and batched.

A prompt that is longer than the window is a failure: cut evidence would turn into a verdict about other evidence. So is
a reply that did not end within its tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from faithline.judges.judge import Reply

if TYPE_CHECKING:
    from faithline.lm.backbone import Backbone
    from faithline.lm.chat import Chat

__all__ = ["LocalJudge"]


class LocalJudge:
    """A loaded model."""

    def __init__(
        self,
        backbone: Backbone,
        chat: Chat,
        *,
        name: str,
        max_prompt_tokens: int,
        max_new_tokens: int,
        batch_tokens: int,
    ) -> None:
        """Take a model.

        Args:
            backbone: The model.
            chat: Its template.
            name: What tells this model from others, such as its fingerprint.
            max_prompt_tokens: Longer prompts are failures.
            max_new_tokens: Tokens of a reply.
            batch_tokens: Tokens decoded together; decides no reply.
        """
        self._backbone, self._chat, self._name = backbone, chat, name
        self._max_prompt, self._max_new, self._batch = max_prompt_tokens, max_new_tokens, batch_tokens

    @property
    def identity(self) -> str:
        """Model, number type and limit."""
        return f"local {self._name} {self._backbone.dtype} n={self._max_new}"

    def replies(self, prompts: Sequence[str]) -> Iterator[tuple[int, Reply]]:
        """Answer prompts, micro-batch by micro-batch."""
        from faithline.lm.generate import Request, Sampling, stream

        places, requests = [], []
        for index, prompt in enumerate(prompts):
            ids = self._chat.prompt([{"role": "user", "content": prompt}])
            if len(ids) > self._max_prompt:
                yield index, Reply(None, f"the prompt has {len(ids)} tokens, at most {self._max_prompt} are read")
                continue
            places.append(index)
            requests.append(Request(ids, self._max_new, seed=0))
        done = stream(
            self._backbone.model,
            requests,
            sampling=Sampling(temperature=0.0, top_p=1.0),
            stop_ids=self._chat.stop_ids,
            batch_tokens=self._batch,
        )
        for number, completion in done:
            text = self._chat.decode(completion.ids).strip()
            if not completion.stopped:
                reply = Reply(None, "cut off by the token limit")
            else:
                reply = Reply(text) if text else Reply(None, "empty")
            yield places[number], reply
