"""The wait that stands before an access and leaves its copy under way is named, as the file has it."""

from __future__ import annotations

import pytest

from grader.stages.weak_waits import weak_wait
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
