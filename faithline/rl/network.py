"""The weights under training: one backbone, the policies on it, their reference and, if asked for, a value model.

With LoRA all of them are adapters on one frozen backbone, switched by name; with full tuning they are copies of the
model. `use` makes one active and returns a causal language model in evaluation mode (there is no dropout: old and new
probabilities must agree before an update). Each name's trainable parameters are listed once, at the start: PEFT's
`set_adapter` switches `requires_grad`, so lists made later would depend on who was active (peft #1571, #1374).
"""

from __future__ import annotations

import copy
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Literal

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from peft.utils import load_peft_weights
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.modeling_layers import GradientCheckpointingLayer

from faithline.lm import backbone
from faithline.lm.backbone import Backbone
from faithline.lm.lora import make_portable
from faithline.pipeline.errors import ConfigError
from faithline.rl import lora
from faithline.rl.settings import Lora, Ppo

__all__ = [
    "CRITIC",
    "SHARED",
    "VALUE",
    "Full",
    "LoraNetwork",
    "Network",
    "build",
    "copy_into",
    "policy_names",
    "seeded",
    "width",
]

SHARED = "policy"
"""Name of the policy that all roles share."""
VALUE = "value"
"""Name of a separate value model."""
CRITIC = "critic"
"""Name of the optimiser of value heads and value model."""
_REFERENCE = "reference_"


def policy_names(settings: Ppo, roles: Sequence[str]) -> dict[str, str]:
    """Role → name of its policy.

    Raises:
        ConfigError: A role to be trained is not among `roles`, or has a name that is taken.
    """
    unknown = sorted(set(settings.trained_roles) - set(roles))
    taken = [
        role
        for role in roles
        if role in {SHARED, VALUE, CRITIC} or role.startswith(_REFERENCE) or not role.isidentifier()
    ]
    if unknown or taken:
        raise ConfigError(
            f"roles that cannot be trained: {', '.join(unknown or taken)}",
            where="trained_roles",
            next_step=f"use some of {', '.join(roles)}",
        )
    return {role: SHARED if settings.adapters == "shared" else role for role in roles}


class Network(ABC):
    """Named weights over one backbone."""

    def __init__(self, base: Backbone, *, gradient_checkpointing: bool) -> None:
        self.base = base
        self.trainable: dict[str, dict[str, nn.Parameter]] = {}
        """Name → its trainable parameters, by their names in the files written."""
        self._gradient_checkpointing = gradient_checkpointing

    @abstractmethod
    def use(self, name: str | None) -> PreTrainedModel:
        """Make weights active; None = the reference "base"."""

    @abstractmethod
    def reference_of(self, policy: str) -> str | None:
        """Name of the frozen weights that a policy's divergence is measured from, as `use` takes it."""

    @abstractmethod
    def export(self, name: str, folder: Path, base_name: str) -> None:
        """Write one policy so that PEFT or transformers loads it; the same bytes for the same weights.

        Args:
            name: Of the policy.
            folder: Existing folder.
            base_name: How an adapter names its backbone: no path of this machine.
        """

    @property
    @abstractmethod
    def weights_file(self) -> str:
        """Name of the file that a policy's trainable weights are written to."""

    def autocast(self) -> AbstractContextManager[Any]:
        """Number type of forward passes where it is not that of the weights."""
        return nullcontext()

    @contextmanager
    def recomputing(self, model: nn.Module) -> Iterator[None]:
        """Use gradient checkpointing, where it is asked for, in passes that a backward pass follows within.

        Only the layers' own flag is set to training: their parts, dropout among them, stay in evaluation mode.
        """
        layers = [module for module in model.modules() if isinstance(module, GradientCheckpointingLayer)]
        chosen = layers if self._gradient_checkpointing else []
        for layer in chosen:
            layer.training = True
        try:
            yield
        finally:
            for layer in chosen:
                layer.training = False

    def restore(self, name: str, tensors: Mapping[str, Tensor]) -> None:
        """Put saved weights back."""
        copy_into(self.trainable[name], tensors, name)

    def _prepare(self, model: Any) -> None:
        model.eval()
        if self._gradient_checkpointing:
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})


