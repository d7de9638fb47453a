"""Archives of unknown people: real ones, made here, with everything in them that should not be read."""

from __future__ import annotations

import gzip
import io
import stat
import struct
import tarfile
import zipfile
from dataclasses import replace
from itertools import count

import pytest

from grader.classroom.collect.entries import Entry, Skipped
from grader.classroom.collect.limits import Budget, Limits, TooMuch
from grader.classroom.collect.sources import entries_of
from grader.errors import UsageError

LIMITS = Limits()


def zipped(members, method=zipfile.ZIP_DEFLATED):
    """A zip of names, or of members made by hand, with their contents."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return file.getvalue()


def tarred(members, mode="w"):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as archive:
        for info, content in members:
            info = info if isinstance(info, tarfile.TarInfo) else tarfile.TarInfo(info)
            if info.isreg():
                info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return file.getvalue()


@pytest.fixture
def read(tmp_path):
    """Reads an archive with these bytes: its files by their paths, and the reasons by the paths that were skipped."""

    def reading(content, name="week4.zip", limits=LIMITS):
        (tmp_path / name).write_bytes(content)
        items = list(entries_of(tmp_path / name, "auto", limits))
        files = {"/".join(item.parts): item.content for item in items if isinstance(item, Entry)}
        return files, {item.origin.partition(": ")[2]: item.reason for item in items if isinstance(item, Skipped)}

    return reading


def member(name, **fields):
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    for field, value in fields.items():
        setattr(info, field, value)
    return info


def special(name, kind, linkname=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, linkname
    return info


def test_files_are_read_with_their_paths_and_nothing_is_written(read, tmp_path):
    content = zipped([("ada/vector_add.cu", b"a"), ("ada/", b""), ("bob/x/pinned_copy_host.py", b"b")])
    assert read(content) == ({"ada/vector_add.cu": b"a", "bob/x/pinned_copy_host.py": b"b"}, {})
    assert [path.name for path in tmp_path.iterdir()] == ["week4.zip"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../vector_add.cu", "its path leaves the archive"),
        ("ada/../../vector_add.cu", "its path leaves the archive"),
        ("/etc/vector_add.cu", "its path is absolute"),
        ("C:/vector_add.cu", "its path is absolute"),
        ("ada\\vector_add.cu", "its name has a backslash"),
        ("..\\vector_add.cu", "its name has a backslash"),
        ("ada/\x1b[31mvector_add.cu", "its name has control characters or invisible ones"),
        ("ada/\u202evector_add.cu", "its name has control characters or invisible ones"),
        ("ada/" + 256 * "x" + ".cu", "its name is too long"),
        (300 * "abc/" + "vector_add.cu", "its name is too long"),
        ("ada/report.pdf", "it is not a .cu file"),
        ("ada/vector_add.cuh", "it is not a .cu file"),
    ],
)
def test_a_name_that_is_no_plain_path_to_a_source_is_skipped(read, name, reason):
    for content, file in ((zipped([(name, b"x")]), "a.zip"), (tarred([(name, b"x")]), "a.tar")):
        files, skipped = read(content, file)
        assert files == {}
        assert list(skipped.values()) == [reason]


def test_a_name_with_a_nul_is_refused_and_not_cut(read):
    content = zipped([("vector_add.cuXY", b"x")]).replace(b"vector_add.cuXY", b"vector_add.cu\0Y")
    assert list(read(content)[1].values()) == ["its name has control characters or invisible ones"]


@pytest.mark.parametrize(
    ("info", "reason"),
    [
        (member("a.cu", external_attr=(stat.S_IFLNK | 0o777) << 16), "it is a link"),
        (member("a.cu", external_attr=(stat.S_IFIFO | 0o666) << 16), "it is not a regular file"),
        (member("a.cu", external_attr=(stat.S_IFBLK | 0o666) << 16), "it is not a regular file"),
        (member("a.cu", compress_type=zipfile.ZIP_LZMA), "it is compressed in an unusual way"),
    ],
)
def test_a_member_of_a_zip_that_is_no_plain_file_is_skipped(read, info, reason):
    assert read(zipped([(info, b"/etc/passwd")])) == ({}, {"a.cu": reason})


@pytest.mark.parametrize(
    ("info", "reason"),
    [
        (special("a.cu", tarfile.SYMTYPE, "/etc/passwd"), "it is a link"),
        (special("a.cu", tarfile.LNKTYPE, "b.cu"), "it is a link"),
        (special("a.cu", tarfile.CHRTYPE), "it is not a regular file"),
        (special("a.cu", tarfile.FIFOTYPE), "it is not a regular file"),
        (special("a.cu", tarfile.GNUTYPE_SPARSE), "it is not a regular file"),
    ],
)
def test_a_member_of_a_tar_that_is_no_plain_file_is_skipped(read, info, reason):
    assert read(tarred([(info, b"")]), "a.tar") == ({}, {"a.cu": reason})


def test_an_encrypted_member_is_skipped_and_the_others_are_read(read):
    content = bytearray(zipped([("a.cu", b"secret"), ("b.cu", b"open")], zipfile.ZIP_STORED))
    content[6] |= 1  # the flags in the member's own header, and in the list
    content[content.index(b"PK\x01\x02") + 8] |= 1
    assert read(bytes(content)) == ({"b.cu": b"open"}, {"a.cu": "it is encrypted"})


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    "other", ["ada/vector_add.cu", "ada/Vector_Add.cu", "ADA/vector_add.cu", "ada/./vector_add.cu"]
)
def test_names_that_could_be_the_same_file_are_all_skipped(read, other):
    for content, file in (
        (zipped([("ada/vector_add.cu", b"1"), (other, b"2"), ("bob/vector_add.cu", b"3")]), "a.zip"),
        (tarred([("ada/vector_add.cu", b"1"), (other, b"2"), ("bob/vector_add.cu", b"3")], "w:gz"), "a.tar.gz"),
    ):
        files, skipped = read(content, file)
        assert files == {"bob/vector_add.cu": b"3"}
        assert set(skipped.values()) == {
            "the archive has several files of this name, if small and capital letters are the same"
        }


def test_a_name_is_utf_8_also_where_the_archive_does_not_say_so(read):
    name = "Dvořák/vector_add.cu"
    raw = name.encode()
    content = zipped([("D" * len(raw), b"x")]).replace(b"D" * len(raw), raw)
    assert read(content) == ({name: b"x"}, {})


def test_what_systems_add_is_left_out_in_silence(read):
    junk = ["__MACOSX/ada/._vector_add.cu", "ada/.DS_Store", "ada/._vector_add.cu", "ada/.git/hooks/x.py"]
    assert read(zipped([*((name, b"x") for name in junk), ("ada/vector_add.cu", b"a")])) == (
        {"ada/vector_add.cu": b"a"},
        {},
    )


# ------------------------------------------------------------------------------------------------------------- limits


def test_a_file_that_is_too_large_is_not_read(read):
    content = zipped([("a.cu", b"x" * (1 << 20)), ("b.cu", b"x" * ((1 << 20) + 1))])
    files, skipped = read(content)
    assert list(files) == ["a.cu"]
    assert skipped == {"b.cu": "it is larger than 1 MiB"}


def test_a_zip_that_lies_about_a_size_is_damaged_and_gives_no_more_than_it_says(read):
    content = zipped([("a.cu", b"x" * 5000)])
    at = content.index(b"PK\x01\x02") + 24
    lying = content[:at] + struct.pack("<I", 10) + content[at + 4 :]
    files, skipped = read(lying)
    assert files == {}
    assert skipped["a.cu"].startswith("it is damaged: Bad CRC-32")


def test_an_archive_that_becomes_too_large_is_refused_before_it_is_unpacked(read):
    limits = replace(LIMITS, ratio_from=1000, ratio=20)
    bomb = zipped([("x.zip", b"\0" * 200_000)])
    assert read(bomb, limits=limits) == ({}, {"x.zip": "it would become more than 20 times as large"})
    with pytest.raises(UsageError, match="it becomes more than 20 times as large"):
        read(gzip.compress(b"\0" * 200_000), "a.tar.gz", limits)


def test_all_that_is_read_together_has_a_limit(read):
    content = zipped([(f"{number}.cu", b"x" * 1000) for number in range(11)], zipfile.ZIP_STORED)
    assert len(read(content, limits=replace(LIMITS, read_bytes=11_000))[0]) == 11
    with pytest.raises(UsageError, match=r"is not collected: its files are more than 10\.7 KiB") as raised:
        read(content, limits=replace(LIMITS, read_bytes=10_999))
    assert raised.value.hint == "unpack it yourself, and collect its parts one after the other"


@pytest.mark.parametrize(("make", "name"), [(zipped, "a.zip"), (tarred, "a.tar")])
def test_the_number_of_members_has_a_limit(read, make, name):
    content = make([(f"{number}.txt", b"") for number in range(101)])
    assert len(read(content, name, replace(LIMITS, members=101))[1]) == 101
    with pytest.raises(UsageError, match="it has more than 100 members"):
        read(content, name, replace(LIMITS, members=100))


def test_the_list_of_a_million_members_is_not_read(read):
    header = b"PK\x01\x02" + bytes(42)  # the list of a zip, as long as it says
    listed = 200_000
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, len(header) * listed, 0, 0)
    with pytest.raises(UsageError, match="a list of members or a header is longer than 8 MiB"):
        read(header * listed + end)


def test_a_header_of_a_tar_that_asks_for_memory_is_refused(read):
    name = special("x", tarfile.GNUTYPE_LONGNAME)
    name.size = 4 << 30
    content = name.tobuf(tarfile.GNU_FORMAT) + b"x" * (3 << 20)
    with pytest.raises(UsageError, match="longer than 1 MiB"):
        read(content, "a.tar")


def test_time_is_limited():
    clock = count().__next__
    budget = Budget(replace(LIMITS, seconds=3), clock=clock)
    for _ in range(3):
        budget.spend(members=1)
    with pytest.raises(TooMuch, match="reading it takes more than 3 s"):
        budget.spend(members=1)


def test_archives_in_archives_are_read_to_a_depth(read):
    content = zipped([("vector_add.cu", b"x")])
    for depth in (3, 2, 1):
        content = zipped([(f"{depth}.zip", content)])
    files, skipped = read(content)
    assert files == {}
    assert skipped == {"1.zip/2.zip/3.zip": "it is an archive in 3 others"}
    two = zipped([("2.zip", zipped([("vector_add.cu", b"x")]))])
    assert read(zipped([("1.zip", two)])) == ({"1.zip/2.zip/vector_add.cu": b"x"}, {})


def test_a_students_archive_with_too_much_in_it_is_skipped_alone(read):
    many = zipped([(f"{number}.txt", b"") for number in range(2001)])
    files, skipped = read(zipped([("ada.zip", many), ("bob.tgz", tarred([("vector_add.cu", b"b")], "w:gz"))]))
    assert files == {"bob.tgz/vector_add.cu": b"b"}
    assert skipped == {"ada.zip": "it has more than 2000 members"}


@pytest.mark.parametrize("name", ["ada.zip", "ada.tar", "ada.tar.gz"])
def test_a_damaged_archive_of_a_student_is_skipped_and_a_damaged_source_is_an_error(read, name):
    files, skipped = read(zipped([(name, b"no archive" * 100), ("vector_add.cu", b"a")]))
    assert files == {"vector_add.cu": b"a"}
    assert skipped[name].startswith("it cannot be read: ")
    with pytest.raises(UsageError, match="cannot be read"):
        read(b"no archive" * 100, name)


def test_a_source_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(UsageError, match=r"there is no .*week4\.zip"):
        list(entries_of(tmp_path / "week4.zip", "auto"))
