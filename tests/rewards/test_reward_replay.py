"""`faithline reward march`: lines in, verdicts out, bad lines named; through the real command."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithline.agents.march.outcome import Outcome
from faithline.commands import reward as group
from faithline.pipeline.errors import ConfigError, DataInvalid
from faithline.rewards.replay import Sample, load_settings, replay, replay_file

ROOT = Path(__file__).resolve().parents[2]


def line(proposed: str, *checked: str, **changed: object) -> str:
    row = {"query": "Q", "response": "R", "proposer_output": proposed, "checker_outputs": list(checked)}
    return json.dumps({**row, **changed}) + "\n"


def asked(*answers: str) -> str:
    return "\n".join(f"- Question: Q{number}? [Answer: {answer}]" for number, answer in enumerate(answers, 1))


def answered(*answers: str) -> str:
    return "\n".join(f"{number}. Evidence: E.\n[Answer: {answer}]" for number, answer in enumerate(answers, 1))


def run(project: Path, *arguments: str) -> int:
    """Call the command as the parser would."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path)
    group.add(parser.add_subparsers())
    parsed = parser.parse_args(["--root", str(project), "reward", "march", *arguments])
    return int(parsed.command(parsed) or 0)


def test_by_hand(project: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(
        line(
            asked("1,234", "3.5", "7"),
            answered("1234", "3.50", "8"),
            answered("5", "3.5", "7"),
            answered("1234", "5", "8"),
        )
        + line(asked("5"), answered("5"), step=3)
        + "\n"
        + line("No numbers.", "", "", "")
        + line("Nothing usable.", "x")
        + line(asked("5", "6"), answered("5"))
        + line(asked("5", "6"), answered("5", "6"), "", "I cannot."),
        encoding="utf-8",
    )
    run(project, str(file))
    rows = [json.loads(text) for text in capfdbinary.readouterr().out.splitlines()]
    assert rows[0] == {
        "outcome": "ok",
        "pairs": [
            {"question": "Q1?", "proposed": "1,234", "answered": ["1234", "5", "1234"], "match": True},
            {"question": "Q2?", "proposed": "3.5", "answered": ["3.50", "3.5", "5"], "match": True},
            {"question": "Q3?", "proposed": "7", "answered": ["8", "7", "8"], "match": False},
        ],
        "ztr": -1.0,
        "err": -1 / 3,
    }
    assert rows[1] == {
        "outcome": "ok",
        "pairs": [{"question": "Q1?", "proposed": "5", "answered": ["5"], "match": True}],
        "ztr": 0.0,
        "err": 0.0,
    }
    assert rows[2] == {"outcome": "empty", "pairs": [], "ztr": 0.0, "err": 0.0}
    assert rows[3] == {"outcome": "malformed", "pairs": [], "ztr": 0.0, "err": 0.0}
    assert (rows[4]["outcome"], rows[4]["err"]) == ("count_mismatch", -0.5)
    assert rows[4]["pairs"][1]["answered"] == [None]
    assert (rows[5]["outcome"], rows[5]["err"]) == ("empty", -1.0)
    assert rows[5]["pairs"][0]["answered"] == ["5", None, None]
    assert len(rows) == 6


@pytest.mark.parametrize(
    ("proposed", "found", "strict", "release"),
    [
        ("0.05", "0.09", -1.0, 0.0),
        ("50", "50.05", -1.0, 0.0),
        ("10", "10k", -1.0, 0.0),
        ("10k", "10", 0.0, 0.0),  # ours: 10k is no number, so there is no pair
        ("Cannot answer", "Cannot answer", 0.0, 0.0),
        ("50–59", "50", 0.0, -1.0),
        ("1000", "1e3", -1.0, -1.0),
        ("0.5", "1/2", -1.0, -1.0),
        ("1234", "1,234", 0.0, 0.0),
        ("3.5", "3.50", 0.0, 0.0),
        ("12", "12%", 0.0, 0.0),
    ],
)
def test_compat(
    project: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], proposed: str, found: str, strict: float,
    release: float,
) -> None:  # fmt: skip
    file = tmp_path / "rows.jsonl"
    file.write_text(line(asked(proposed), *[answered(found)] * 3), encoding="utf-8")
    run(project, str(file))
    run(project, str(file), "--compat", "release")
    first, second = (json.loads(text) for text in capfdbinary.readouterr().out.splitlines())
    assert (first["ztr"], second["ztr"]) == (strict, release)
    assert len(second["pairs"]) == 1


GOOD = line(asked("5"), answered("5"))


@pytest.mark.parametrize(
    ("bad", "where", "what"),
    [
        ("{", "rows.jsonl:3", "bad line"),
        ("[]\n", "rows.jsonl:3", "expected `object`"),
        (line("", query=None), "rows.jsonl:3: query", "expected `str`, got `null`"),
        (line("", response=5), "rows.jsonl:3: response", "expected `str`"),
        (line("", checker_outputs="x"), "rows.jsonl:3: checker_outputs", "expected `array`"),
        (line("", checker_outputs=["x", 5]), "rows.jsonl:3: checker_outputs[1]", "expected `str`"),
        ('{"query": "", "response": "", "checker_outputs": []}\n', "rows.jsonl:3: proposer_output", "missing"),
        (line(asked("5")), "rows.jsonl:3: checker_outputs", "odd number"),
        (line(asked("5"), answered("5"), answered("5")), "rows.jsonl:3: checker_outputs", "odd number"),
        ('{"query": "\\ud800"}\n', "rows.jsonl:3", "bad line"),
    ],
)
def test_a_bad_line_is_named_and_the_output_before_it_is_whole(
    project: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], bad: str, where: str, what: str
) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(GOOD * 2 + bad, encoding="utf-8")
    with pytest.raises(DataInvalid) as error:
        run(project, str(file))
    assert error.value.where == str(tmp_path / where)
    assert what in error.value.what
    assert error.value.next_step
    out = capfdbinary.readouterr().out
    assert out.endswith(b"\n")
    assert [json.loads(text)["ztr"] for text in out.splitlines()] == [0.0, 0.0]


