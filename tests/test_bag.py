"""Archives: the same bytes from the same files, and every change named."""

import zipfile

import pytest

from poolaudit.archive import bag
from poolaudit.errors import AuditError
from poolaudit.files import sha256


@pytest.fixture
def files(tmp_path):
    """Two files of a payload."""
    (tmp_path / "one").write_text("first\n")
    (tmp_path / "two").write_text("second\n")
    return {"b/two.txt": tmp_path / "two", "a.txt": tmp_path / "one"}


@pytest.fixture
def archive(files, tmp_path):
    bag.write_bag(tmp_path / "archive.zip", files)
    return tmp_path / "archive.zip"


def unpacked(archive, folder):
    bag.open_bag(archive).extract(folder)
    return folder


def test_a_bag_is_what_bagit_says(archive):
    found = bag.open_bag(archive)
    assert found.names == (
        *("bagit.txt", "data/a.txt", "data/b/two.txt"),
        *("manifest-sha256.txt", "tagmanifest-sha256.txt"),
    )
    declaration = b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
    assert found.read("bagit.txt") == declaration
    lines = found.read("manifest-sha256.txt").decode().splitlines()
    assert [line.split("  ")[1] for line in lines] == ["data/a.txt", "data/b/two.txt"]
    assert all(line.split("  ")[0] == found.digest(line.split("  ")[1]) for line in lines)


def test_the_same_files_give_the_same_bytes_whenever_and_in_whatever_order(files, tmp_path):
    first, second = tmp_path / "first.zip", tmp_path / "second.zip"
    bag.write_bag(first, files)
    for path in files.values():
        path.touch()
    bag.write_bag(second, dict(reversed(files.items())))
    assert first.read_bytes() == second.read_bytes()


def test_nothing_in_an_archive_dates_it_or_names_a_user(archive):
    with zipfile.ZipFile(archive) as opened:
        for entry in opened.infolist():
            assert entry.date_time == (1980, 1, 1, 0, 0, 0) and not entry.extra
            assert entry.compress_type == zipfile.ZIP_STORED


def test_a_whole_bag_has_no_faults_zipped_or_unpacked(archive, tmp_path):
    assert bag.faults(bag.open_bag(archive)) == []
    assert bag.faults(bag.open_bag(unpacked(archive, tmp_path / "folder"))) == []


@pytest.mark.parametrize(
    "name",
    ["data/a.txt", "data/b/two.txt", "bagit.txt", "manifest-sha256.txt", "tagmanifest-sha256.txt"],
)
def test_one_flipped_byte_of_an_unpacked_bag_is_named(archive, tmp_path, name):
    folder = unpacked(archive, tmp_path / "folder")
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    named = " ".join(bag.faults(bag.open_bag(folder)))
    assert name in named


@pytest.mark.parametrize("first", range(3))
def test_a_flipped_byte_anywhere_in_a_zipped_bag_is_noticed(archive, tmp_path, first):
    whole, broken = archive.read_bytes(), tmp_path / "broken.zip"
    for place in range(first, len(whole), 11):
        content = bytearray(whole)
        content[place] ^= 1
        broken.write_bytes(content)
        try:
            assert bag.faults(bag.open_bag(broken)), place
        except AuditError as error:
            assert error.where == str(broken)


def test_a_file_that_is_missing_or_too_many_is_named(archive, tmp_path):
    folder = unpacked(archive, tmp_path / "folder")
    (folder / "data/a.txt").rename(folder / "data/c.txt")
    assert bag.faults(bag.open_bag(folder)) == [
        "manifest-sha256.txt, line 1: data/a.txt is missing",
        "data/c.txt is in no manifest",
    ]


@pytest.mark.parametrize("name", ["../outside.txt", "/etc/outside.txt", "data/../../outside.txt"])
def test_names_that_lead_out_are_refused(archive, name):
    with zipfile.ZipFile(archive, "a") as opened:
        opened.writestr(name, "x")
    with pytest.raises(AuditError, match="not safe to unpack") as raised:
        bag.open_bag(archive)
    assert "outside.txt leads out" in raised.value.found


