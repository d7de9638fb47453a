"""The sentences of wrong outputs, one for each thing that an array may look like.

`pytest --inline-snapshot=fix tests/findings/test_sentences.py` writes them anew; those of a kernel's findings stand
with their hints in tests/grading/test_hint_rules.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from textwrap import fill
from typing import Any

from inline_snapshot import snapshot

from grader.findings.record import Finding
from grader.findings.sentences import sentence

FACTS = {"size": {"rows": 4, "cols": 25}, "got": "3.0", "expected": "8.0", "wrong": 2, "count": 100}

CAUSES: Mapping[str, Mapping[str, Any]] = {
    "": {"place": {"row": 1, "column": 12}, "inputs": "x[37] = 3.0, z[37] = 5.0"},
    "nothing_written": {"value": "unwritten", "wrong": 100},
    "last_unwritten": {"value": "unwritten", "unwritten": 3},
    "unwritten": {"value": "unwritten_or_computed", "unwritten": 50},
    "nan": {"nan": 2},
    "constant": {"value_of_all": "0.0"},
    "copy": {"copy_of": "x"},
    "transposed": {},
    "shifted_after": {},
    "shifted_before": {},
    "zeros": {},
    "multiple": {"ratio": "-1"},
    "multiple_in_each_row": {"ratio": "0.74", "in_row": {"row": 0}},
    "near": {"largest": "0.001"},
    "from_some_element_on": {"multiple_of": 32, "wrong": 36},
}


def test_wrong_output_says_what_the_array_looks_like() -> None:
    shown = {cause: sentence(_wrong(cause, facts)) for cause, facts in CAUSES.items()}
    assert "\n".join(f"{cause}:\n{_block(text)}" for cause, text in shown.items()) == snapshot("""\
:
    y[64] (row 1, column 12) at rows=4, cols=25: got 3.0, expected 8.0 (x[37] = 3.0, z[37] = 5.0); 2 of 100
    elements are wrong
nothing_written:
    y[64] at rows=4, cols=25: it was never written; expected 8.0; all 100 elements are wrong; nothing was
    written to y
last_unwritten:
    y[64] at rows=4, cols=25: it was never written; expected 8.0; 2 of 100 elements are wrong; the last 3
    elements were never written
unwritten:
    y[64] at rows=4, cols=25: it was never written, or was computed from values that were never written;
    expected 8.0; 2 of 100 elements are wrong; the same is true of 50 elements
nan:
    y[64] at rows=4, cols=25: got 3.0, expected 8.0; 2 of 100 elements are wrong; 2 of them are NaN: 0/0, inf −
    inf, or a value that was never written before it was read
constant:
    y[64] at rows=4, cols=25: got 3.0, expected 8.0; 2 of 100 elements are wrong; every element of y is 0.0
copy:
    y[64] at rows=4, cols=25: got 3.0, expected 8.0; 2 of 100 elements are wrong; y is a copy of x
transposed:
    y[64] at rows=4, cols=25: got 3.0, expected 8.0; 2 of 100 elements are wrong; it is the right matrix
    transposed: rows and columns are swapped
shifted_after:
    y[64] at rows=4, cols=25: got 3.0, expected 8.0; 2 of 100 elements are wrong; each holds what belongs to the
    element after it: an index is off by one
shifted_before:
    y[64] at rows=4, cols=25: got 3.0, expected 8.0; 2 of 100 elements are wrong; each holds what belongs to the
    element before it: an index is off by one
zeros:
    y[64] at rows=4, cols=25: got 3.0, expected 8.0; 2 of 100 elements are wrong; each of these is 0
multiple:
    y[64] at rows=4, cols=25: got 3.0, expected 8.0; 2 of 100 elements are wrong; each is -1 times what it
    should be
multiple_in_each_row:
    y[64] at rows=4, cols=25: got 3.0, expected 8.0; 2 of 100 elements are wrong; each row is wrong by a factor
    of its own (row 0: 0.74)
near:
    y[64] at rows=4, cols=25: got 3.0, expected 8.0; 2 of 100 elements are wrong; the error is small (at most
    0.001 of the value): a term is missing or counted twice, or the precision is too low
from_some_element_on:
    y[64] at rows=4, cols=25: got 3.0, expected 8.0; 36 of 100 elements are wrong; everything before it is
    right, and everything from it on is wrong: 64 is a multiple of 32, which is probably where the next block,
    warp or tile begins, so look at what that does\
""")


def test_one_number_is_not_counted_and_its_writer_is_named() -> None:
    found = Finding("wrong", "nan", array="y", index=0, thread=(6, 0, 0), block=(2, 0, 0),
                    facts={**FACTS, "wrong": 1, "count": 1, "nan": 1, "got": "nan"})  # fmt: skip
    assert _block(sentence(found)) == snapshot("""\
    y[0] at rows=4, cols=25: got nan, expected 8.0; it is NaN: 0/0, inf − inf, or a value that was never written
    before it was read; it is probably thread 6 of block 2 that should write it\