def test_bytes_that_are_no_text(project: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(GOOD.encode().replace(b'"Q"', b'"\xff"'))
    with pytest.raises(DataInvalid, match="bad line"):
        run(project, str(file))


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_nothing_in_the_file(project: Path, tmp_path: Path, text: str) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(text)
    with pytest.raises(DataInvalid, match="no sample"):
        run(project, str(file))


def test_no_file(project: Path, tmp_path: Path) -> None:
    with pytest.raises(DataInvalid, match="file not found"):
        run(project, str(tmp_path / "rows.jsonl"))
    with pytest.raises(DataInvalid, match="is a folder"):
        run(project, str(tmp_path))


def test_crlf_byte_order_mark_and_unicode(project: Path, tmp_path: Path) -> None:
    text = line(asked("5").replace("\n", "\r\n"), answered("5").replace("\n", "\r\n"), query="東京\u2028?").rstrip("\n")
    file = tmp_path / "rows.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + f"{text}\r\n{text}".encode())
    rows = list(replay_file(file, load_settings(project, release=False)))
    assert [json.loads(row)["ztr"] for row in rows] == [0.0, 0.0]


def test_settings_are_needed_and_checked(tmp_path: Path, project: Path) -> None:
    (tmp_path / "params.yaml").write_text("seed: 1\n")
    with pytest.raises(ConfigError, match=r"params\.yaml: march\.reward"):
        load_settings(tmp_path, release=False)
    text = (project / "params.yaml").read_text()
    (tmp_path / "params.yaml").write_text(text.replace('"ztr"', '"all"'))
    with pytest.raises(ConfigError, match=r"params\.yaml: march\.reward\.outcome"):
        load_settings(tmp_path, release=False)
    (tmp_path / "params.yaml").write_text(text.replace("min_pairs", "min_pair"))
    with pytest.raises(ConfigError, match="did you mean `min_pairs`"):
        load_settings(tmp_path, release=False)


def test_settings_are_those_of_params(tmp_path: Path, project: Path) -> None:
    text = (project / "params.yaml").read_text()
    (tmp_path / "params.yaml").write_text(
        text.replace('"ztr"', '"err_count"').replace('"empty_reward":0.0', '"empty_reward":-0.5')
    )
    settings = load_settings(tmp_path, release=True)
    assert (settings.comparator, settings.parser) == ("release", "release")
    sample = Sample(query="", response="", proposer_output=asked("5", "6", "7"), checker_outputs=[answered("5")])
    assert replay(sample, settings).err == pytest.approx(-0.2)
    assert replay(Sample(query="", response="", proposer_output="", checker_outputs=[]), settings).ztr == -0.5


PIECES = st.lists(
    st.sampled_from(["- Question: Q? [Answer: 5]", "1. Evidence: E [Answer: 5]", "]", "\n", "<think>", "7"])
).map("".join)


@given(PIECES | st.text(), st.lists(PIECES | st.text(), min_size=3, max_size=3))
def test_any_text_gets_one_verdict(project: Path, proposed: str, checked: list[str]) -> None:
    for release in (False, True):
        settings = load_settings(project, release=release)
        result = replay(Sample(query="", response="", proposer_output=proposed, checker_outputs=checked), settings)
        assert result.outcome in set(Outcome)
        assert -1.0 <= result.ztr <= result.err + 1e-12 <= 1e-12
        assert bool(result.pairs) or (result.ztr, result.err) == (0.0, 0.0)


def test_verdicts_come_while_lines_are_still_missing(project: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    more = threading.Event()

    def write() -> None:
        with pipe.open("w", encoding="utf-8", buffering=1) as stream:
            stream.write(GOOD)
            more.wait(60)
            stream.write(line(asked("5"), answered("6")))

    writer = threading.Thread(target=write)
    writer.start()
    rows = replay_file(pipe, load_settings(project, release=False))
    first = next(rows)
    more.set()
    assert [json.loads(row)["ztr"] for row in (first, *rows)] == [0.0, -1.0]
    writer.join()


def test_a_megabyte_of_text(project: Path) -> None:
    settings = load_settings(project, release=False)
    sizes: list[dict[str, Any]] = [
        {"proposer_output": "- Question: " * 90_000, "checker_outputs": [""]},
        {
            "proposer_output": "- Question: a? [Answer: 1] " * 40_000,
            "checker_outputs": ["1. Evidence: [Answer: " * 45_000],
        },
        {"proposer_output": f"- Question: a? [Answer: {'9' * 10**6}]", "checker_outputs": [answered("9" * 10**6)]},
    ]
    start = time.process_time()
    results = [replay(Sample(query="", response="", **texts), settings) for texts in sizes]
    assert [result.ztr for result in results] == [0.0, -1.0, 0.0]
    assert time.process_time() - start < 20


def test_the_module_is_light() -> None:
    program = (
        "import sys, faithline.rewards.replay, faithline.rewards.canaries, faithline.agents.march.truncation\n"
        "print(sorted({'torch', 'numpy', 'pandas', 'pyarrow', 'transformers', 'dvc'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
