"""Shapes of LoRA adapters, and how a folder describes one: for every training, supervised or by reinforcement.

A shape names linear layers of the backbone, which is checked before anything is trained. What a folder says of its
adapter holds no path of this machine and no order of hashing, so the same adapter gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from peft import LoraConfig, TaskType

from faithline.pipeline.errors import ConfigError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["make_portable", "shape"]


def shape(
    model: PreTrainedModel, *, rank: int, alpha: int, dropout: float, target_modules: Sequence[str], where: str
) -> LoraConfig:
    """Shape of a new adapter.

    Args:
        model: The backbone.
        rank: Inner dimension of the update.
        alpha: The update is scaled by alpha / rank.
        dropout: On the adapter's input, in training.
        target_modules: Names of the linear layers that get an update.
        where: The setting that names them, for the message.

    Raises:
        ConfigError: The backbone has no layer of a name in `target_modules`.
    """
    names = {name.rpartition(".")[2] for name, _ in model.named_modules()}
    unknown = [name for name in target_modules if name not in names]
    if unknown:
        raise ConfigError(
            f"the backbone has no layers called {', '.join(unknown)}",
            where=where,
            next_step="use the names of this architecture's linear layers, e.g. q_proj, v_proj",
        )
    return LoraConfig(
        task_type=TaskType.CAUSAL_LM,
        r=rank,
        lora_alpha=alpha,
        lora_dropout=dropout,
        target_modules=list(target_modules),
        bias="none",
    )


def make_portable(config: LoraConfig, base_name: str) -> None:
    """Let an adapter's description be the same on every machine.

    Args:
        config: Of the adapter that is about to be written; it is changed in place.
        base_name: How it names its backbone: no path of this machine.
    """
    config.base_model_name_or_path = base_name
    config.target_modules = sorted(config.target_modules or ())  # PEFT holds a set, and would write it in hash order
