"""LoRA adapters of PPO: the shape of one that starts fresh, and of one that continues a warm start."""

from __future__ import annotations

from pathlib import Path

from peft import LoraConfig, PeftConfig
from transformers import PreTrainedModel

from faithline.lm.lora import shape
from faithline.pipeline.errors import ConfigError
from faithline.rl.settings import Lora

__all__ = ["continued", "fresh"]


def fresh(model: PreTrainedModel, lora: Lora) -> LoraConfig:
    """Shape of a new adapter, without dropout (see `settings.Lora`).

    Raises:
        ConfigError: The backbone lacks a layer in `lora.target_modules`.
    """
    return shape(
        model,
        rank=lora.rank,
        alpha=lora.alpha,
        dropout=0.0,
        target_modules=lora.target_modules,
        where="lora.target_modules",
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
