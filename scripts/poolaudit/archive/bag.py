"""Bags: archives of which every byte is vouched for (BagIt 1.0, RFC 8493).

The same files give the same bytes: names are sorted, times fixed, and nothing is compressed,
because compressors differ between versions and most tables are compressed already.
"""

from __future__ import annotations

import hashlib
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from poolaudit.errors import AuditError, first_of, shorten
from poolaudit.files import replacing

PAYLOAD = "data/"
MANIFEST = "manifest-sha256.txt"
TAG_MANIFEST = "tagmanifest-sha256.txt"
_DECLARATION = "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
_TIME = (1980, 1, 1, 0, 0, 0)
_MODE = (stat.S_IFREG | 0o644) << 16
_BLOCK = 1 << 20
# What zipfile raises for the ways in which a changed file can be no zip file any more.
UNREADABLE = (zipfile.BadZipFile, RuntimeError, OSError, EOFError, ValueError)
UNREADABLE += (struct.error, zlib.error)


def write_bag(path: Path | str, payload: Mapping[str, Path | str]) -> None:
    """Write a zipped bag.

    Args:
        path: the file to write, in one step.
        payload: for each name below `data/` the file whose bytes stand there.
    """
    files = {PAYLOAD + name: Path(payload[name]) for name in sorted(payload)}
    tags = {"bagit.txt": _DECLARATION.encode()}
    tags[MANIFEST] = _manifest({name: _digest_of(file) for name, file in files.items()})
    digests = {name: hashlib.sha256(tags[name]).hexdigest() for name in sorted(tags)}
    tags[TAG_MANIFEST] = _manifest(digests)
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for name, content in sorted((tags | files).items()):
            with archive.open(_entry(name), "w", force_zip64=False) as target:
                if isinstance(content, bytes):
                    target.write(content)
                else:
                    _copy(content, target)


def _manifest(digests: Mapping[str, str]) -> bytes:
    return "".join(f"{digest}  {_escaped(name)}\n" for name, digest in digests.items()).encode()


def _escaped(name: str) -> str:
    """A name as a manifest writes it: line ends and the per cent sign are encoded."""
    return name.replace("%", "%25").replace("\n", "%0A").replace("\r", "%0D")


def _unescaped(name: str) -> str:
    return name.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _TIME)
    entry.create_system, entry.external_attr = 3, _MODE
    return entry


def _copy(source: Path, target) -> None:
    with source.open("rb") as file:
        while block := file.read(_BLOCK):
            target.write(block)


