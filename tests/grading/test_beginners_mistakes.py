"""Mistakes that beginners make in the course's exercises: what is said knows the cause, or is silent."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grader.api import grade
from grader.backends.base import CaseRun, Execution
from grader.backends.sim.session import SimSession
from grader.catalog.exercises import load_catalog
from grader.compile.toolchain import find_toolchain
from grader.dev.grading import request
from grader.grading.grade import grade as graded
from tests.grading.requests import changed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed"),
]

LAUNCHES = ("// launch ", "// passes ", "// scratch ", "// zero ", "// constant ")


def edited(exercise: str, *pairs: tuple[str, str]) -> str:
    """The exercise's solution without its comment lines, with the last place of each old text changed."""
    solution = load_catalog([]).find(exercise).solution
    assert solution is not None
    lines = solution.read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.strip().startswith("//") or line.startswith(LAUNCHES))
    for old, new in pairs:
        before, found, after = text.rpartition(old)
        assert found, f"{exercise} has no {old!r}"
        text = before + new + after
    return text


@pytest.mark.parametrize(
    ("exercise", "old", "new", "word", "rule", "says"),
    [
        # An index, a bound, a pitch.
        ("vector_add", "    if (i < n)\n", "", "out_of_bounds", "bounds.length_of_the_array", "compare the index"),
        ("vector_add", "if (i < n)", "if (i > n) return;", "out_of_bounds", "bounds.one_too_many", "i >= n"),
        ("vector_add", "int i = ", "short i = ", "out_of_bounds",
         "extents.variable_too_short_for_the_grid", "an `int`"),
        ("vector_add", "const float* a", "const double* a", "out_of_bounds",
         "extents.type_of_the_array", "const float* a"),
        ("hello_index", "if (x < width && y < height)", "if (x <= width && y < height)", "out_of_bounds",
         "bounds.one_too_many", "x < width"),
        ("hello_index", "if (x < width && y < height)", "if (x < width)", "out_of_bounds",
         "bounds.row_or_column_that_nothing_bounds", "its row `y`"),
        ("saxpy_grid_stride", "i < n; i += step", "i <= n; i += step", "out_of_bounds", "bounds.one_too_many", "i < n"),
        ("transpose_v1", "out[c * rows + r]", "out[c * cols + r]", "out_of_bounds", "bounds.length_of_a_row", "`rows`"),
        ("transpose_v4", "out[(c + k) * rows + r]", "out[(c + k) * cols + r]", "out_of_bounds",
         "bounds.length_of_a_row", "`rows`"),
        ("transpose_v2", "        if (r < rows && c + k < cols)\n", "", "out_of_bounds",
         "bounds.row_or_column_that_nothing_bounds", "its row `c + k` or its column `r`"),
        ("transpose_v2", "if (r < rows && c + k < cols)", "if (c + k < cols)", "out_of_bounds",
         "bounds.row_or_column_that_nothing_bounds", "Nothing compares its column `r`"),
        ("transpose_v2", "r < rows && c + k", "r < rows || c + k", "out_of_bounds",
         "bounds.all_must_be_inside", "`&&`"),
        ("sgemm_v1", "row >= m || col", "row >= m && col", "out_of_bounds", "bounds.all_must_be_inside", "`||`"),
        ("sgemm_v3", "row < m && l0", "l0", "out_of_bounds", "bounds.row_or_column_that_nothing_bounds", "`row`"),
        ("sgemm_v3", "row < m && l0", "row <= m && l0", "out_of_bounds", "bounds.one_too_many", "`row < m`"),
        ("sgemm_v3", "A[row * k", "A[row * n", "out_of_bounds", "bounds.length_of_a_row", "how long is a row of A"),
        ("coalescing_offset", "p < packs", "p <= packs", "out_of_bounds", "extents.wide_access",
         "16 bytes are 4 elements"),
        ("sgemm_v1", "l < k;", "l <= k;", "out_of_bounds", "bounds.one_too_many", "l < k"),
        ("sgemm_v1", "row >= m ||", "row > m ||", "out_of_bounds", "bounds.one_too_many", "row >= m"),
        ("softmax_v1", "(size_t)blockIdx.x * cols;\n    float", "(size_t)threadIdx.x * cols;\n    float",
         "out_of_bounds", "bounds.pointer_into_the_array", "begins at"),
        ("igemm_dp4a", "+ c * CHUNK;\n        round_bytes = (size_t)ROUND * k;\n        to = place(line, c);\n"
         "        lines = all_lines - first - line;\n        left = k - c * CHUNK;",
         "+ c;\n        round_bytes = (size_t)ROUND * k;\n        to = place(line, c);\n"
         "        lines = all_lines - first - line;\n        left = k - c;",
         "out_of_bounds", "extents.wide_access", "multiple of 16"),
        ("reduce_v1", "partial[t + s]", "partial[i + s]", "out_of_bounds",
         "extents.index_made_of_the_block", "blockIdx"),
        ("reduce_v1", "partial[t] = i < m", "partial[i] = i < m", "out_of_bounds", "extents.index_in_the_whole_grid",
         "threadIdx"),
        ("reduce_v3", "        if (t < s)\n", "", "out_of_bounds", "bounds.all_threads_add", "a partner in this step"),
        ("reduce_v4", "if (j < m)\n        ", "", "out_of_bounds", "bounds.length_of_the_array", "compare the index"),
        ("vector_add", "if (i < n)", "if (i < n);", "out_of_bounds", "extents.condition_of_nothing", "`if (i < n)`"),
        ("vector_add", "if (i < n)", "if (i < n) return;", "out_of_bounds", "bounds.guard_turned_round", "`i >= n`"),
        ("coalescing_stride", "if (first + k * step < n)", "if (first < n)", "out_of_bounds",
         "bounds.condition_lets_it_through", "which is `first + k * step`"),
        ("reduce_v8", "i + 3 * threads < m4;", "i < m4;", "out_of_bounds", "extents.wide_access",
         "but the access is at `i + threads`"),
        ("hgemm_wmma_v1", "row * k + i, k)", "row * k + i, n)", "out_of_bounds", "fragments.tile_in_the_matrix",
         "its rows are `n` elements apart"),
        # Who stores, and when.
        ("coalescing_offset", "min(int((8 - (size_t)in / 4 % 8) % 8), cols)", "(8 - (size_t)in / 4 % 8) % 8", "race",
         "overlaps.same_index_in_two_blocks", "the index `c`"),
        ("transpose_v4", "k < TILE;", "k <= TILE;", "race", "overlaps.same_index_in_two_blocks", "the loop in line"),
        ("hello_index", "plane[y * width + x]", "plane[y * height + x]", "race",
         "overlaps.rows_that_overlap", "a row is `height` elements long"),
        ("transpose_v2", "out[(c + k) * rows + r]", "out[r * rows + c + k]", "race",
         "overlaps.rows_that_overlap", "`c + k` ends at"),
        ("reduce_v1", "dst[blockIdx.x]", "dst[0]", "race", "overlaps.one_element_of_all_blocks", "blockIdx.x"),
        ("transpose_v4", "    __syncthreads();\n", "", "race", "races.barrier_of_the_block", "__syncthreads()"),
        ("softmax_v1", "partial[tid] = value;\n    __syncthreads();", "partial[tid] = value;\n", "race",
         "races.barrier_of_the_block", "__syncthreads()"),
        ("hgemm_wmma_v1", "(blockIdx.x * blockDim.x + threadIdx.x)", "threadIdx.x", "race",
         "fragments.tile_of_another_warp", "a tile of its own"),
        ("hgemm_wmma_v1", "wmma::fill_fragment(sum, 0.0f);", "", "wrong",
         "outputs.variable_without_a_first_value", "`wmma::fill_fragment(sum, 0.0f)`"),
        ("reduce_v8", "float sum = 0.0f;", "float sum;", "wrong",
         "outputs.variable_without_a_first_value", "`sum` has no value yet"),
        ("softmax_v1", "out[c] =", "y[c] =", "race", "overlaps.one_index_in_all_blocks", "the same in all blocks"),
        ("reduce_v4", "if (t == 0)\n        dst[blockIdx.x] = partial[0]", "dst[blockIdx.x] = partial[t]", "race",
         "overlaps.one_index_for_all_threads", "`blockIdx.x` is the same"),
        ("reduce_v9", "    v = warp_sum(v);\n    if (lane == 0)\n",
         "    if (lane == 0)\n        v = warp_sum(v);\n    if (lane == 0)\n",
         "race", "faults.whole_warps_make_the_call", "only where `lane == 0`"),
        ("softmax_v3", "float sum = 0.0f;\n#pragma unroll\n    for (int k = 0; k < MINE; ++k)",
         "float sum = 0.0f;\n    int mine = (cols + 127) / 128 * 4;\n    for (int k = 0; k < mine; ++k)", "technique",
         "techniques.loop_that_cannot_be_unrolled", "known only at run time"),
        ("softmax_v1", "    sum = block_sum", "    if (threadIdx.x == 0)\n        sum = block_sum", "timeout",
         "faults.same_call_for_all", "block_sum waits at a barrier"),
        ("transpose_v1", "grid=(cdiv(rows, 32), cdiv(cols, 8))", "grid=(cdiv(cols, 32), cdiv(rows, 8))",
         "wrong", "outputs.axes_that_the_launch_exchanges", "exchange .x and .y in the kernel"),
        ("sgemm_v1", "blockIdx.x * blockDim.x + threadIdx.x;\n    int col = blockIdx.y * blockDim.y + threadIdx.y;",
         "blockIdx.y * blockDim.y + threadIdx.y;\n    int col = blockIdx.x * blockDim.x + threadIdx.x;",
         "wrong", "outputs.axes_that_the_launch_exchanges", "`row` counts along .y up to `m`"),
        ("sgemm_v2", "grid=(cdiv(n, 32), cdiv(m, 8))", "grid=(cdiv(m, 32), cdiv(n, 8))",
         "wrong", "outputs.axes_that_the_launch_exchanges", "the two directions of the launch"),
        ("hello_index", "    if (x < width && y < height)\n        plane[y * width + x] = 1000 * y + x;",
         "    // YOUR CODE: where in plane?", "wrong", "outputs.kernel_without_code",
         "index_2d does not store anything into plane yet"),
        ("sgemm_v1", "B[l * n + col]", "B[l * k + col]", "wrong", "outputs.row_as_long_as_there_are_rows",
         "how long is a row of B"),
        ("transpose_v1", "x[r * cols + c]", "x[r * rows + c]", "wrong", "outputs.row_as_long_as_there_are_rows",
         "`c` ends at `cols`"),
        ("transpose_v2", "grid=(cdiv(cols, TILE), cdiv(rows, TILE))", "grid=(cdiv(rows, TILE), cdiv(cols, TILE))",
         "wrong", "outputs.threads_that_end_before_the_matrix", "2 × 1 blocks of 32 × 8 threads, and column 32"),
        ("softmax_v1", "grid=rows", "grid=cdiv(rows, BLOCK)", "wrong",
         "outputs.threads_that_end_before_the_matrix", "starts 1 block"),
        ("transpose_v2", "#pragma unroll\n    for (int k = 0; k < TILE; k += STEP)\n        if (r + k",
         "    if (r >= rows || c >= cols)\n        return;\n    for (int k = 0; k < TILE; k += 8)\n        if (r + k",
         "wrong",
         "outputs.return_before_work_for_others", "return in line"),
        ("saxpy_grid_stride", "saxpy(x, y, out, ", "saxpy(x, out, y, ", "wrong",
         "slips.arguments_in_another_order", "passes `out` for the parameter `y`"),
        ("vector_add", "grid=cdiv(n, 256)", "grid=1", "wrong",
         "outputs.grid_that_ends_before_the_array", "256 threads"),
        ("vector_add", "int i = ", "unsigned short i = ", "wrong", "outputs.variable_that_begins_again", "65535"),
        # Scans, tickets, scratch arrays, pointers into an array.
        ("scan_block", "blockIdx.x * TILE;", "blockIdx.x * blockDim.x;", "race", "overlaps.two_indices_that_meet",
         "where a block begins"),
        ("scan_three_phase", "// launch scan_sums(sums, cdiv(n, TILE)): grid=1 block=SCAN_THREADS\n", "", "wrong", "",
         "`grade show"),
        ("histogram", "        sums[b] = 0;\n", "        sums[b] = 0;\n    counts[threadIdx.x] = 0;\n", "race",
         "races.number_before_the_atomics", "`// zero counts`"),
        ("radix_sort_pass", "uint32[16 * cdiv(n, TILE)]", "uint32[cdiv(n, TILE)]", "out_of_bounds",
         "bounds.condition_lets_it_through", "`// scratch`"),
        ("index_add", "int[rows + 1]", "int[rows]", "out_of_bounds", "bounds.length_of_the_array", "`// scratch`"),
        ("bitonic_sort", "block=THREADS", "block=cols", "race", "faults.warp_that_is_not_whole", "no lane 1"),
        ("attention_naive", "i >= n_q || j >= n_k", "i >= n_q && j >= n_k", "out_of_bounds",
         "bounds.all_must_be_inside", "`||`"),
        ("flash_decoding", "grid=seqs * kv_heads * group", "grid=seqs * kv_heads", "wrong", "", "`grade show"),
        ("layernorm_backward", "blockIdx.x * 2 * packs;", "blockIdx.x * packs;", "race",
         "overlaps.two_indices_that_meet", "`mine[packs + i]`"),
        ("max_pool", "int rows = h / 2, cols = w / 2;", "int rows = (h + 1) / 2, cols = (w + 1) / 2;", "out_of_bounds",
         "bounds.bound_lets_it_through", "row * cols + k"),
    ],
)  # fmt: skip
def test_the_hint_names_the_cause(exercise: str, old: str, new: str, word: str, rule: str, says: str) -> None:
    verdict = grade(exercise, source=edited(exercise, (old, new)), backend="sim", seed=5)
    first = verdict.diagnostics[0]
    assert (verdict.verdict, first.rule) == (word, rule), first
    assert says in verdict.next_step or says in first.hint, verdict.next_step