""")
    copied = Finding("wrong", "copy", array="y", index=0, facts={**FACTS, "wrong": 1, "count": 1, "copy_of": "x"})
    assert sentence(copied) == snapshot("y[0] at rows=4, cols=25: got 3.0, expected 8.0; it is x[0] unchanged")


def test_padding_says_how_many_instructions_change_no_output() -> None:
    def said(counter: str, unneeded: int, of: int) -> str:
        facts = {"found": "this is 0.25", "asked": "at least 1", "why": "Why.", "counter": counter}
        return sentence(Finding("technique", "padding", facts=facts | {"unneeded": unneeded, "of": of}))

    words = [
        said("wmma_instructions", 12, 16),
        said("shared_requests", 1, 6),
        said("shared_load_bytes", 4, 4),
        said("global_store_requests", 1, 1),
        said("sector_efficiency", 2, 9),
        said("async_copy_bytes", 3, 3),
    ]
    assert "\n".join(map(_block, words)) == snapshot("""\
    12 of the 16 mma instructions change no output; this is 0.25 without them, and this step asks for at least
    1. Why.
    1 of the 6 accesses to shared memory changes no output; this is 0.25 without it, and this step asks for at
    least 1. Why.
    none of the 4 loads from shared memory changes an output; this is 0.25 without them, and this step asks for
    at least 1. Why.
    the only store to global memory changes no output; this is 0.25 without it, and this step asks for at least
    1. Why.
    2 of the 9 accesses to global memory change no output; this is 0.25 without them, and this step asks for at
    least 1. Why.
    none of the 3 asynchronous copies changes an output; this is 0.25 without them, and this step asks for at
    least 1. Why.\
""")


def test_other_wrong_memory_is_told_by_its_name() -> None:
    assert sentence(Finding("wrong", "overwritten_in_host_memory", array="x")) == snapshot(
        "run() has changed the input x in host memory"
    )
    assert _block(sentence(_wrong("", {"since": "what was in x in the run before"}))) == snapshot("""\
    y[64] at rows=4, cols=25: got 3.0, expected 8.0; 2 of 100 elements are wrong; it would be right for what was
    in x in the run before\
""")
    passes = Finding("passes", kernel="k", facts={"line": 5, "blocks": 2, "leaves": 1})
    assert _block(sentence(passes)) == snapshot(
        """\
    grid= and `by` in line 5 disagree: a pass starts 2 blocks, but `by` leaves 1. A kernel in which each block
    stores one element needs one block for each of them\
"""
    )


def _block(text: str) -> str:
    return fill(text, 112, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)


def _wrong(cause: str, facts: Mapping[str, Any]) -> Finding:
    return Finding("wrong", cause, array="y", index=64, facts={**FACTS, **facts})


def test_a_thread_has_as_many_numbers_as_its_launch_has_axes() -> None:
    finding = Finding(
        "unused_read", file="k.cu", line=4, array="x", thread=(2, 0, 0), block=(3, 0, 0), facts={"offset": 0}
    )
    assert sentence(finding).startswith("thread 2 of block 3 reads")
    assert sentence(replace(finding, axes=(2, 3))).startswith("thread (2, 0) of block (3, 0, 0) reads")


ANSWERS: Mapping[str, Mapping[str, Any]] = {
    "missing": {"form": "// bug: LINE"},
    "unreadable": {},
    "several": {"form": "// bug: LINE", "count": 2},
    "outside": {"named": 99, "length": 61},
    "elsewhere": {"named": 12},
    "other_kernel": {},
    "no_limit": {"words": "memory, shared"},
    "other_limit": {"word": "memory"},
    "no_number": {},
    "other_count": {"counter": "wavefronts per tiles", "predicted": "8"},
}


def test_answer_in_a_comment_says_what_is_wrong_with_it() -> None:
    shown = [sentence(Finding("answer", cause, facts=facts)) for cause, facts in ANSWERS.items()]
    assert "\n".join([*shown, sentence(Finding("bug_found"))]) == snapshot("""\
the results are right, but the file has no answer `// bug: LINE`
the results are right, but the answer after `// bug:` is not one line number
the results are right, but 2 comments `// bug: LINE` say different things
the kernel is right, but `// bug: 99` names no line of the stub, which has 1 to 61
the kernel is right, but the stub's bug is not in its line 12
the kernel is not the one that was handed out, about which the answers are
the answer after `// bound:` is none of the words memory, shared
`memory` is not what limits this kernel: by its counters something else takes longer
the answer after `// predict:` is not a number
with CHANGED defined, the count of wavefronts per tiles is not 8
`// bug:` names the right line, but the kernel still fails: what stands there now does not fix it\
""")


def test_what_works_without_a_promise_is_told_with_the_rule() -> None:
    in_branch = Finding("barrier_in_branch", line=4, facts={"condition": "t < 32"})
    mask = Finding("active_mask", line=5, facts={"call": "__shfl_down_sync"})
    assert _block(f"{sentence(in_branch)}\n{sentence(mask)}") == snapshot("""\
    the __syncthreads() in line 4 is inside `if (t < 32)`, and warps end without it. This works, because ended
    warps do not count, but CUDA C asks for all threads of the block; lanes of one warp have __syncwarp() the
    mask of __shfl_down_sync in line 5 comes from __activemask(): the lanes that happen to be together there.
    Nothing promises that these are all that should take part: name them by a rule of your own\
""")