def _digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class Bag:
    """A bag, zipped or unpacked.

    Attributes:
        path: the zip file or the folder.
        names: every file in it, sorted.
    """

    path: Path
    names: tuple[str, ...]

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Open one of its files for reading."""
        if self.path.is_dir():
            with (self.path / name).open("rb") as file:
                yield file
        else:
            with zipfile.ZipFile(self.path) as archive, archive.open(name) as file:
                yield file

    def read(self, name: str) -> bytes:
        """The bytes of one of its files."""
        with self.open(name) as file:
            return file.read()

    def digest(self, name: str) -> str:
        """SHA-256 of one of its files."""
        with self.open(name) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def extract(self, folder: Path, prefix: str = "") -> None:
        """Copy the files whose names begin with `prefix` to `folder`, without the prefix."""
        for name in self.names:
            if name.startswith(prefix):
                target = folder / name.removeprefix(prefix)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(self.read(name))


def open_bag(path: Path | str) -> Bag:
    """Open a zipped or an unpacked bag.

    Raises:
        AuditError: no bag; or one with links, compressed files, a name twice, or names that lead
            out of it. `write_bag` compresses nothing, so nothing has to be unpacked to see whether
            it is what it says, and a few bytes cannot stand for gigabytes.
    """
    path = Path(path)
    unsafe = []
    if path.is_dir():
        found = sorted(p for p in path.rglob("*") if p.is_symlink() or not p.is_dir())
        names = [p.relative_to(path).as_posix() for p in found]
        unsafe = [
            f"{name} is a link or no file"
            for name, file in zip(names, found, strict=True)
            if file.is_symlink() or not file.is_file()
        ]
    else:
        entries = _entries(path)
        names = sorted(entry.filename for entry in entries)
        unsafe += [f"{e.filename} is a link or no file" for e in entries if not _is_file(e)]
        unsafe += [f"{e.filename} is compressed or locked" for e in entries if not _is_plain(e)]
        unsafe += [f"{n} stands twice" for n, m in pairwise(names) if n == m]
        if sum(entry.file_size for entry in entries) > path.stat().st_size:
            unsafe.append("its files are longer than the archive")
    unsafe += [f"{name} leads out of the archive" for name in names if not _is_inside(name)]
    unsafe += [f"{name} is a file and a folder" for name in _folders(names) & set(names)]
    if unsafe:
        raise AuditError(
            "The archive is not safe to unpack.",
            where=str(path),
            found=first_of(map(shorten, unsafe), between="; "),
            expected="plain files, each once and as it is, with names that stay inside",
            todo="do not unpack it; ask for another copy",
        )
    if MANIFEST not in names:
        raise AuditError(
            "This is no archive of an audit.",
            where=str(path),
            found=f"no {MANIFEST}",
            expected="an archive.zip, or the folder that it was unpacked to",
            todo="make one with `snakemake --cores 8 archive`",
        )
    return Bag(path, tuple(names))


def _entries(path: Path) -> list[zipfile.ZipInfo]:
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.infolist()
    except UNREADABLE as error:
        raise AuditError(
            "The archive cannot be read.",
            where=str(path),
            found=str(error),
            expected="an archive.zip as the workflow writes it",
            todo="name the right file, or ask for another copy",
        ) from None


def _is_plain(entry: zipfile.ZipInfo) -> bool:
    return entry.compress_type == zipfile.ZIP_STORED and not entry.flag_bits & 1


def _folders(names: list[str]) -> set[str]:
    return {folder.as_posix() for name in names for folder in PurePosixPath(name).parents}


def _is_file(entry: zipfile.ZipInfo) -> bool:
    kind = stat.S_IFMT(entry.external_attr >> 16)
    return kind in (0, stat.S_IFREG) and not entry.filename.endswith("/")


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    # One name a file: not a//b or ./a, which another unpacker would put where a/b or a is.
    return (
        path.as_posix() == name
        and not path.is_absolute()
        and ".." not in path.parts
        and not set(name) & {"\\", "\0"}
    )


def faults(bag: Bag) -> list[str]:
    """What is wrong with the bytes of a bag, one sentence a fault; nothing when all hold.

    Every file must be in a manifest with the digest it has, and every file of a manifest must be
    there. The zip file itself must be what `write_bag` makes of these files, so that no byte
    between them can differ either.
    """
    found, listed = [], {MANIFEST, TAG_MANIFEST, "bagit.txt"}
    for manifest in (TAG_MANIFEST, MANIFEST):
        if manifest not in bag.names:
            found.append(f"{manifest} is missing")
            continue
        for line, text in enumerate(_lines(bag, manifest, found), start=1):
            digest, gap, name = text.partition("  ")
            name = _unescaped(name)
            listed.add(name)
            if not gap or name not in bag.names:
                found.append(f"{manifest}, line {line}: {name or text} is missing")
            elif _digest_or_fault(bag, name) != digest:
                found.append(f"{name} has other bytes than {manifest} says")
    found += [f"{name} is in no manifest" for name in bag.names if name not in listed]
    if not found and bag.path.is_file() and not _is_canonical(bag):
        found.append(f"{bag.path.name}: bytes between its files were changed")
    return found


def _lines(bag: Bag, manifest: str, found: list[str]) -> list[str]:
    try:
        return bag.read(manifest).decode().removesuffix("\n").split("\n")
    except UNREADABLE as error:
        found.append(f"{manifest} cannot be read: {error}")
        return []


def _digest_or_fault(bag: Bag, name: str) -> str:
    try:
        return bag.digest(name)
    except UNREADABLE:
        return "not to be read"


def _is_canonical(bag: Bag) -> bool:
    """Whether writing the files of a zipped bag again gives the same bytes."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        bag.extract(Path(folder) / "files", PAYLOAD)
        names = [name.removeprefix(PAYLOAD) for name in bag.names if name.startswith(PAYLOAD)]
        again = Path(folder) / "again.zip"
        write_bag(again, {name: Path(folder) / "files" / name for name in names})
        return _digest_of(again) == _digest_of(bag.path)
