"""Similar submissions: tokens, fingerprints, pairs, shared lines, and `grade class similar` from end to end."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from random import Random

import pytest
from similar_changes import CHANGES

from grader.classroom.folder import init_class, read_class
from grader.classroom.records import AssignedExercise, Assignment, ClassSubmission, SharedLines, SubmittedFile
from grader.classroom.similar import (
    TOKENS,
    Work,
    compared,
    fingerprints,
    handed_out,
    ptx_tokens,
    shared_lines,
    source_tokens,
    weights_of,
)
from grader.classroom.similar_class import SubmittedText, identical
from grader.classroom.submissions import write_submissions
from grader.compile.toolchain import find_toolchain

ROOT = Path(__file__).parents[2]
ANSWERS = ROOT / "scripts/similar_answers/softmax_v1"
SOLUTION = (ROOT / "solutions/07_neural/softmax_v1.cu").read_text()
STUB = (ROOT / "exercises/07_neural/softmax_v1/softmax_v1.cu").read_text()
ONLINE = (ANSWERS / "online.cu").read_text()
WARPS = (ANSWERS / "warp_for_a_row.cu").read_text()
NEEDS_COMPILER = pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")


def words(source: str, **more: bool) -> str:
    return " ".join(token.text for token in source_tokens(source, **more))


def works(**texts: str) -> list[Work]:
    return [Work(name, name, source_tokens(text)) for name, text in texts.items()]


# -------------------------------------------------------------------------------------------------------------- tokens


def test_names_numbers_comments_braces_and_kinds_of_integers_do_not_count() -> None:
    one = "__global__ void k(const float* x, int n) { unsigned long long i = threadIdx.x; if (i < n) { x[i] = 2.5f; } }"
    other = (
        "// mine\n__global__ void kern(float *data, long count)\n{\n"
        "  auto t = threadIdx . x;\n  if (t < count) data[t] = 7;}"
    )
    assert (
        words(one)
        == words(other)
        == ("__global__ void v ( float * v , int v ) int v = threadIdx.x ; if ( v < v ) v [ v ] = 0 ;")
    )


def test_tokens_have_the_lines_of_the_source() -> None:
    source = "#include <x.h>\n/* two\nlines */ int a;\n#define N \\\n  3\nfloat b;"
    assert [(token.text, token.line) for token in source_tokens(source)] == [
        ("int", 3), ("v", 3), (";", 3), ("define", 4), ("v", 4), ("0", 5), ("float", 6), ("v", 6), (";", 6),
    ]  # fmt: skip


def test_a_host_file_is_read_as_python() -> None:
    assert words("def setup(x):  # it's 3\n    return x['a'] + 1", python=True) == "def v ( v ) : return v [ s ] + 0"


def test_ptx_is_read_without_registers_labels_and_directives() -> None:
    ptx = """
.visible .entry k(.param .u64 k_param_0) {
 .reg .b32 %r<4>;
 .loc 1 12 5
 ld.param.u64 %rd1, [k_param_0];
 .loc 2 900 1, function_name $L, inlined_at 1 13 2
 mov.u32 %r1, %tid.x;
$L__BB0_1:
 @%p1 bra $L__BB0_2;
}
 .file 1 "/tmp/submission.cu"
 .file 2 "/usr/include/math.h"
