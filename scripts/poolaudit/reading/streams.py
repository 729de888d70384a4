"""Opening what users have: plain or compressed files, hashed and limited on the way."""

from __future__ import annotations

import hashlib
import io
import lzma
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa

from poolaudit.errors import AuditError

BLOCK = 4 << 20
EXPANSION = 200
HARMLESS = 64 << 20
READABLE = "text or Parquet, plain or compressed once with gzip, bz2, xz or zstd"

_COMPRESSIONS = {
    b"\x1f\x8b": "gzip",
    b"BZh91AY&SY": "bz2",  # of any level; it writes the digits of pi after it
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ\x00": "xz",
}
_OTHERS = {
    b"PK\x03\x04": "a zip archive",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"\x04\x22\x4d\x18": "compressed with lz4",
}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def _compression(start: bytes) -> str | None:
    if start[:3] == b"BZh" and start[3:4].isdigit():
        start = b"BZh9" + start[4:]
    return next((name for magic, name in _COMPRESSIONS.items() if start.startswith(magic)), None)


class _Hashed:
    """A file whose every byte read goes into a SHA-256, in a thread beside the parsing."""

    closed = False

    def __init__(self, file: io.FileIO) -> None:
        self._file, self._digest, self.size = file, hashlib.sha256(), 0
        self._hashing = ThreadPoolExecutor(1)
        self._updated: Future | None = None

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        self._updated = self._hashing.submit(self._digest.update, data)
        self.size += len(data)
        return data

    def hexdigest(self) -> str:
        self._updated.result()
        return self._digest.hexdigest()

    def close(self) -> None:
        self._hashing.shutdown()
        self._file.close()


