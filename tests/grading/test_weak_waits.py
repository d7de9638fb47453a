"""The wait that stands before an access and leaves its copy under way is named, as the file has it."""

from __future__ import annotations

import pytest

from grader.grading.weak_waits import lacking_wait, weak_wait
from grader.verdict import Access, Diagnostic


def told(source: str, line: int, space: str = "shared", reader: int = 0) -> str:
    accesses = tuple(Access(kind, (thread, 0, 0), (0, 0, 0)) for kind, thread in (("copy", 0), ("read", reader)))
    found = Diagnostic("missing_async_wait", "", line=line, space=space, accesses=accesses)
    return weak_wait(found, source.split("\n"))


@pytest.mark.parametrize(
    ("wait", "newest"),
    [
        ("__pipeline_wait_prior(1);", "1 of the newest groups is"),
        ("__pipeline_wait_prior(STAGES - 2);", "`STAGES - 2` of the newest groups are"),
        ("cuda::pipeline_consumer_wait_prior<2>(pipe);", "2 of the newest groups are"),
        ("cg::wait_prior<2>(block);", "2 of the newest groups are"),
        ('asm volatile("cp.async.wait_group 3;");', "3 of the newest groups are"),
    ],
)
def test_a_wait_for_all_but_some_groups_is_quoted(wait: str, newest: str) -> None:
    assert told(f"copy;\n{wait}\nread;", 3).startswith(f"line 2 waits until at most {newest} under way")


@pytest.mark.parametrize(
    "source", ["copy;\nread;", "copy;\n__pipeline_wait_prior(0);\nread;", "a\nread;\n__pipeline_wait_prior(1);"]
)
def test_no_wait_before_the_access_or_one_for_everything_says_nothing(source: str) -> None:
    assert told(source, source.split("\n").index("read;") + 1) == ""


def test_a_source_that_changes_is_another_matter() -> None:
    assert told("__pipeline_wait_prior(1);\ny[0] = 1;", 2, space="global") == ""


def test_another_threads_copy_may_only_lack_a_barrier() -> None:
    source = "copy;\n__pipeline_wait_prior(1);\nread;"
    assert told(source, 3) != ""
    assert told(source, 3, reader=1) == ""


def test_a_wait_in_a_function_above_the_kernel_need_not_be_called() -> None:
    assert told("void wait() { __pipeline_wait_prior(1); }\n__global__ void k() {\nread;", 3) == ""
    assert told('asm volatile("cp.async.wait_group %0;" :: "n"(N));\nread;', 2) == ""


def lacking(copy: str, rest: str, *, space: str = "shared", reader: int = 1) -> str:
    """The hint where line 1 starts the copy and the last line makes the access."""
    source = [copy, *rest.split("\n")]
    places = (("copy", 0, 1), ("read", reader, len(source)))
    accesses = tuple(Access(kind, (thread, 0, 0), (0, 0, 0), line) for kind, thread, line in places)
    found = Diagnostic("missing_async_wait", "", line=len(source), space=space, accesses=accesses)
    return lacking_wait(found, source)


@pytest.mark.parametrize(
    ("copy", "wait"),
    [
        ("cg::memcpy_async(block, s, x, 256);", "cg::wait(group) before the access"),
        ("cooperative_groups::memcpy_async(block, s, x, 256);", "cg::wait(group) before the access"),
        ("cuda::memcpy_async(s + t, x + t, 4, pipe);", "consumer_wait()"),
        ("cuda::memcpy_async(s + t, x + t, 4, bar);", "arrive_and_wait()"),
    ],
)
def test_a_copy_of_a_library_is_waited_for_with_that_librarys_wait(copy: str, wait: str) -> None:
    assert wait in lacking(copy, "__syncthreads();\nread;")
    assert "before its source changes" in lacking(copy, "x[t] = 1;", space="global")


def test_other_copies_keep_the_general_hint() -> None:
    assert lacking("__pipeline_memcpy_async(s + t, x + t, 4);", "__syncthreads();\nread;") == ""


def test_a_wait_that_is_too_weak_comes_before_the_librarys() -> None:
    hint = lacking("cg::memcpy_async(block, s, x, 4);", "cg::wait_prior<1>(block);\nread;", reader=0)
    assert hint.startswith("line 2")


def test_copies_that_no_line_makes_a_group_of_are_told_apart() -> None:
    copy, wait = "__pipeline_memcpy_async(&s[t], x + t, 4);", "__pipeline_wait_prior(0);"
    assert lacking(copy, f"{wait}\nread;", reader=0) == (
        "the wait in line 2 waits for groups of copies, and none is ever closed: put __pipeline_commit() behind the "
        "copies of each step"
    )
    assert lacking(copy, f"__pipeline_commit();\n{wait}\nread;", reader=0) == ""
    assert lacking("cg::memcpy_async(block, s, x, 4);", "cg::wait_prior<0>(block);\nread;").startswith(
        "cg::memcpy_async"
    )