"""
    assert [(token.text, token.line) for token in ptx_tokens(ptx, "submission.cu")] == [
        ("ld.param.u64 %rd,m", 12), ("mov.u32 %r,%tid.x", 12), ("@bra m", 12),
    ]  # fmt: skip


# ---------------------------------------------------------------------------------------------------------- the pairs


def test_a_shared_run_of_the_guaranteed_length_leaves_a_shared_fingerprint() -> None:
    run = "a = b * 3; while (c < d) { e[f] += g; }"
    tokens = source_tokens(run)
    assert len(tokens) >= TOKENS.gram + TOKENS.window - 1
    one = source_tokens("x = y / z - q(w); " + run + " return h ? i : j;")
    other = source_tokens("for (;;) { k(l, m, n); } " + run + " p[0] = p[1] | p[2] & p[3];")
    assert fingerprints(one, TOKENS) & fingerprints(other, TOKENS)


def test_what_was_handed_out_leaves_no_fingerprint() -> None:
    given = handed_out([source_tokens(STUB)], TOKENS)
    assert fingerprints(source_tokens(STUB), TOKENS, given) == frozenset()
    assert fingerprints(source_tokens(SOLUTION), TOKENS, given)


def test_a_renamed_and_reformatted_copy_is_found_and_independent_answers_are_not() -> None:
    given = handed_out([source_tokens(STUB)], TOKENS)
    copy = CHANGES["reformatted"](CHANGES["renamed"](ONLINE, Random(1)), Random(1))
    found = compared("softmax_v1", works(ada=ONLINE, bob=copy, eve=SOLUTION, kim=WARPS), given, TOKENS)
    assert [(pair.first, pair.second, pair.similarity, pair.by) for pair in found.pairs] == [
        ("ada", "bob", 1.0, "tokens")
    ]
    assert found.too_small == ()


def test_a_student_is_not_compared_with_themself() -> None:
    again = [Work("ada", f"ada/{number}", source_tokens(ONLINE)) for number in (1, 2)]
    assert compared("softmax_v1", again, frozenset(), TOKENS).pairs == ()


def test_small_submissions_are_named_and_not_compared() -> None:
    small = "__global__ void k(float* x) { x[threadIdx.x] = 1; }"
    assert compared("k", works(ada=small, bob=small), frozenset(), TOKENS).too_small == ("ada", "bob")


def test_the_same_file_of_several_students_is_one_group_and_what_was_handed_out_is_none(tmp_path) -> None:
    texts = [(name, text) for text in ("same", "stub") for name in ("ada", "bob", "eve")] + [("kim", "other")]
    made = [SubmittedText(submitted(tmp_path, name, text), text) for name, text in texts]
    twice = SubmittedText(replace(made[0].submission, number=2), "same")
    assert identical([*made, twice], {"stub"}) == (tuple(one.key for one in made[:3]),)


def test_what_many_students_have_weighs_less() -> None:
    class_of_three = works(ada=ONLINE, bob=ONLINE, kim=WARPS)
    prints = {work.key: fingerprints(work.tokens, TOKENS) for work in class_of_three}
    weights = weights_of(class_of_three, prints)
    rare, common = next(iter(prints["kim"] - prints["ada"])), next(iter(prints["ada"] - prints["kim"]))
    assert weights[rare] > weights[common] > 0


def test_shared_lines_are_named_in_both_files() -> None:
    body = "  float s = 0;\n  for (int i = 0; i < n; ++i)\n    s += x[i] * y[i];\n  out[0] = s;\n"
    one = source_tokens("\n" + body)
    other = source_tokens("// moved\n\n\nfloat q(float);\n" + body)
    assert shared_lines(one, other, frozenset(), TOKENS) == (SharedLines((2, 5), (5, 8)),)


def test_a_text_that_repeats_itself_is_compared_in_bounded_time() -> None:
    tokens = source_tokens("x = y + 1;\n" * 3_000)
    assert len(fingerprints(tokens, TOKENS)) < 20
    assert len(shared_lines(tokens, tokens, frozenset(), TOKENS)) == 1


# ---------------------------------------------------------------------------------------------------------- the command


def submitted(folder: Path, student: str, text: str, exercise: str = "softmax_v1") -> ClassSubmission:
    path = folder / "submissions" / student / f"{exercise}.cu"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    file = SubmittedFile(str(path.relative_to(folder)), sha256(text.encode()).hexdigest())
    return ClassSubmission(student, exercise, 1, (file,))


@NEEDS_COMPILER
def test_the_command_finds_copies_by_tokens_and_by_ptx_and_writes_the_page(run, tmp_path) -> None:
    folder = tmp_path / "week5"
    exercises = (AssignedExercise("softmax_v1"), AssignedExercise("vector_add"))
    init_class(folder, Assignment("week5", "Week <5>", exercises))
    add = (ROOT / "solutions/01_basics/vector_add.cu").read_text()
    renamed = CHANGES["renamed"](ONLINE, Random(1))
    write_submissions(folder, "week5", [
        submitted(folder, "ada", ONLINE), submitted(folder, "bob", renamed), submitted(folder, "kim", SOLUTION),
        submitted(folder, "lee", CHANGES["macros"](CHANGES["other arithmetic"](SOLUTION, Random(1)), Random(1))),
        submitted(folder, "<b>eve", "</pre><script>alert(1)</script>"), submitted(folder, "max", WARPS),
        submitted(folder, "ada", add, "vector_add"), submitted(folder, "bob", add, "vector_add"),
    ])  # fmt: skip
    code, out, err = run("class", "similar", folder, "--json")
    assert (code, err) == (0, "")
    softmax, vector_add = json.loads(out)["exercises"]
    pairs = {(pair["first"].split("/")[0], pair["second"].split("/")[0]): pair["by"] for pair in softmax["pairs"]}
    assert pairs == {("ada", "bob"): "tokens", ("kim", "lee"): "ptx"}
    assert [key.split("/")[0] for key in softmax["too_small"]] == ["<b>eve"]
    assert len(vector_add["too_small"]) == vector_add["submissions"] == 2
    assert [[key.split("/")[0] for key in group] for group in vector_add["identical"]] == [["ada", "bob"]]
    assert {(pair.exercise, pair.by) for pair in read_class(folder).similar} == {
        ("softmax_v1", "tokens"), ("softmax_v1", "ptx"), ("vector_add", "tokens"),
    }  # fmt: skip
    page = (folder / "report/similar.html").read_text()
    assert "Week &lt;5&gt;" in page
    assert "<script" not in page
    assert "struct Pair" in page
    assert "<b>The same file</b>, byte for byte: ada and bob." in page
    code, out, _ = run("class", "similar", folder, "--exercise", "vector_add")
    assert code == 0
    assert "all too small to compare" in out
    assert "the same file: ada and bob" in out
    assert "Close is not copied" in out
    assert len(read_class(folder).similar) == 3  # what is known of the other exercise stays