class Stream:
    """One file, read once from start to end; a context manager.

    Compression (gzip, bz2, xz, zstd) is recognised by the first bytes, not by the name. A file
    that unpacks to more than `expansion` times its size, and to more than 64 MiB, is refused.

    Attributes:
        path: the file.
        compression: "gzip", "bz2", "xz", "zstd" or None.
        byte_order_mark: whether the text began with one; it is not part of what is read.
        head: the first bytes of what the file holds, unpacked; at most 4 MiB.

    Raises:
        AuditError: no such file, an empty one, a damaged or truncated one, one that unpacks to
            more than the limit, an archive, or UTF-16 or binary content where text is read.
    """

    def __init__(self, path: Path | str, *, expansion: int = EXPANSION) -> None:
        self.path = Path(path)
        self._unpacked = 0
        try:
            file = self.path.open("rb", buffering=0)
            self._size = self.path.stat().st_size
            self.compression = _compression(file.read(16))
            file.seek(0)
        except OSError as error:
            raise self._error(
                "the file cannot be opened",
                found=error.strerror or str(error),
                todo="correct the path, or the permissions of the file",
            ) from None
        self._limit = max(HARMLESS, expansion * self._size)
        self._file = self._raw = _Hashed(file)
        try:
            self._begin()
        except AuditError:
            self._raw.close()
            raise

    def _begin(self) -> None:
        if self.compression == "xz":
            self._file = lzma.LZMAFile(self._raw)  # noqa: SIM115
        elif self.compression:
            self._file = pa.CompressedInputStream(pa.PythonFile(self._raw, "r"), self.compression)
        start = self._read()
        self.head = start.removeprefix(_BYTE_ORDER_MARK)
        self.byte_order_mark = start != self.head
        self._refuse_other_content()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self._raw.close()

    def facts(self) -> dict:
        """What the file was, for records: to be asked when everything has been read."""
        return {
            "sha256": self._raw.hexdigest(),
            "bytes": self._raw.size,
            "compression": self.compression,
            "byte_order_mark": self.byte_order_mark,
        }

    def everything(self) -> bytes:
        """All bytes, unpacked; for formats that are not lines of text."""
        return b"".join(self._chunks())

    def blocks(self) -> Iterator[bytes]:
        """Blocks of whole lines of text, without the byte-order mark; together the whole text."""
        rest = b""
        for chunk in self._chunks():
            self._refuse_binary(chunk)
            block = rest + chunk if rest else chunk
            cut = block.rfind(b"\n") + 1 or block.rfind(b"\r", 0, -1) + 1
            if len(block) - cut > HARMLESS:
                raise self._error(
                    f"there is no line end in {HARMLESS >> 20} MiB of text",
                    expected="short lines",
                    todo="name the right file",
                )
            rest = block[cut:]
            if cut:
                yield block[:cut]
        if rest:
            yield rest

    def _chunks(self) -> Iterator[bytes]:
        chunk, self.head = self.head, b""
        while chunk:
            yield chunk
            chunk = self._read()

    def _read(self) -> bytes:
        try:
            chunk = self._file.read(BLOCK)
        except (OSError, EOFError, lzma.LZMAError) as error:
            cut_off = isinstance(error, EOFError) or "Truncated" in str(error)
            raise self._error(
                f"the {self.compression or ''} file is {'cut off' if cut_off else 'damaged'}",
                found=str(error),
                expected="a file that is complete",
                todo="copy or compress it again",
            ) from None
        self._unpacked += len(chunk)
        if self._unpacked > self._limit:
            raise self._error(
                "the file unpacks to far more than its size",
                found=f"{self._size:,} bytes that gave {self._unpacked:,} and more",
                expected=f"at most {self._limit:,}; runs unpack to 3 to 20 times their size",
                todo="if the file is what it should be, unpack it and name the unpacked file;"
                " for a run, reading.expansion in the collection file raises the limit",
            )
        return chunk

    def _refuse_other_content(self) -> None:
        if not self.head:
            raise self._error(
                "the file is empty",
                found=f"{self._size} bytes" + (", compressed" if self.compression else ""),
                todo="name the right file, or take it out of the run sheet",
            )
        kind = next((what for magic, what in _OTHERS.items() if self.head.startswith(magic)), "")
        if self.head[257:262] == b"ustar":
            kind = "a tar archive"
        if self.compression and _compression(self.head):
            kind = "compressed twice"
        if kind:
            todo = "unpack it and name the file inside"
            raise self._error(f"the file is {kind}", expected=READABLE, todo=todo)
        if not self.head.startswith(b"PAR1"):
            self._refuse_binary(self.head)

    def _refuse_binary(self, chunk: bytes) -> None:
        start = chunk[:4096]
        if start.startswith(_UTF16_MARKS) or 0.3 * len(start) < start.count(0) < 0.8 * len(start):
            raise self._error(
                "the text is UTF-16 or UTF-32",
                expected="UTF-8",
                todo=f"convert it: iconv -f UTF-16 -t UTF-8 {self.path.name} > new-file",
            )
        if b"\0" not in chunk:
            return
        raise self._error(
            "the file is binary, not text",
            found=f"a zero byte, in a block that begins with {start[:40]!r}",
            expected=READABLE,
            todo="name the right file",
        )

    def _error(self, what: str, **parts: str) -> AuditError:
        return AuditError(what, where=str(self.path), **parts)


class Unpacked(io.RawIOBase):
    """The text of a stream as a file, for readers that want one; without its byte-order mark."""

    def __init__(self, stream: Stream) -> None:
        self._blocks, self._rest = stream.blocks(), memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, into: memoryview) -> int:
        if not self._rest:
            self._rest = memoryview(next(self._blocks, b""))
        size = min(len(into), len(self._rest))
        into[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


def texts_of_lines(path: Path | str, numbers: list[int]) -> dict[int, str]:
    """The text of lines by their number, from 1, of a file that was read before.

    It is read again, because only errors ask for it.
    """
    texts, before = {}, 0
    with Stream(path, expansion=sys.maxsize) as stream:
        for block in stream.blocks():
            lines = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
            count = len(lines) - (lines[-1] == b"")
            for number in numbers:
                if before < number <= before + count:
                    texts[number] = lines[number - before - 1].decode("utf-8", "backslashreplace")
            before += count
    return texts
