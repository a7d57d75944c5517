"""Shared fixtures: the real data folder, and throw-away projects that run components through the real wrapper."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parent.parent
os.environ.update(
    HF_HUB_OFFLINE="1",
    DVC_NO_ANALYTICS="1",
    GX_ANALYTICS_ENABLED="false",
    TOKENIZERS_PARALLELISM="false",
    OMP_NUM_THREADS="1",  # two workers share two cores
    OMP_WAIT_POLICY="PASSIVE",
)
# Hypothesis fails an example that takes 200 ms of wall time: on a busy machine that says nothing about the code.
hypothesis.settings.register_profile("faithline", deadline=None)
hypothesis.settings.load_profile("faithline")


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of the real data excerpts."""
    folder = Path(os.environ.get("FAITHLINE_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}: set FAITHLINE_DATA")
    return folder


@pytest.fixture(scope="session")
def s3_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Port of an S3 server (moto, in its own process)."""
    from benchmarks.store_servers import s3_server

    with s3_server("moto", tmp_path_factory.mktemp("moto")) as port:
        yield port


@pytest.fixture
def bucket(s3_port: int, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A bucket of the test's own, with the environment that reaches it."""
    from benchmarks.store_servers import KEYS, client

    for name, value in {**KEYS, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{s3_port}"}.items():
        monkeypatch.setenv(name, value)
    name = f"b{abs(hash(request.node.nodeid)):x}"
    client(s3_port).create_bucket(Bucket=name)
    return name


def merge(base: dict[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Deep-merge `patch` into a copy of `base`; lists are replaced."""
    merged = copy.deepcopy(base)
    for key, value in patch.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), dict)
        merged[key] = merge(merged[key], value) if both else copy.deepcopy(value)
    return merged


@pytest.fixture
def make_project(tmp_path: Path) -> Callable[..., Path]:
    """Factory: a folder with the repository's own dvc.yaml and params.yaml, params patched (tiny profile first)."""

    def make(patch: Mapping[str, Any] | None = None, *, tiny: bool = True, name: str = "project") -> Path:
        yaml = YAML(typ="safe", pure=True)
        params = yaml.load((ROOT / "params.yaml").read_text(encoding="utf-8"))
        if tiny:
            params = merge(params, yaml.load((ROOT / "conf" / "tiny.yaml").read_text(encoding="utf-8")))
        folder = tmp_path / name
        folder.mkdir()
        for file in ("dvc.yaml", "sources.lock.json", "data_snapshot.json"):
            (folder / file).write_bytes((ROOT / file).read_bytes())
        with (folder / "params.yaml").open("w", encoding="utf-8") as file:
            YAML().dump(merge(params, patch or {}), file)
        return folder

    return make


@pytest.fixture
def run_component() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run `python -m components.NAME --root FOLDER` as a user's shell would; returns the finished process."""

    def run(root: Path, name: str, *arguments: str, timeout_s: float = 600) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", f"components.{name}", "--root", str(root), *arguments],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    return run


TRAINING_TEXT = (
    "Answer the question using only the documents. Write the answer as briefly as possible between double asterisks. "
    "If the documents do not contain the answer, write not in the documents. Document Question: Who was the first?"
)
CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


@pytest.fixture(scope="session")
def tiny_backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a random two-layer Llama (grouped heads, head_dim 64) with a small byte-level tokeniser and ChatML."""
    import torch
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    control = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=[AddedToken(token, special=True) for token in control],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([TRAINING_TEXT], trainer)
    folder = tmp_path_factory.mktemp("tiny") / "backbone"
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|im_end|>")
    fast.chat_template = CHATML
    fast.save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(fast),
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=64,
        max_position_embeddings=1024,
        # Wide enough that greedy choices are no ties.
        initializer_range=0.5,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=2,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_embedder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a random two-layer BERT (dim 32, 64 positions) that pools by mean and normalises."""
    import json
    import string

    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder = tmp_path_factory.mktemp("tiny") / "embedder"
    folder.mkdir()
    letters = [*string.ascii_lowercase, *string.digits, *string.punctuation]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    (folder / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
        max_position_embeddings=64,
        initializer_range=0.5,
    )
    BertModel(config).save_pretrained(folder)
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    modules = [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in kinds]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(
        json.dumps({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False})
    )
    return folder