def test_links_are_refused(archive, tmp_path):
    folder = unpacked(archive, tmp_path / "folder")
    (folder / "data/link").symlink_to(tmp_path / "one")
    with pytest.raises(AuditError, match="not safe") as raised:
        bag.open_bag(folder)
    assert raised.value.found == "data/link is a link or no file"
    entry = zipfile.ZipInfo("data/zipped-link")
    entry.create_system, entry.external_attr = 3, 0o120777 << 16
    with zipfile.ZipFile(archive, "a") as opened:
        opened.writestr(entry, "../one")
    with pytest.raises(AuditError, match="not safe") as raised:
        bag.open_bag(archive)
    assert raised.value.found == "data/zipped-link is a link or no file"


def test_what_is_no_archive_is_said_to_be_none(tmp_path):
    (tmp_path / "text").write_text("no zip")
    with pytest.raises(AuditError, match="cannot be read"):
        bag.open_bag(tmp_path / "text")
    with pytest.raises(AuditError, match="no archive of an audit"):
        bag.open_bag(tmp_path)


def test_names_with_line_ends_and_per_cent_signs_come_through(tmp_path):
    (tmp_path / "file").write_text("x")
    bag.write_bag(tmp_path / "archive.zip", {"50%0A.txt": tmp_path / "file"})
    found = bag.open_bag(tmp_path / "archive.zip")
    assert "data/50%0A.txt" in found.names and bag.faults(found) == []
    assert found.digest("data/50%0A.txt") == sha256(tmp_path / "file")


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_few_bytes_that_stand_for_many_are_refused_unread(archive, method):
    with zipfile.ZipFile(archive, "a") as opened:
        opened.writestr("data/bomb", bytes(1 << 24), method)
    with pytest.raises(AuditError, match="not safe") as raised:
        bag.open_bag(archive)
    assert "data/bomb is compressed or locked" in raised.value.found


def test_files_that_share_their_bytes_are_refused(archive):
    # A central directory whose entries all point at one file of the archive.
    with zipfile.ZipFile(archive, "a") as opened:
        entry = opened.getinfo("data/a.txt")
        opened.writestr("data/padding", bytes(1000))
        for i in range(100):
            again = zipfile.ZipInfo(f"data/{i}")
            again.header_offset, again.CRC = entry.header_offset, entry.CRC
            again.file_size = again.compress_size = 1000
            opened.filelist.append(again)
    with pytest.raises(AuditError, match="not safe") as raised:
        bag.open_bag(archive)
    assert raised.value.found == "its files are longer than the archive"


@pytest.mark.parametrize(
    "name", ["data//a.txt", "data/./a.txt", "./data/a.txt", "data\\\\a.txt", ""]
)
def test_a_second_spelling_of_a_name_is_refused(archive, name):
    entry = zipfile.ZipInfo("x")
    entry.filename = name
    with zipfile.ZipFile(archive) as opened:
        content = {e: opened.read(e) for e in opened.infolist()}
    with zipfile.ZipFile(archive, "w") as opened:
        for each, data in content.items():
            opened.writestr(each, data)
        with opened.open(entry, "w") as file:
            file.write(b"x")
    with pytest.raises(AuditError, match="not safe") as raised:
        bag.open_bag(archive)
    assert "leads out of the archive" in raised.value.found


def test_a_name_that_is_a_file_and_a_folder_is_refused(archive):
    with zipfile.ZipFile(archive, "a") as opened:
        opened.writestr("data/a.txt/b", "x")
    with pytest.raises(AuditError, match="not safe") as raised:
        bag.open_bag(archive)
    assert raised.value.found == "data/a.txt is a file and a folder"


def test_many_unsafe_names_are_counted_and_some_are_named(archive):
    with zipfile.ZipFile(archive, "a") as opened:
        for i in range(30):
            opened.writestr(f"../\x1b[2J{i:02}", "x")
    with pytest.raises(AuditError) as raised:
        bag.open_bag(archive)
    assert r"../\x1b[2J00 leads out" in raised.value.found and "and 10 more" in raised.value.found


def test_names_with_rare_line_ends_come_through(tmp_path):
    (tmp_path / "file").write_text("x")
    bag.write_bag(tmp_path / "archive.zip", {"a\u2028b\x85.txt": tmp_path / "file"})
    assert bag.faults(bag.open_bag(tmp_path / "archive.zip")) == []
