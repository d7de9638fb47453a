"""Hints for comments that are graded, such as `// bug: LINE`."""

from __future__ import annotations

import re

from grader.grading.hints.rules import finding, table

_OF_MEMORY = re.compile("sector|wavefront|request|bytes")
"""Counters that depend on the addresses of a warp's lanes."""

_HERE = "the line of the stub as you got it where the wrong thing is done, or beside which the missing one should stand"

table(
    "answers",
    ("one_answer", "answer", "several", finding("answer", "several", facts={"form": "// bug: LINE", "count": 2}),
     "leave one comment with the answer, and take the others out"),
    ("one_number", "answer", "unreadable", finding("answer", "unreadable"),
     "leave one comment `// bug: LINE` with one number, the line where the wrong thing is done or the missing one "
     "should stand"),
    ("given_kernel", "answer", "other_kernel", finding("answer", "other_kernel"),
     "bring the stub's lines back, and change the answers alone; try changes in a copy, with `--file`"),
    ("words_of_limits", "answer", "no_limit", finding("answer", "no_limit", facts={"words": "memory, shared"}),
     "write one of these words; the statement says what each means"),
    ("times_by_counters", "answer", "other_limit", finding("answer", "other_limit", facts={"word": "memory"}),
     "divide each counter of the report by what the device serves of it in a clock: the statement has both, and the "
     "longest time is the limit"),
    ("a_number", "answer", "no_number", finding("answer", "no_number"), "write a number such as `// predict: 12.5`"),
    ("one_request_at_a_time", "answer", "other_count",
     finding("answer", "other_count", facts={"counter": "sectors_per_request", "predicted": "8"}),
     "take one request of one warp in the changed code, and write down the addresses of its lanes",
     lambda found: _OF_MEMORY.search(found.facts["counter"])),
    ("instructions_of_one_warp", "answer", "other_count",
     finding("answer", "other_count", facts={"counter": "shuffles", "predicted": "8"}),
     "take one warp through the changed code: which statements does this counter count, and how often does the warp "
     "execute each?"),
    ("numbers_of_the_stub", "answer", "outside", finding("answer", "outside", facts={"named": 99, "length": 61}),
     "count in the stub as you got it, not in your file, which has other lines by now: in another folder, `grade "
     "start` copies the stub again"),
    ("what_the_change_replaced", "answer", "elsewhere", finding("answer", "elsewhere", facts={"named": 12}),
     "which line of the stub does the wrong thing, or beside which one is something missing? Compare your change with "
     "the stub, and count the stub's lines. A line that only suffers from the bug, because it reads a wrong value or "
     "waits in vain, is not its place"),
    ("name_the_line", "answer", "missing", finding("answer", "missing", facts={"form": "// bug: LINE"}),
     f"write the line's number in the comment `// bug: ?` of your file: {_HERE}",
     lambda found: found.facts["form"].startswith("// bug")),
    ("fill_the_answer", "answer", "missing", finding("answer", "missing", facts={"form": "// bound: WORD"}),
     "replace the question mark, and what stands behind it, by your answer"),
)  # fmt: skip
