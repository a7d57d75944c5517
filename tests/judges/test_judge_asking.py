"""Judges: a real HTTP server in all its moods, the cache and its replay, a local model, an entailment scorer."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from faithline import cli
from faithline.judges.asking import GIVE_UP, Cache, ask
from faithline.judges.endpoint import Endpoint, EndpointJudge
from faithline.judges.judge import Reply
from faithline.judges.nli import Answered, judge_grounding, sentences
from faithline.pipeline.errors import ConfigError, DataInvalid, EnvironmentMismatch, Preempted


class Handler(BaseHTTPRequestHandler):
    """Does what the prompt says; the server counts."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = body["messages"][0]["content"]
        with self.server.lock:
            self.server.seen.append((prompt, self.path, body, self.headers.get("Authorization")))
            times = sum(seen[0] == prompt for seen in self.server.seen)
        mood = prompt.split(":", maxsplit=1)[0]
        if mood == "slow":
            time.sleep(1.5)
        if mood == "flaky" and times < 3:
            return self.reply(503, b"busy")
        if mood == "trickle":
            return self.trickle()
        if mood in {"400", "401", "500"}:
            return self.reply(int(mood), b'{"error": {"message": "no such thing"}}')
        if mood == "nonsense":
            return self.reply(200, b"<html>hello</html>")
        text = "" if mood == "empty" else self.server.says.replace("PROMPT", prompt)
        reason = "length" if mood == "long" else "stop"
        choices = (
            [] if mood == "nobody" else [{"message": {"role": "assistant", "content": text}, "finish_reason": reason}]
        )
        return self.reply(200, json.dumps({"choices": choices}).encode())

    def trickle(self) -> None:
        """Send a byte now and then: no read times out, yet the answer never ends."""
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        try:
            for _ in range(100):
                self.wfile.write(b" ")
                self.wfile.flush()
                time.sleep(0.05)
        except OSError:
            pass
        self.close_connection = True

    def reply(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: list[tuple[str, str, dict[str, Any], str | None]] = []
        self.lock = threading.Lock()
        self.says = "echo PROMPT"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield server
        server.shutdown()


def settings(url: str, **changes: Any) -> Endpoint:
    base = {"url": url, "model": "m", "temperature": 0.0, "max_tokens": 9, "timeout_s": 1.0, "attempts": 3}
    return msgspec.convert({**base, "concurrency": 4, "key_variable": None, **changes}, Endpoint)


def all_replies(judge: Any, prompts: Sequence[str]) -> list[Reply]:
    found = dict(judge.replies(prompts))
    assert sorted(found) == list(range(len(prompts)))
    return [found[index] for index in range(len(prompts))]


def test_replies_and_failures_of_an_endpoint(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "s3cret")
    moods = {
        "ok:1": Reply("echo ok:1"),
        "flaky:1": Reply("echo flaky:1"),
        "slow:1": Reply(None, "timeout"),
        "trickle:1": Reply(None, "timeout"),
        "500:1": Reply(None, "HTTP 500"),
        "400:1": Reply(None, "HTTP 400"),
        "nonsense:1": Reply(None, "no chat completion"),
        "nobody:1": Reply(None, "no chat completion"),
        "empty:1": Reply(None, "empty"),
        "long:1": Reply(None, "cut off by the token limit"),
        "ok:2": Reply("echo ok:2"),
    }
    with EndpointJudge(settings(server.url, key_variable="MY_KEY"), backoff_s=0.01) as judge:
        assert all_replies(judge, list(moods)) == list(moods.values())
        assert "s3cret" not in judge.identity
    _, path, body, key = server.seen[0]
    assert (path, key) == ("/v1/chat/completions", "Bearer s3cret")
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("m", 0.0, 9)
    asked = [seen[0] for seen in server.seen]
    assert (asked.count("flaky:1"), asked.count("500:1"), asked.count("400:1"), asked.count("empty:1")) == (3, 3, 1, 1)


def test_a_refused_key_is_an_error_at_once(server: Server) -> None:
    with EndpointJudge(settings(server.url)) as judge, pytest.raises(EnvironmentMismatch, match="401 no such thing"):
        all_replies(judge, ["401:1"])


def test_wrong_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_KEY", raising=False)
    with pytest.raises(ConfigError, match="no key"):
        EndpointJudge(settings("http://x/v1", key_variable="NO_KEY"))
    with pytest.raises(ConfigError, match="no address"):
        EndpointJudge(settings("x/v1"))


def test_nobody_there_is_found_out_early(tmp_path: Path) -> None:
    judge = EndpointJudge(settings("http://127.0.0.1:9/v1", attempts=1))
    with judge, pytest.raises(Preempted, match=f"{GIVE_UP} requests failed, the last with ConnectError"):
        ask(judge, [f"p{number}" for number in range(200)], Cache(tmp_path))


def test_equal_prompts_are_asked_once_and_never_again(server: Server, tmp_path: Path) -> None:
    prompts = ["ok:1", "ok:2", "ok:1", "400:1"]
    done: list[int] = []
    with EndpointJudge(settings(server.url)) as judge:
        first = ask(judge, prompts, Cache(tmp_path), advance=done.append)
        assert [reply.text for reply in first] == ["echo ok:1", "echo ok:2", "echo ok:1", None]
        assert sum(done) == 3
        assert ask(judge, prompts, Cache(tmp_path)) == first
    asked = [seen[0] for seen in server.seen]
    assert (asked.count("ok:1"), asked.count("ok:2"), asked.count("400:1")) == (1, 1, 2)  # failures are asked again


def test_a_replay_asks_nobody(server: Server, tmp_path: Path) -> None:
    with EndpointJudge(settings(server.url)) as judge:
        first = ask(judge, ["ok:1"], Cache(tmp_path))
        server.says = "something else"
        assert ask(judge, ["ok:1"], Cache(tmp_path), replay=True) == first
        with pytest.raises(DataInvalid, match="1 of 2 verdicts are not in the cache"):
            ask(judge, ["ok:1", "ok:2"], Cache(tmp_path), replay=True)
        assert len(server.seen) == 1
    with (
        EndpointJudge(settings(server.url, temperature=0.5)) as other,
        pytest.raises(DataInvalid, match="not in the cache"),
    ):
        ask(other, ["ok:1"], Cache(tmp_path), replay=True)


def test_a_damaged_cache_is_no_verdict(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("judge", "prompt", "Final classification: Consistent")
    cache.put("judge", "other", "Final classification: Inconsistent")
    first, second = sorted(tmp_path.rglob("*.json"))
    content = first.read_bytes()
    for damaged in (content[:-5], second.read_bytes(), b""):
        first.write_bytes(damaged)
        with pytest.raises(DataInvalid, match=r"damaged|belongs elsewhere"):
            [cache.get("judge", prompt) for prompt in ("prompt", "other")]
    first.write_bytes(content)
    assert cache.get("judge", "prompt") == "Final classification: Consistent"
    assert cache.get("judge2", "prompt") is None


def write(path: Path, *rows: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


FAITH = {"task": "ragtruth-qa", "query": "Q?", "source": "S", "response": "R"}


def test_the_command_with_two_judges(
    server: Server, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    file = write(
        tmp_path / "f.jsonl", *({"id": f"i{number}", **FAITH, "response": f"R{number}"} for number in range(3))
    )
    server.says = "PROMPT\nFinal classification: Consistent"
    arguments = ["judge", "faithjudge", file, "--cache", str(tmp_path / "cache"), "--max-tokens", "5"]
    judges = ["--judge", f"{server.url}#one", "--judge", f"{server.url}#two"]
    assert cli.main([*arguments, *judges]) == 0
    found = json.loads(capsysbinary.readouterr().out)
    assert [entry["verdict"] for entry in found["items"]] == ["consistent"] * 6
    assert found["agreement"] == {"n": 3, "failed": 0, "observed": 1.0, "kappa": None}
    assert [rates["hallucinated"] for rates in found["rates"].values()] == [0.0, 0.0]
    server.says = "I do not know."
    assert cli.main([*arguments, *judges, "--replay"]) == 0
    assert json.loads(capsysbinary.readouterr().out) == found
    assert cli.main([*arguments, "--judge", f"{server.url}#three"]) == 0
    third = json.loads(capsysbinary.readouterr().out)
    assert third["items"][0]["failure"] == "the reply holds no verdict"
    rates = next(iter(third["rates"].values()))
    assert (rates["n"], rates["failed"], rates["hallucinated"]) == (0, 3, None)


def test_the_other_protocols(server: Server, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    common = ["--cache", str(tmp_path / "cache"), "--judge", f"{server.url}#m"]
    server.says = '{"sentence": "R.", "label": "unsupported"}'
    file = write(tmp_path / "g.jsonl", {"id": "1", "query": "q", "context": "c", "response": "R."})
    assert cli.main(["judge", "facts", file, *common]) == 0
    found = json.loads(capsysbinary.readouterr().out)
    assert found["items"][0]["verdict"] == "ungrounded"
    server.says = "Final choice: A"
    pair = {"criterion": "faithfulness", "task": "qa", "query": "q", "context": "c", "preferred": "p", "rejected": "r"}
    file = write(tmp_path / "c.jsonl", {"id": "1", **pair}, {"id": "2", **pair, "criterion": "conciseness"})
    assert cli.main(["judge", "contextual", file, *common]) == 0
    found = json.loads(capsysbinary.readouterr().out)
    assert [entry["verdict"] for entry in found["items"]] == ["inconsistent"] * 2
    rates = next(iter(found["rates"].values()))
    assert sorted(rates) == ["all", "conciseness_qa", "faithfulness_qa"]
    assert (rates["all"]["accuracy"], rates["all"]["as_first"], rates["all"]["as_second"]) == (0.0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"id": "1"}], "missing required field `task`"),
        ([{"id": "1", **FAITH}, {"id": "1", **FAITH}], "id '1' comes twice, first in line 1"),
        ([{"id": "1", **FAITH, "task": "poem"}], "Invalid enum value 'poem'"),
        ([], "nothing to judge"),
    ],
)
def test_bad_files(
    rows: list[dict[str, Any]], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path / "f.jsonl", *rows)
    assert cli.main(["judge", "faithjudge", file, "--cache", str(tmp_path), "--judge", "http://127.0.0.1:9/v1#m"]) == 20
    assert message in capsys.readouterr().err
    assert cli.main(["judge", "faithjudge", file, "--cache", str(tmp_path), "--judge", "http://127.0.0.1:9/v1"]) == 40


def test_a_local_model_judges(tiny_backbone: Path, tmp_path: Path) -> None:
    from faithline.judges.local import LocalJudge
    from faithline.lm import backbone
    from faithline.lm.chat import Chat

    model = backbone.load(tiny_backbone, device="cpu", dtype="float32")
    limits = {"max_prompt_tokens": 200, "max_new_tokens": 4, "batch_tokens": 400}
    judge = LocalJudge(model, Chat(model.tokenizer), name="tiny", **limits)
    replies = all_replies(judge, ["Who was the first?", "word " * 500, "Answer the question."])
    assert replies[1].failure is not None
    assert "at most 200 are read" in replies[1].failure
    assert all(reply.text or reply.failure for reply in replies)
    assert all_replies(judge, ["Who was the first?"]) == replies[:1]
    assert "tiny" in judge.identity


class Table:
    """A scorer that knows which words stand for what; counts its pairs."""

    identity = "table"

    def __init__(self) -> None:
        self.pairs: list[tuple[str, str]] = []

    def probabilities(self, premises: Sequence[str], hypotheses: Sequence[str]) -> np.ndarray:
        self.pairs += zip(premises, hypotheses, strict=True)
        rows = [
            [0.9, 0.05, 0.05] if claim == premise else [0.1, 0.1, 0.8] if "not" in premise else [0.1, 0.8, 0.1]
            for premise, claim in zip(premises, hypotheses, strict=True)
        ]
        return np.array(rows).reshape(-1, 3)


def test_the_offline_judge() -> None:
    scorer = Table()
    documents = ["It rained. The mayor left.", "It did not snow."]
    found = judge_grounding(
        scorer,
        [
            Answered("The mayor left. It rained.", documents),
            Answered("It snowed.", documents),
            Answered("", documents),
            Answered("The mayor left.", []),
        ],
    )
    np.testing.assert_array_equal(found.hallucinated, [0, 1, np.nan, 1])
    np.testing.assert_array_equal(found.contradicted, [2, 1, 0, 0])
    assert len(scorer.pairs) == len(set(scorer.pairs)) == 9


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One. Two! Three? four", ["One.", "Two!", "Three? four"]),
        ("Dr. Smith met J. R. Ewing. He left.", ["Dr. Smith met J. R. Ewing.", "He left."]),
        ('He said "Go." Then he went.', ['He said "Go."', "Then he went."]),
        ("It is 3.5 m. A line\nbreak ends", ["It is 3.5 m.", "A line", "break ends"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_sentences(text: str, parts: list[str]) -> None:
    assert sentences(text) == parts
