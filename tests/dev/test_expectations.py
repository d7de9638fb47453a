from __future__ import annotations

import pytest

from grader.dev.expectations import BadExpectation, comment_mark, read_expectation


def test_a_wrong_host_file_says_it_in_comments_of_python():
    mark = comment_mark("no_wait_host.py")
    assert read_expectation(["# expect: race", "# It does not wait."], mark).words == {"sim": "race", "gpu": "race"}
    with pytest.raises(BadExpectation, match="# expect: WORD"):
        read_expectation(["// expect: race", "// It does not wait."], mark)


def test_one_word_holds_for_both_backends():
    found = read_expectation(["// expect: wrong", "// It adds nothing.", "code"])
    assert found.words == {"sim": "wrong", "gpu": "wrong"}
    assert found.reason == "It adds nothing."


def test_a_backend_that_is_not_named_is_not_checked():
    assert read_expectation(["// expect: sim=race", "// No barrier."]).words == {"sim": "race"}


def test_each_backend_may_have_its_own_word():
    found = read_expectation(["// expect: sim=technique gpu=slow", "// Strided."])
    assert found.words == {"sim": "technique", "gpu": "slow"}


@pytest.mark.parametrize(
    "first",
    ["", "// wrong", "//expect: wrong", "// expect:", "// expect: bad", "// expect: sim=bad", "// expect: cpu=wrong",
     "// expect: wrong race", "// expect: sim=race sim=wrong", "// expect: sim=race,gpu=wrong"],
)  # fmt: skip
def test_a_first_line_that_states_no_verdict_is_refused(first):
    with pytest.raises(BadExpectation):
        read_expectation([first, "// Why."])


@pytest.mark.parametrize("second", ["", "//", "__global__ void f()"])
def test_the_second_line_says_why(second):
    with pytest.raises(BadExpectation, match="second line"):
        read_expectation(["// expect: wrong", second])