class LoraNetwork(Network):
    """Adapters on one frozen backbone."""

    weights_file = "adapter_model.safetensors"

    def __init__(self, base: Backbone, settings: Ppo, policies: Sequence[str], init: Mapping[str, Path], seed: int):
        super().__init__(base, gradient_checkpointing=settings.gradient_checkpointing)
        self._peft: Any = None
        self._references: dict[str, str] = {}
        self._configs: dict[str, LoraConfig] = {}
        self._active: str | Literal[False] | None = False
        for name in policies:
            self._add(name, settings.lora, init.get(name), seed)
            if (
                settings.reference == "initial" and name in init
            ):  # a fresh adapter changes nothing: the backbone will do
                self._references[name] = _REFERENCE + name
                self._add(_REFERENCE + name, settings.lora, init[name], seed)
        if settings.critic.model == "separate":
            self._add(VALUE, settings.lora, None, seed)
        peft: Any = self._peft  # mypy holds on to the None of above
        self._model: PreTrainedModel = peft.get_base_model()
        self._prepare(self._model)
        frozen = set(self._references.values())
        self.trainable = {name: self._parameters(name) for name in self._configs if name not in frozen}

    def _add(self, name: str, shape: Lora, init: Path | None, seed: int) -> None:
        config = lora.fresh(self.base.model, shape) if init is None else lora.continued(init)
        with seeded(seed, name):
            if self._peft is None:
                self._peft = get_peft_model(self.base.model, config, adapter_name=name)
            else:
                self._peft.add_adapter(name, config)
        self._configs[name] = config
        if init is not None:
            weights = load_peft_weights(str(init), device="cpu")
            self.trainable = {name: self._parameters(name)}
            self.restore(name, weights)

    def _parameters(self, name: str) -> dict[str, nn.Parameter]:
        own = f".{name}."
        found = {key: value for key, value in self._peft.named_parameters() if own in key and "lora_" in key}
        return {key.replace(own, "."): value for key, value in found.items()}

    def use(self, name: str | None) -> PreTrainedModel:
        """Make an adapter active, or none."""
        if name != self._active:
            if name is None:
                self._peft.base_model.disable_adapter_layers()
            else:
                if self._active is None:
                    self._peft.base_model.enable_adapter_layers()
                self._peft.set_adapter(name, inference_mode=name not in self.trainable)
            self._active = name
        return self._model

    def reference_of(self, policy: str) -> str | None:
        """The frozen copy of the adapter that the policy started with, or the backbone alone."""
        return self._references.get(policy)

    def export(self, name: str, folder: Path, base_name: str) -> None:
        """Write a PEFT folder."""
        config = copy.copy(self._configs[name])
        make_portable(config, base_name)
        config.inference_mode = True
        config.save_pretrained(str(folder))
        tensors = {key: value.detach().cpu().contiguous() for key, value in self.trainable[name].items()}
        save_file(tensors, str(folder / self.weights_file), metadata={"format": "pt"})


class Full(Network):
    """Copies of the whole model; all weights of the policy are trained, in float32."""

    weights_file = "model.safetensors"

    def __init__(self, base: Backbone, settings: Ppo, init: Path | None) -> None:
        super().__init__(base, gradient_checkpointing=settings.gradient_checkpointing)
        # Copies, so that the caller's backbone stays as it is; only a reference can be the backbone itself.
        policy: Any = copy.deepcopy(base.model)
        policy.float()
        if init is not None:
            policy = PeftModel.from_pretrained(policy, str(init), local_files_only=True).merge_and_unload()
        self._models: dict[str | None, PreTrainedModel] = {SHARED: policy, None: base.model}
        if init is not None and settings.reference == "initial":
            self._models[None] = copy.deepcopy(policy).to(base.dtype)
        if settings.critic.model == "separate":
            self._models[VALUE] = copy.deepcopy(policy)
        for name, model in self._models.items():
            self._prepare(model)
            model.requires_grad_(name is not None)
        self.trainable = {name: dict(model.named_parameters()) for name, model in self._models.items() if name}

    def use(self, name: str | None) -> PreTrainedModel:
        """Choose a copy."""
        return self._models[name]

    def reference_of(self, policy: str) -> str | None:  # noqa: ARG002 - there is one policy and one reference
        """The frozen copy."""
        return None

    def autocast(self) -> AbstractContextManager[Any]:
        """The backbone's number type, over float32 weights."""
        if self.base.dtype == torch.float32:
            return nullcontext()
        return torch.autocast(self.base.device.type, dtype=self.base.dtype)

    def export(self, name: str, folder: Path, base_name: str) -> None:  # noqa: ARG002 - a whole model needs no backbone
        """Write a model folder with its tokeniser."""
        self._models[name].save_pretrained(str(folder))
        self.base.tokenizer.save_pretrained(str(folder))


def build(folder: Path, settings: Ppo, policies: Sequence[str], init: Mapping[str, Path], seed: int) -> Network:
    """Load a backbone and put the weights to be trained on it.

    Args:
        folder: Backbone.
        settings: Tuning, adapters, reference and value model.
        policies: Names of the policies.
        init: Policy → adapter folder that it continues; others start fresh.
        seed: Decides fresh weights.

    Raises:
        ConfigError: `init` names no policy, or the backbone lacks a layer in `lora.target_modules`.
        EnvironmentMismatch: An adapter belongs to another backbone.
    """
    unknown = sorted(set(init) - set(policies))
    if unknown:
        raise ConfigError(f"adapters for policies that there are not: {', '.join(unknown)}")
    for adapter in init.values():
        backbone.require_base(adapter, folder)
    base = backbone.load(folder, device=settings.device, dtype=settings.dtype)
    if settings.tuning == "full":
        return Full(base, settings, init.get(SHARED))
    return LoraNetwork(base, settings, policies, init, seed)


@contextmanager
def seeded(seed: int, name: str) -> Iterator[None]:
    """Draw from torch's generator as seeded by a number and a name; its state before is restored after."""
    with torch.random.fork_rng():
        torch.manual_seed(zlib.crc32(f"{seed}|{name}".encode()))
        yield


def copy_into(parameters: Mapping[str, nn.Parameter], tensors: Mapping[str, Tensor], name: str) -> None:
    """Put saved values into parameters.

    Raises:
        ConfigError: They are of other parameters.
    """
    if {key: value.shape for key, value in parameters.items()} != {key: value.shape for key, value in tensors.items()}:
        raise ConfigError(
            f"the saved weights of `{name}` do not fit its parameters",
            next_step="continue with the settings that the checkpoint was written under",
        )
    with torch.no_grad():
        for key, parameter in parameters.items():
            parameter.copy_(tensors[key])


def width(model: Any) -> int:
    """Size of the states that a model's output layer reads."""
    return int(model.get_output_embeddings().weight.shape[1])