def test_a_launch_that_is_given_is_not_blamed_for_tiles_that_go_elsewhere() -> None:
    swapped = (
        ("    c = blockIdx.x * TILE + threadIdx.y;", "    c = blockIdx.y * TILE + threadIdx.y;"),
        ("    r = blockIdx.y * TILE + threadIdx.x;", "    r = blockIdx.x * TILE + threadIdx.x;"),
    )
    verdict = grade("transpose_v2", source=edited("transpose_v2", *swapped), backend="sim", seed=5)
    first = verdict.diagnostics[0]
    assert (verdict.verdict, first.rule) == ("wrong", ""), first
    assert "(row 0, column 32) at rows=33, cols=1" in first.message  # a row of out has `rows` elements


def test_a_nan_from_exponentials_is_told_with_the_line_that_overflows() -> None:
    bare = [(f"{to} expf(in[c] - largest)", f"{to} expf(in[c])") for to in ("sum +=", "out[c] =")]
    verdict = grade("softmax_v1", source=edited("softmax_v1", *bare), backend="sim", seed=5)
    assert (verdict.verdict, verdict.diagnostics[0].rule) == ("wrong", "outputs.exponential_that_overflows")
    assert "takes `expf(in[c])` of a value as it is" in verdict.next_step
    kept = grade("softmax_v1", source=edited("softmax_v1", *bare[:1]), backend="sim", seed=5)
    assert kept.diagnostics[0].rule == ""


