"""Shapes of LoRA adapters: of one that starts fresh, and of one that continues a warm start."""

from __future__ import annotations

from pathlib import Path

from peft import LoraConfig, PeftConfig, TaskType
from transformers import PreTrainedModel

from faithline.pipeline.errors import ConfigError
from faithline.rl.settings import Lora

__all__ = ["continued", "fresh"]


def fresh(model: PreTrainedModel, lora: Lora) -> LoraConfig:
    """Shape of a new adapter.

    Raises:
        ConfigError: The backbone lacks a layer in `lora.target_modules`.
    """
    names = {name.rpartition(".")[2] for name, _ in model.named_modules()}
    unknown = [name for name in lora.target_modules if name not in names]
    if unknown:
        raise ConfigError(
            f"the backbone has no layers called {', '.join(unknown)}",
            where="lora.target_modules",
            next_step="use the names of this architecture's linear layers, e.g. q_proj, v_proj",
        )
    return LoraConfig(
        task_type=TaskType.CAUSAL_LM,
        r=lora.rank,
        lora_alpha=lora.alpha,
        target_modules=lora.target_modules,
        bias="none",
    )


def continued(folder: Path) -> LoraConfig:
    """Shape of an adapter that was trained before, without its dropout.

    Raises:
        ConfigError: It is not plain LoRA.
    """
    config = PeftConfig.from_pretrained(str(folder))
    if not isinstance(config, LoraConfig) or config.bias != "none" or config.modules_to_save:
        raise ConfigError(
            "the adapter to continue is not plain LoRA", where=str(folder), next_step="train one with warm_start"
        )
    config.inference_mode, config.lora_dropout = False, 0.0
    return config
