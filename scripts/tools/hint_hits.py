"""How often each rule of advice speaks of stubs and wrong answers, for the page docs/results/hints.md.

python scripts/tools/hint_hits.py [NAME …] [--known FILE] [--minutes N] [--out PAGE]

Grades on the simulator whatever does not pass there. What is graded once is kept in FILE by its text; with --minutes,
what is not graded by then is left to the next run, and the exit code is 3. A rule that never speaks stays only where
its example shows what students do, and the course has no wrong answer for that.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from grader.catalog.courses import CourseExercise
from grader.catalog.exercises import load_catalog
from grader.dev.grading import CourseGrader
from grader.dev.wrong import WrongAnswer, wrong_answers
from grader.grading.hints import rules

PAGE = Path(__file__).resolve().parents[2] / "docs" / "results" / "hints.md"
EXAMPLES = 3  # submissions that a row names

Hits = Mapping[str, Sequence[str]]
"""The submissions of which a rule speaks, by its name."""


def main() -> int:
    parser = argparse.ArgumentParser(description="Count how often each rule of advice speaks.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="exercises; without any, all")
    parser.add_argument("--known", type=Path, default=Path("hint_hits.json"), metavar="FILE")
    parser.add_argument("--minutes", type=float, default=float("inf"), metavar="N")
    parser.add_argument("--out", type=Path, default=PAGE, metavar="PAGE")
    arguments = parser.parse_args()
    known: dict[str, list[str]] = json.loads(arguments.known.read_text()) if arguments.known.is_file() else {}
    end = time.monotonic() + 60 * arguments.minutes
    hits: dict[str, list[str]] = defaultdict(list)
    graded = left = 0
    with CourseGrader(workers=1) as course:
        for entry in load_catalog().exercises:
            if arguments.names and entry.name not in arguments.names:
                continue
            for name, key, file in submissions(entry):
                if key not in known and time.monotonic() > end:
                    left += 1
                    continue
                if key not in known:
                    verdict = course.simulated(entry, file).result()
                    known[key] = sorted({found.rule for found in verdict.diagnostics if found.rule})
                    arguments.known.write_text(json.dumps(known))
                graded += 1
                for rule in known[key]:
                    hits[rule].append(name)
    arguments.out.write_text(page(hits, graded), encoding="utf-8")
    print(f"{graded} graded, {left} left; {arguments.out}")
    return 3 if left else 0


def submissions(entry: CourseExercise) -> Iterator[tuple[str, str, Path | WrongAnswer]]:
    """The stub and the wrong answers that do not pass on the simulator: name, a key of the text, and what to grade."""
    files = [entry.stub, *entry.stub.parent.glob(f"{entry.name}_host.py")]
    yield f"{entry.name}, stub", _key(entry, *(file.read_text(encoding="utf-8") for file in files)), entry.stub
    for answer in wrong_answers(entry)[0]:
        if answer.expectation.words.get("sim", "pass") != "pass":
            yield f"{entry.name}, {answer.path.stem}", _key(entry, *answer.texts.values()), answer


def _key(entry: CourseExercise, *texts: str) -> str:
    return hashlib.sha256(json.dumps([entry.name, *texts]).encode()).hexdigest()


def page(hits: Hits, graded: int) -> str:
    order = sorted((rule.name for rule in rules()), key=lambda name: -len(hits.get(name, ())))
    rows = (f"| `{name}` | {len(hits.get(name, ()))} | {_some(hits, name)} |" for name in order)
    spoken = sum(name in hits for name in order)
    return (
        "# How often each rule of advice speaks\n\n"
        f"Written by `scripts/tools/hint_hits.py`; not edited by hand. {graded} stubs, and wrong answers that do not "
        f"pass on the simulator; {spoken} of {len(order)} rules speak of one. Of the others the table says why they "
        "stay. [What a rule is](../design/021-findings-and-hints.md).\n\n"
        "| rule | submissions | for example, or why it stays |\n|---|---:|---|\n" + "\n".join(rows) + "\n"
    )


def _some(hits: Hits, name: str) -> str:
    names = hits.get(name, ())
    step = max(1, len(names) // EXAMPLES)
    return "; ".join(names[::step][:EXAMPLES]) or STAYS.get(name, "**nothing speaks for it**")


STAYS: Mapping[str, str] = {
    rule: reason
    for reason, rules in {
        "the line of the launch, of scratch or of shared= is the student's own": (
            "extents.scratch_for_fewer_blocks", "extents.too_little_for_the_block", "extents.type_of_the_array",
            "races.one_array_for_two_parameters", "faults.pointer_of_the_launch_line", "faults.smaller_launch",
            "faults.cooperative_launch_line", "faults.fewer_blocks_with_more_work", "faults.less_shared_memory",
            "faults.less_local_memory",
        ),
        "a usual slip in any kernel": (
            "extents.index_in_the_whole_grid", "bounds.before_the_array", "barriers.barrier_that_is_not_called",
            "barriers.barrier_of_one_warp", "barriers.return_before_the_barrier", "faults.less_work_in_each_thread",
            "faults.print_from_one_thread", "faults.own_lane_in_the_mask", "outputs.const_inputs",
            "outputs.cast_of_a_const_input",
            "bounds.all_must_be_inside", "slips.loop_of_a_lone_semicolon", "slips.assignment_for_a_comparison",
            "slips.block_of_one_row", "slips.variable_of_an_inner_block", "slips.value_under_a_condition",
            "slips.value_that_is_dropped", "slips.array_of_each_thread", "slips.whole_number_for_a_fraction",
            "overlaps.one_index_for_all_threads", "overlaps.one_index_in_all_blocks",
            "unwritten.element_beyond_the_threads",
            "unwritten.adds_to_what_is_there", "overlaps.rows_that_overlap", "slips.value_of_the_last_iteration",
            "faults.same_call_for_all", "outputs.return_before_work_for_others",
            "outputs.threads_that_end_before_the_matrix", "slips.arguments_in_another_order",
            "extents.condition_of_nothing", "bounds.guard_turned_round", "extents.index_made_of_the_block",
            "extents.variable_too_short_for_the_grid", "overlaps.one_element_of_all_blocks",
            "races.no_order_of_atomics",
            "outputs.return_before_the_store", "outputs.variable_that_begins_again",
            "outputs.variable_without_a_first_value", "slips.statement_that_is_not_in_the_if",
            "unwritten.call_by_some_threads", "races.number_before_the_atomics", "faults.warp_that_is_not_whole",
            "outputs.row_as_long_as_there_are_rows", "techniques.loop_that_cannot_be_unrolled",
            "bounds.beyond_what_the_launch_line_gives",
        ),
        "what is left where no other rule of its kind knows more": (
            "barriers.way_around_the_barrier", "races.within_one_launch", "races.grid_sync_or_barrier",
        ),
        "tiles of tensor cores, as learners place them": (
            "fragments.tile_at_a_multiple", "fragments.tile_of_another_warp",
        ),
        "a note, or a warning: what passes has one too": (
            "faults.fine_while_unused", "faults.read_what_is_written", "faults.how_to_assemble",
            "faults.barrier_for_all_or_of_a_warp", "faults.mask_by_the_program",
        ),
        "the general advice for the kind would mislead": ("faults.constant_memory", "faults.barrier_that_counts_more"),
        "asynchronous copies by a library, or in groups: the course's wrong answers lack the wait as a whole": (
            "copies.group_that_is_never_closed", "copies.wait_that_leaves_groups", "copies.wait_of_the_group",
            "copies.wait_of_the_object", "copies.copy_overwrites", "faults.object_that_nobody_initialised",
            "faults.arrivals_of_each_phase",
        ),
        "blocks that wait for each other: a wrong answer may hang in one place only": (
            "races.grid_sync_between_blocks", "races.all_blocks_wait", "faults.blocks_that_have_started",
            "faults.who_should_write_it", "races.barrier_of_ones_own",
        ),
        "tensor cores in a branch": ("faults.whole_warps",),
        "of host files, which go wrong in more ways than the course's wrong answers": (
            "extents.arguments_of_the_launch",
            "hostfile.meant_for_the_graph", "hostfile.wait_at_the_end_of_setup", "hostfile.leave_it_pinned",
            "hostfile.wait_before_freeing", "hostfile.exact_type", "hostfile.order_of_the_parameters",
            "hostfile.end_the_capture", "hostfile.a_kernel_writes_first", "hostfile.into_the_given_array",
            "hostfile.keep_the_array", "hostfile.prefetch_after_the_host", "hostfile.prefetch_to_the_gpu",
            "hostfile.wait_for_what_writes_there", "faults.pointer_of_the_host_file", "faults.free_it_later",
            "outputs.who_writes_to_host_memory", "techniques.let_a_kernel_compute", "techniques.launch_a_kernel",
        ),
        "its advice is a part of what `techniques.what_stands_in_the_way` says": ("hostfile.side_by_side",),
    }.items()
    for rule in rules
}  # fmt: skip
"""Why a rule stays that speaks of none: its example shows what students do, and no wrong answer of the course does."""


if __name__ == "__main__":
    raise SystemExit(main())