def test_an_element_of_a_tile_has_an_index_for_each_dimension() -> None:
    without = edited("transpose_v2", ("    __syncthreads();\n", ""))
    first = grade("transpose_v2", source=without, backend="sim", seed=5).diagnostics[0]
    assert first.indices[0] * 32 + first.indices[1] == first.index
    assert f"race on shared tile[{first.indices[0]}][{first.indices[1]}]: " in first.message
    beyond = edited("sgemm_v3", ("l < TILE; ++l", "l <= TILE; ++l"))
    first = grade("sgemm_v3", source=beyond, backend="sim", seed=5).diagnostics[0]
    assert "has 32 × 32 elements" in first.message
    one = grade("reduce_v3", source=edited("reduce_v3", ("s > 0; s /= 2", "s >= 0; s /= 2")), backend="sim", seed=5)
    assert all(found.indices == () for found in one.diagnostics)


BOTH_LOAD = """{
        unsigned word;
        if (i / 8 % 2 == 0)
            word = decode_a(x[i]);
        else
            word = decode_b(x[i]);"""


@pytest.mark.parametrize(
    ("exercise", "old", "new", "rule", "marked"),
    [
        ("occupancy", "min(CHUNK, m - start)", "CHUNK", "bounds.bound_lets_it_through", "chunk[j] = y[start + j];"),
        ("reduce_v1", "t % (2 * s) == 0", "t % 2 * s == 0", "bounds.condition_lets_it_through",
         "partial[t] += partial[t + s];"),
        ("divergence", "if (i < n) {\n        unsigned word = x[i];", BOTH_LOAD, "bounds.length_of_the_array",
         "word = decode_a(x[i]);"),
    ],
)  # fmt: skip
def test_the_marked_line_is_that_of_the_load_and_not_the_one_before(
    exercise: str, old: str, new: str, rule: str, marked: str
) -> None:
    """The line before has the loop, or the condition above which the compiler moves the load of both branches."""
    source = edited(exercise, (old, new))
    first = grade(exercise, source=source, backend="sim", seed=5).diagnostics[0]
    assert (first.kind, first.rule) == ("out_of_bounds", rule)
    assert first.line is not None
    assert source.splitlines()[first.line - 1].strip() == marked


