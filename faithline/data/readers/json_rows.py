"""Raw JSON rows of a file, streamed: JSON lines, one top-level array, or an array under a key of a top-level object.

Which of them a file is shows in its content, not in its name. Rows come out as undecoded bytes with their place, so
each format decodes straight into its own typed record. Memory holds one block and the row that crosses its end.

Broken input: in JSON lines each line stands alone, so a broken one (the truncated last line, say) is an ordinary bad
row. An array is one document: where its syntax breaks, the boundaries of all later rows are guesses, so the file is
refused whatever on_invalid says. A byte order mark, CRLF and blank lines are accepted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from faithline.pipeline.errors import DataInvalid

__all__ = ["OnBytes", "RawRow", "json_rows", "open_blocks", "readable"]

OnBytes = Callable[[int], None]
"""Called with the number of bytes just read, for progress."""

_BLOCK_BYTES = 4 * 2**20
_MAX_ROW_BYTES = 256 * 2**20
"""A longer row is refused: no question is a quarter of a gigabyte, but an unclosed quote or a bomb is."""

_SPACE = b" \t\r\n"
_STRUCTURAL = np.zeros(256, dtype=np.bool_)
_STRUCTURAL[list(b'"\\[]{}')] = True
_OPENERS = np.frombuffer(b"[{", dtype=np.uint8)


class RawRow(NamedTuple):
    """One undecoded row."""

    where: str
    """Place for messages: path:line, or path[index from 0]."""
    data: bytes
    in_array: bool
    """Whether a syntax error in it makes the rest of the file unreadable."""


def json_rows(path: Path, on_bytes: OnBytes, envelope: str | None = None) -> Iterator[RawRow]:
    """Stream the rows of a JSON file.

    Args:
        path: The file.
        on_bytes: Progress.
        envelope: If the file is `{"<envelope>": [...], ...}`, stream that array; the key must come first.

    Raises:
        DataInvalid: If the file is missing, empty, not UTF-8, or an array whose syntax is broken.
    """
    blocks = open_blocks(path, on_bytes)
    head = next(blocks)
    while not head.lstrip(_SPACE) and (more := next(blocks, b"")):
        head += more
    stripped = head.lstrip(_SPACE)
    if not stripped:
        raise _refused("the file holds only white space", str(path))
    skipped = len(head) - len(stripped)
    if stripped[:1] == b"[":
        return _array_rows(path, _chain(stripped[1:], blocks), offset=skipped + 1, envelope=None)
    if envelope is not None:
        opening = re.match(rb'\{\s*"%s"\s*:\s*\[' % re.escape(envelope.encode()), stripped)
        if opening:
            rest = _chain(stripped[opening.end() :], blocks)
            return _array_rows(path, rest, offset=skipped + opening.end(), envelope=envelope)
    if stripped[:1] == b"{":
        return _line_rows(path, _chain(head, blocks))
    raise _refused(f"not JSON: it starts with {stripped[:20]!r}", str(path))


def open_blocks(path: Path, on_bytes: OnBytes) -> Iterator[bytes]:
    """Yield the file in blocks, without its byte order mark; at least one, none empty.

    Raises:
        DataInvalid: If the file is missing, empty, a folder, compressed or UTF-16/32.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise _refused("file not found", str(path), "check prepare_data.root and the source's path") from None
    except IsADirectoryError:
        raise _refused("a file was expected, this is a folder", str(path)) from None
    with file:
        block = file.read(_BLOCK_BYTES)
        for mark, name in ((b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"), (b"\x00\x00\xfe\xff", "UTF-32")):
            if block.startswith(mark):
                raise _refused(f"the file is {name}, not UTF-8", str(path), "convert it to UTF-8")
        if block.startswith((b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")):
            raise _refused("the file is compressed", str(path), "unpack it first")
        on_bytes(len(block))
        block = block.removeprefix(b"\xef\xbb\xbf")
        if not block:
            raise _refused("the file is empty", str(path))
        yield block
        while block := file.read(_BLOCK_BYTES):
            on_bytes(len(block))
            yield block


def readable(data: bytes) -> bool:
    """Whether a row that a strict decoder refused still has sound JSON structure (bad UTF-8, NaN, lone surrogates)."""
    try:
        json.loads(data.decode("utf-8", errors="replace"))
    except (ValueError, RecursionError):
        return False
    return True


def _line_rows(path: Path, blocks: Iterator[bytes]) -> Iterator[RawRow]:
    number = 0
    rest = b""
    for block in blocks:
        rest += block
        _check_length(rest, f"{path}:{number + 1}")
        lines = rest.split(b"\n")
        rest = lines.pop()
        for line in lines:
            number += 1
            if line.strip():
                yield RawRow(f"{path}:{number}", line, in_array=False)
    if rest.strip():
        yield RawRow(f"{path}:{number + 1}", rest, in_array=False)


def _array_rows(path: Path, blocks: Iterator[bytes], *, offset: int, envelope: str | None) -> Iterator[RawRow]:
    """Cut the elements of an array; `blocks` starts just after its opening bracket, `offset` bytes into the file."""
    index = 0
    rest = b""
    for block in blocks:
        rest += block
        starts, ends, closing = _elements(rest)
        done = 0
        for start, end in zip(starts, ends, strict=True):
            _check_gap(rest[done:start], path, index, offset + done)
            yield RawRow(f"{path}[{index}]", rest[start:end], in_array=True)
            index += 1
            done = end
        if closing is not None:
            _check_gap(rest[done:closing], path, index, offset + done, closing=True)
            _check_tail(path, rest[closing:], blocks, offset + closing, envelope)
            return
        rest = rest[done:]
        offset += done
        _check_length(rest, f"{path}[{index}]")
    raise _broken(path, index, offset, "the file ends inside the array: it is truncated")


def _elements(data: bytes) -> tuple[list[int], list[int], int | None]:
    """Find the complete top-level objects and arrays in `data`, which starts between two elements of an array.

    Only the brackets and quotes are looked at (4 % of the bytes of HotpotQA), all of them at once.

    Returns:
        starts, ends: Offsets of the complete elements.
        closing: Offset of the bracket that closes the array, or None if it is not in `data`.
    """
    codes = np.frombuffer(data, dtype=np.uint8)
    places = np.flatnonzero(_STRUCTURAL[codes])
    kinds = codes[places]
    is_slash, is_quote = kinds == ord("\\"), kinds == ord('"')
    quotes = places[is_quote]
    quotes = quotes[~np.isin(quotes, _escaped(places[is_slash]), assume_unique=True)]
    brackets = places[~(is_slash | is_quote)]
    brackets = brackets[np.searchsorted(quotes, brackets) % 2 == 0]
    opens = np.isin(codes[brackets], _OPENERS)
    depth = np.cumsum(np.where(opens, 1, -1))
    below = np.flatnonzero(depth < 0)
    closing = int(brackets[below[0]]) if len(below) else None
    within = int(below[0]) if len(below) else len(brackets)
    ends = brackets[:within][(depth[:within] == 0) & ~opens[:within]] + 1
    starts = brackets[:within][(depth[:within] == 1) & opens[:within]][: len(ends)]
    return starts.tolist(), ends.tolist(), closing


def _escaped(slashes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Offsets of the bytes after a run of backslashes of odd length."""
    if not len(slashes):
        return slashes
    is_last = np.append(np.diff(slashes) != 1, True)
    is_first = np.append(True, np.diff(slashes) != 1)
    lengths = slashes[is_last] - slashes[is_first] + 1
    after: npt.NDArray[np.int64] = slashes[is_last][lengths % 2 == 1] + 1
    return after


def _check_gap(gap: bytes, path: Path, index: int, offset: int, *, closing: bool = False) -> None:
    expected = b"," if index and not closing else b""
    if gap.strip(_SPACE) != expected:
        raise _broken(path, index, offset, f"found {gap.strip(_SPACE)[:40]!r} where a comma and an object belong")


def _check_tail(path: Path, tail: bytes, blocks: Iterator[bytes], offset: int, envelope: str | None) -> None:
    """Accept what follows the array: white space, or the rest of the enclosing object."""
    for block in blocks:
        tail += block
        _check_length(tail, str(path))
    if tail[:1] != b"]":
        raise _refused(f"`{tail[:1].decode()}` closes the array (byte {offset})", str(path))
    tail = tail[1:]
    if envelope is None:
        if tail.strip(_SPACE):
            raise _refused(f"found {tail.strip(_SPACE)[:40]!r} after the array (byte {offset + 1})", str(path))
        return
    try:
        msgspec.json.decode(b'{"":0' + tail)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _refused(f"the object around `{envelope}` is broken: {error}", str(path)) from error


def _check_length(row: bytes, where: str) -> None:
    if len(row) > _MAX_ROW_BYTES:
        raise _refused(f"a row is longer than {_MAX_ROW_BYTES // 2**20} MiB", where, "look for an unclosed quote")


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _broken(path: Path, index: int, offset: int, what: str) -> DataInvalid:
    return _refused(what, f"{path}[{index}], near byte {offset}")


def _refused(what: str, where: str, next_step: str = "repair the file or fetch it again") -> DataInvalid:
    return DataInvalid(what, where=where, next_step=next_step)
