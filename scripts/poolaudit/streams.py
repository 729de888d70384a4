"""Opening what users have: plain or compressed text, hashed and limited on the way."""

from __future__ import annotations

import hashlib
import io
import lzma
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from poolaudit.errors import AuditError

BLOCK = 8 << 20
EXPANSION = 200
HARMLESS = 64 << 20

_COMPRESSIONS = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ\x00": "xz",
}
_ARCHIVES = {
    b"PK\x03\x04": "a zip archive",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"\x04\x22\x4d\x18": "compressed with lz4",
    b"%PDF": "a PDF document",
}
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class _Hashed(io.RawIOBase):
    """A file whose every byte read goes into a SHA-256."""

    def __init__(self, file: io.RawIOBase) -> None:
        self._file, self._digest, self.size = file, hashlib.sha256(), 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        count = self._file.readinto(buffer)
        self._digest.update(memoryview(buffer)[:count])
        self.size += count
        return count

    def hexdigest(self) -> str:
        return self._digest.hexdigest()


class Stream:
    """One file, read once from start to end.

    Compression (gzip, bz2, xz, zstd) is recognised by the first bytes, not by the name. A file
    that unpacks to more than `expansion` times its size, and to more than 64 MiB, is refused.

    Attributes (complete once everything was read):
        compression: "gzip", "bz2", "xz", "zstd" or None.
        sha256: of the bytes of the file as it lies on the disk.
        size, text_size: bytes of the file, and of what it unpacks to.
        byte_order_mark: whether the text began with one; it is not part of what is read.

    Raises:
        AuditError: no such file, an empty one, a damaged or truncated one, one that unpacks to
            more than the limit, an archive, or UTF-16 or binary content where text is read.
    """

    def __init__(self, path: Path | str, *, expansion: int = EXPANSION) -> None:
        self.path = Path(path)
        self._expansion = expansion
        self.text_size = 0
        self.byte_order_mark = False
        try:
            self._raw = _Hashed(self.path.open("rb", buffering=0))
            self._size = self.path.stat().st_size
        except OSError as error:
            raise self._error(
                "the file cannot be opened",
                found=error.strerror or str(error),
                todo="correct the path, or the permissions of the file",
            ) from None
        file = io.BufferedReader(self._raw, BLOCK if self._size > BLOCK else max(self._size, 16))
        first = file.peek(16)[:16]
        self.compression = next(
            (name for magic, name in _COMPRESSIONS.items() if first.startswith(magic)), None
        )
        if self.compression == "xz":
            self._file = lzma.LZMAFile(file)  # noqa: SIM115
        elif self.compression:
            self._file = pa.CompressedInputStream(pa.PythonFile(file, "r"), self.compression)
        else:
            self._file = file
        self._head = self._read(BLOCK)
        self._refuse_archives()

    @property
    def head(self) -> bytes:
        """The first bytes of what the file holds, unpacked; at most 8 MiB."""
        return self._head

    @property
    def sha256(self) -> str:
        return self._raw.hexdigest()

    @property
    def size(self) -> int:
        return self._raw.size

    def everything(self) -> bytes:
        """All bytes, unpacked; for formats that are not lines of text."""
        return b"".join(self._chunks())

    def blocks(self) -> Iterator[bytes]:
        """Blocks of whole lines of text, without the byte-order mark; together the whole text."""
        pieces: list[bytes] = []
        for chunk in self._chunks():
            if b"\0" in chunk:
                raise self._not_text(chunk)
            cut = chunk.rfind(b"\n") + 1 or chunk.rfind(b"\r", 0, -1) + 1
            if cut:
                yield b"".join([*pieces, chunk[:cut]]) if pieces or cut < len(chunk) else chunk
                pieces = []
            pieces.append(chunk[cut:])
            if sum(map(len, pieces)) > HARMLESS:
                raise self._error(
                    f"there is no line end in {HARMLESS >> 20} MiB of text",
                    expected="text of one short line a document",
                    todo="name the right file",
                )
        if any(pieces):
            yield b"".join(pieces)

    def _chunks(self) -> Iterator[bytes]:
        head, self._head = self._head, b""
        yield head
        while chunk := self._read(BLOCK):
            yield chunk

    def _read(self, size: int) -> bytes:
        try:
            chunk = self._file.read(size)
        except (OSError, EOFError, lzma.LZMAError) as error:
            truncated = isinstance(error, EOFError) or "runcated" in str(error)
            raise self._error(
                f"the {self.compression or 'file'} data is "
                + ("cut off before its end" if truncated else "damaged"),
                found=str(error),
                expected=f"a complete {self.compression or 'readable'} file",
                todo="copy or compress the file again",
            ) from None
        self.text_size += len(chunk)
        if self.text_size > max(HARMLESS, self._expansion * self._size):
            raise self._error(
                f"the file unpacks to more than {self._expansion} times its size",
                found=f"{self._size:,} bytes that gave {self.text_size:,} so far",
                expected="runs and judgments, which unpack to 3 to 20 times their size",
                todo="if the file is what it should be, unpack it and name the unpacked file",
            )
        return chunk

    def _refuse_archives(self) -> None:
        head = self._head
        if self.text_size == 0:
            raise self._error(
                "the file is empty",
                found=f"{self._size} bytes" + (", compressed" if self.compression else ""),
                todo="name the right file, or take it out of the run sheet",
            )
        kind = next((what for magic, what in _ARCHIVES.items() if head.startswith(magic)), "")
        if not kind and head[257:262] == b"ustar":
            kind = "a tar archive"
        if not kind and self.compression and any(head.startswith(magic) for magic in _COMPRESSIONS):
            kind = "compressed twice"
        if kind:
            raise self._error(
                f"the file is {kind}",
                expected="text or Parquet, plain or compressed once with gzip, bz2, xz or zstd",
                todo="unpack it and name the file inside",
            )
        if head.startswith(_UTF16):
            raise self._not_text(head)
        if head.startswith(_BYTE_ORDER_MARK):
            self.byte_order_mark = True
            self._head = head[len(_BYTE_ORDER_MARK) :]

    def _not_text(self, chunk: bytes) -> AuditError:
        sample = chunk[:4096]
        wide = sample.startswith(_UTF16) or 0.3 * len(sample) < sample.count(0) < 0.8 * len(sample)
        if wide:
            return self._error(
                "the text is UTF-16 or UTF-32",
                expected="UTF-8",
                todo=f"convert it: iconv -f UTF-16 -t UTF-8 {self.path.name} > new-file",
            )
        return self._error(
            "the file is binary, not text",
            found=f"a zero byte, near {bytes(sample[:40])!r}",
            expected="text or Parquet, plain or compressed once with gzip, bz2, xz or zstd",
            todo="name the right file",
        )

    def _error(self, what: str, **parts: str) -> AuditError:
        return AuditError(what, where=str(self.path), **parts)


def texts_of_lines(path: Path, numbers: list[int], expansion: int = EXPANSION) -> dict[int, str]:
    """The text of lines by their numbers from 1: read again, because only an error asks for it."""
    wanted, texts, before = set(numbers), {}, 0
    for block in Stream(path, expansion=expansion).blocks() if wanted else ():
        lines = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        count = len(lines) - (lines[-1] == b"")
        for number in wanted:
            if before < number <= before + count:
                texts[number] = lines[number - before - 1].decode("utf-8", "backslashreplace")
        before += count
    return texts