@pytest.mark.parametrize(
    ("exercise", "old", "new", "word", "says"),
    [
        ("vector_add", " + threadIdx.x;", ";", "wrong", "both compute the same index"),
        ("vector_add", "blockIdx.x * blockDim.x + ", "", "wrong", "both compute the same index"),
        ("vector_add", "c[i] = ", "c[i] += ", "wrong", "Is `=` meant"),
        ("sgemm_v1", "        sum += A[row * k + l] * B[l * n + col];\n\n    C[row * n + col] = sum;",
         "        C[row * n + col] += A[row * k + l] * B[l * n + col];", "wrong",
         "add up in a variable that starts at 0"),
        ("reduce_v8", "dst[blockIdx.x] = partial[0];", "atomicAdd(dst, partial[0]);", "wrong", "a `// zero` line"),
        ("coalescing_stride", "int step = blockDim.x;", "int step;", "wrong", "the compiler's warning"),
        ("vector_add", "    if (i < n)\n",
         "    if (i < n && i % 2)\n        c[i - 1] = a[i - 1] + b[i - 1];\n    else if (i < n)\n", "wrong",
         "how far it steps"),
        ("reduce_v4", "grid=cdiv(m, 512)", "grid=cdiv(m, 1024)", "wrong", "`by` in line"),
        ("index_add", "// zero counts\n", "", "out_of_bounds", "a `// zero` line"),
        ("index_add", "starts, rows): grid=cdiv(rows", "starts, rows): grid=cdiv(n", "out_of_bounds", "of starts"),
        ("softmax_v1", "block=BLOCK", "block=128", "wrong", "blocks of 128 threads"),
        ("softmax_v1", "    float largest", "    if (threadIdx.x >= cols) return;\n    float largest", "wrong",
         "Threads that return in line"),
        ("vector_add", "blockIdx.x * blockDim.x", "blockIdx.x * gridDim.x", "wrong", "both compute the same index"),
        ("saxpy_grid_stride", "i < n; i += step", "i < n; i += 1", "timeout", "both compute the same index"),
        ("reduce_v1", "partial[t] = i < m ? src[i] : 0.0f;", "if (i >= m) return;\n    partial[t] = src[i];", "wrong",
         "Threads that return in line"),
    ],
)  # fmt: skip
def test_the_next_step_begins_with_the_warning_that_explains_it(
    exercise: str, old: str, new: str, word: str, says: str
) -> None:
    verdict = grade(exercise, source=edited(exercise, (old, new)), backend="sim", seed=5)
    assert verdict.verdict == word
    assert verdict.next_step.startswith("Begin with the ")
    assert says in verdict.next_step


