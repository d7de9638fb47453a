from __future__ import annotations

from pathlib import Path

import pytest

from grader.dev.expectations import BadExpectation, read_expectation


def written(folder: Path, *lines: str) -> Path:
    path = folder / "mutant.cu"
    path.write_text("\n".join(lines))
    return path


def test_a_wrong_host_file_says_it_in_comments_of_python(tmp_path):
    path = tmp_path / "no_wait_host.py"
    path.write_text("# expect: race\n# It does not wait.\n")
    assert read_expectation(path).words == {"sim": "race", "gpu": "race"}
    path.write_text("// expect: race\n// It does not wait.\n")
    with pytest.raises(BadExpectation, match="# expect: WORD"):
        read_expectation(path)


def test_one_word_holds_for_both_backends(tmp_path):
    found = read_expectation(written(tmp_path, "// expect: wrong", "// It adds nothing.", "code"))
    assert found.words == {"sim": "wrong", "gpu": "wrong"}
    assert found.reason == "It adds nothing."


def test_a_backend_that_is_not_named_is_not_checked(tmp_path):
    assert read_expectation(written(tmp_path, "// expect: sim=race", "// No barrier.")).words == {"sim": "race"}


def test_each_backend_may_have_its_own_word(tmp_path):
    found = read_expectation(written(tmp_path, "// expect: sim=technique gpu=slow", "// Strided."))
    assert found.words == {"sim": "technique", "gpu": "slow"}


@pytest.mark.parametrize(
    "first",
    ["", "// wrong", "//expect: wrong", "// expect:", "// expect: bad", "// expect: sim=bad", "// expect: cpu=wrong",
     "// expect: wrong race", "// expect: sim=race sim=wrong", "// expect: sim=race,gpu=wrong"],
)  # fmt: skip
def test_a_first_line_that_states_no_verdict_is_refused(tmp_path, first):
    with pytest.raises(BadExpectation):
        read_expectation(written(tmp_path, first, "// Why."))


@pytest.mark.parametrize("second", ["", "//", "__global__ void f()"])
def test_the_second_line_says_why(tmp_path, second):
    with pytest.raises(BadExpectation, match="second line"):
        read_expectation(written(tmp_path, "// expect: wrong", second))
