"""The wait that stands before an access and leaves its copy in flight is named, as the file has it."""

from __future__ import annotations

import pytest

from grader.findings.record import Finding
from grader.grading.hints import hint
from grader.grading.hints.rules import Seen
from grader.grading.source_view import SourceView
from grader.verdict import Place

WEAK = "copies.wait_that_leaves_groups"
GENERAL = ("copies.wait_before_the_access", "copies.every_thread_waits")


def told(source: str, line: int, space: str = "shared", reader: int = 0, copy: int | None = None) -> tuple[str, str]:
    """The hint and its rule, of an access in that line; ``source`` is the body of a kernel, unless it has one."""
    here = (0, 0, 0)
    places = (Place("copy", copy, thread=here, block=here), Place("read", line, thread=(reader, 0, 0), block=here))
    cause = "source" if space != "shared" else "copy_of_another" if reader else "own_copy"
    found = Finding("missing_async_wait", cause, line=line, space=space, places=places)
    kernel = source if "__global__" in source else f"__global__ void k() {{ {source}\n}}"
    return hint(found, Seen(SourceView(kernel)))


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
    says, rule = told(f"__pipeline_commit();\n{wait}\nread;", 3)
    assert rule == WEAK
    assert f"line 2 waits until at most {newest}" in says


@pytest.mark.parametrize(
    "source",
    [
        "__pipeline_commit();\nread;",
        "__pipeline_commit();\n__pipeline_wait_prior(0);\nread;",
        "__pipeline_commit();\nread;\n__pipeline_wait_prior(1);",
    ],
)
def test_no_wait_before_the_access_or_one_for_everything_says_nothing(source: str) -> None:
    assert told(source, source.split("\n").index("read;") + 1)[1] in GENERAL


@pytest.mark.parametrize(
    ("calls", "speaks"),
    [
        ("__pipeline_commit();\n__pipeline_wait_prior(1);\nwork();", True),
        ("work();\n__pipeline_commit();\n__pipeline_wait_prior(1);", False),
        ("work();\n__pipeline_wait_prior(1);\nwork();", False),  # of which call it is, is not known
    ],
)
def test_an_access_in_a_function_is_where_it_is_called(calls: str, speaks: bool) -> None:
    source = f"__device__ void work() {{\nread;\n}}\n__global__ void k() {{\n{calls}\n}}"
    assert (told(source, 2)[1] == WEAK) is speaks


def test_a_source_that_changes_is_another_matter() -> None:
    assert told("__pipeline_commit(); __pipeline_wait_prior(1);\ny[0] = 1;", 2, space="global")[1] in GENERAL


def test_another_threads_copy_may_only_lack_a_barrier() -> None:
    source = "__pipeline_commit();\n__pipeline_wait_prior(1);\nread;"
    assert told(source, 3)[1] == WEAK
    assert told(source, 3, reader=1)[1] in GENERAL


def test_a_wait_in_a_function_above_the_kernel_need_not_be_called() -> None:
    above = "void wait() { __pipeline_commit(); __pipeline_wait_prior(1); }"
    assert told(f"{above}\n__global__ void k() {{\nread;", 3)[1] in GENERAL
    assert told('__pipeline_commit(); asm volatile("cp.async.wait_group %0;" :: "n"(N));\nread;', 2)[1] in GENERAL


def lacking(copy: str, rest: str, *, space: str = "shared", reader: int = 1) -> tuple[str, str]:
    """The hint and its rule where line 1 starts the copy and the last line makes the access."""
    source = f"{copy}\n{rest}"
    return told(source, source.count("\n") + 1, space, reader, copy=1)


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
    assert wait in lacking(copy, "__syncthreads();\nread;")[0]
    assert "before its source changes" in lacking(copy, "x[t] = 1;", space="global")[0]


def test_other_copies_keep_the_general_hint() -> None:
    assert lacking("__pipeline_memcpy_async(s + t, x + t, 4);", "__syncthreads();\nread;")[1] in GENERAL


def test_a_wait_that_is_too_weak_comes_before_the_librarys() -> None:
    says, rule = lacking("cg::memcpy_async(block, s, x, 4);", "cg::wait_prior<1>(block);\nread;", reader=0)
    assert (rule, "line 2" in says) == (WEAK, True)


def test_copies_that_no_line_makes_a_group_of_are_told_apart() -> None:
    copy, wait = "__pipeline_memcpy_async(&s[t], x + t, 4);", "__pipeline_wait_prior(0);"
    says, rule = lacking(copy, f"{wait}\nread;", reader=0)
    assert (rule, "line 2" in says) == ("copies.group_that_is_never_closed", True)
    assert lacking(copy, f"__pipeline_commit();\n{wait}\nread;", reader=0)[1] in GENERAL
    of_group = lacking("cg::memcpy_async(block, s, x, 4);", "cg::wait_prior<0>(block);\nread;")
    assert of_group[1] == "copies.wait_of_the_group"