def test_work_that_every_block_does_again_ends_by_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """All its cases together are some seconds of work, however long the machine takes for them."""
    runs: list[tuple[CaseRun, Execution]] = []
    run = SimSession.run

    def watched(session: SimSession, case: CaseRun) -> Execution:
        runs.append((case, run(session, case)))
        return runs[-1][1]

    monkeypatch.setattr(SimSession, "run", watched)
    source = edited("saxpy_grid_stride", ("i < n; i += step", "i < n; i += blockDim.x"))
    verdict = grade("saxpy_grid_stride", source=source, backend="sim", seed=5)
    assert (verdict.verdict, verdict.diagnostics[0].kind) == ("timeout", "instruction_budget")
    assert verdict.diagnostics[0].cause == "case"
    assert verdict.next_step.startswith(
        "Begin with the warning on line 24: two threads store to the same element of out"
    )
    assert verdict.next_step.endswith("look at where a thread's index begins, and how far it steps.")
    assert [execution.failure for _, execution in runs if execution.failure] == ["timeout"]
    assert sum(execution.spent for _, execution in runs) < 250_000_000


def test_slices_that_all_go_through_the_whole_sum_never_wait_for_the_clock() -> None:
    """Wrong where a size is small enough to end, else beyond the budget."""
    source = edited("splitk_gemm", ("last = steps * (slice + 1) / slices;", "last = steps;\n        first = 0;"))
    verdict = grade("splitk_gemm", source=source, backend="sim", seed=5)
    assert verdict.verdict in ("wrong", "timeout")
    assert verdict.diagnostics[0].kind in ("wrong", "instruction_budget")


