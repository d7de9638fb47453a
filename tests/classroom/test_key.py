"""class.key, and what is derived from it: fixed vectors, because a class that is graded again needs the same inputs."""

from __future__ import annotations

import os
import stat

import pytest

from grader.classroom.key import assignment_key, new_key, read_key, seed, variant_seed, write_key
from grader.errors import UsageError
from grader.verdict import MAX_SEED

KEY = bytes(range(32))
WEEK4 = assignment_key(KEY, "week4")


def test_secrets_are_derived_the_same_way_for_ever():
    assert WEEK4.hex() == "01dfad412191bb06bad89a83a449bdeaab8f8629aace03258831698a10138ce5"
    assert seed(WEEK4, "vector_add") == 7759634111285107
    assert variant_seed(WEEK4, "ada", "vector_add") == 397056815303770


def test_every_secret_is_its_own():
    numbers = [
        seed(WEEK4, "vector_add"),
        seed(WEEK4, "reduce_v1"),
        seed(assignment_key(KEY, "week5"), "vector_add"),
        seed(assignment_key(bytes(32), "week4"), "vector_add"),
        variant_seed(WEEK4, "ada", "vector_add"),
        variant_seed(WEEK4, "ad", "avector_add"),
        variant_seed(WEEK4, "adavector_add", ""),
    ]
    assert len(set(numbers)) == len(numbers)
    assert all(0 <= number <= MAX_SEED for number in numbers)


def test_a_key_is_written_for_its_owner_alone_and_never_over_another(tmp_path):
    path, key = tmp_path / "class.key", new_key()
    write_key(path, key)
    assert read_key(tmp_path) == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        write_key(path, new_key())
    assert read_key(tmp_path) == key


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_key_that_others_can_read_or_write_is_refused(tmp_path, mode):
    path = tmp_path / "class.key"
    write_key(path, KEY)
    path.chmod(mode)
    with pytest.raises(UsageError, match=rf"may read .*class\.key \(mode 0{mode:o}\)") as raised:
        read_key(tmp_path)
    assert raised.value.hint == f"`chmod 600 {path}`"


@pytest.mark.parametrize("content", ["", "abc", "zz" * 32, "ab" * 31, "ab" * 33, "é" * 32])
def test_a_file_that_is_no_key_is_refused(tmp_path, content):
    (tmp_path / "class.key").write_text(content, encoding="utf-8")
    (tmp_path / "class.key").chmod(0o600)
    with pytest.raises(UsageError, match="does not contain a key"):
        read_key(tmp_path)


def test_a_missing_key_is_not_made_anew(tmp_path):
    with pytest.raises(UsageError, match=r"there is no .*class\.key") as raised:
        read_key(tmp_path)
    assert raised.value.hint.startswith("copy it from where the class was made")