@pytest.mark.parametrize(
    ("exercise", "old", "new"),
    [
        ("sgemm_v1", "A[row * k + l]", "A[l * m + row]"),
        ("vector_add", "blockIdx.x * blockDim.x", "blockIdx.x * 1024"),
        ("reduce_v4", "blockIdx.x * (2 * blockDim.x)", "blockIdx.x * blockDim.x"),
    ],
)
def test_of_a_wrong_value_that_shows_no_cause_none_is_named(exercise: str, old: str, new: str) -> None:
    verdict = grade(exercise, source=edited(exercise, (old, new)), backend="sim", seed=5)
    assert (verdict.verdict, verdict.diagnostics[0].hint) == ("wrong", "")


def test_a_pass_shows_the_figures_that_were_graded_and_what_no_gpu_means() -> None:
    verdict = grade("saxpy_grid_stride", source=edited("saxpy_grid_stride"), backend="sim", seed=5)
    assert verdict.passed
    assert "sector efficiency is 1 (at least 0.99)" in verdict.stage("technique").detail
    assert verdict.stage("fast").detail.endswith("only the time shows two loads of each array in flight")


def test_what_nothing_wrote_is_a_warning_where_no_output_depends_on_it(tmp_path: Path) -> None:
    entry, path = load_catalog([]).find("splitk_gemm"), tmp_path / "splitk_gemm.cu"
    path.write_text(edited("splitk_gemm", ("    if (i < count) {\n", "    {\n")), encoding="utf-8")
    size = {"m": 33, "n": 36, "k": 260}
    small = replace(entry.exercise, small=(size,), simulated=size, secret={}, technique=())
    verdict = graded(changed(request(entry, path, "sim"), exercise=small))
    assert verdict.verdict == "pass"
    (warning,) = [found for found in verdict.diagnostics if found.severity == "warning"]
    assert (warning.kind, warning.array) == ("unused_read", "partial")
    assert "only what was written may be read" in warning.message
