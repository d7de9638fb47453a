"""Trusted kernels for timed launches: inputs made on the device, outputs checked there. Plain data; imports nothing.

    generate.cu                          inputs from the secret key, and "is this input unchanged?"
    judge.cuh + check_*.cu               timed outputs against float64, on the device
    matmul_*.cuh                         the element types and B's layout, in front of check_matmul.cu
    attention_*.cuh                      the element types in front of check_attention.cu
    saxpy_*, fields_*, softmax_*.cuh     the forms of an exercise, in front of its check
    cache_*.cuh                          where keys and values lie, in front of check_decoding.cu

A `Check` is looked up by the exercise's ``checker``, else by its oracle's name. Its ``sources`` are read from this
folder, joined in order and compiled as one file. Its steps run after the timed launch has finished, on one stream:

    fill the scratch arrays ─▶ findings = {0, ~0, 0} ─▶ steps ─▶ read findings ─▶ bad? run `explain`, read explanation

An argument is the name of

    an array, or a scratch array    its address
    ``findings``, ``explanation``   the address of 24 or 16 bytes, see judge.cuh
    a size of the case              a 64-bit integer
    a scalar of the exercise        a double
    ``relative``, ``absolute``      a double each: |got - expected| <= absolute + relative·|expected|

or a decimal number, which is a 64-bit integer. The chain's bound of a `Tolerance` belongs to ``absolute``; both are 0
where the inputs are exact. Grids are expressions over the sizes and ``cdiv``. A check trusts its inputs: run the
``unchanged_…`` kernels first, or make them anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """One launch of a trusted kernel: one-dimensional, no dynamic shared memory."""

    kernel: str
    args: tuple[str, ...]
    grid: str
    block: int = 256


@dataclass(frozen=True)
class Scratch:
    """An array of the check's own. ``integers``: bounds of random values (generate_exact), drawn anew each time."""

    name: str
    count: str
    dtype: str = "float64"
    integers: tuple[int, int] | None = None


@dataclass(frozen=True)
class Check:
    """How the timed output of one task is checked; ``explain`` runs only when something is bad."""

    sources: tuple[str, ...]
    steps: tuple[Step, ...]
    explain: Step
    scratch: tuple[Scratch, ...] = ()


GENERATOR = "generate.cu"
"""Kernels ``generate_{form}_{type}`` and ``unchanged_{form}_{type}``; forms and parameters are listed in the file."""

GENERATED_TYPES: Mapping[str, str] = {
    "float16": "f16", "float32": "f32", "float64": "f64",
    "int8": "i8", "uint8": "u8", "int32": "i32", "uint32": "u32", "int64": "i64",
}  # fmt: skip
"""dtype of an `Array` -> the type in the kernel's name. Integer dtypes have ``exact`` kernels only; int32
has ``permutation`` and ``rising``, too."""

_BOUNDS = ("relative", "absolute", "findings")
_FOUND = ("findings", "explanation")
_STRIDED = ("n1", "n2", "n3", "a0", "a1", "a2", "a3", "b0", "b1", "b2", "b3")


def _matrix_product(types: str) -> Check:
    """C = A · B with the elements that the file ``types`` defines: types of A, B and C, and the layout of B."""
    return Check(
        sources=("judge.cuh", types, "check_matmul.cu"),
        steps=(
            Step("project", ("B", "bits", "w", "n", "k"), grid="k"),
            Step("check_projection", ("A", "C", "bits", "w", "n", "k", *_BOUNDS), grid="m"),
        ),
        explain=Step("explain_projection", ("A", "B", "C", "n", "k", "relative", "absolute", *_FOUND), grid="1"),
        scratch=(Scratch("bits", "n", integers=(0, 1)), Scratch("w", "k")),
    )


def _saxpy(form: str) -> Check:
    """An output for each element of x and y, as the file ``form`` computes it."""
    return Check(
        sources=("judge.cuh", form, "check_saxpy.cu"),
        steps=(Step("check_saxpy", ("x", "y", "out", "alpha", "n", *_BOUNDS), grid="min(cdiv(n, 256), 8192)"),),
        explain=Step("explain_saxpy", ("x", "y", "alpha", "n", *_FOUND), grid="1", block=1),
    )


def _fields(form: str, given: str, made: str) -> Check:
    """Records of four fields, taken apart or joined; the file ``form`` says where each number comes from."""
    return Check(
        sources=("judge.cuh", form, "check_fields.cu"),
        steps=(Step("check_fields", (given, made, "n", *_BOUNDS), grid="min(cdiv(4*n, 256), 8192)"),),
        explain=Step("explain_fields", (given, "n", *_FOUND), grid="1", block=1),
    )


def _softmax(form: str) -> Check:
    """Softmax of each row, as the file ``form`` shows it."""
    return Check(
        sources=("judge.cuh", form, "check_softmax.cu"),
        steps=(Step("check_rows", ("x", "y", "cols", *_BOUNDS), grid="rows"),),
        explain=Step("explain_rows", ("x", "cols", *_FOUND), grid="1"),
    )


def _decoding(form: str, table: str) -> Check:
    """Attention of one token for each sequence; the file ``form`` says where keys and values lie, with this table."""
    sizes = ("kv_heads", "group", "tokens")
    return Check(
        sources=("judge.cuh", form, "check_decoding.cu"),
        steps=(
            Step(
                "check_decoding",
                ("q", "k", "v", "lengths", table, "out", *sizes, *_BOUNDS),
                grid="seqs*kv_heads*group",
            ),
        ),
        explain=Step("explain_decoding", ("q", "k", "v", "lengths", table, *sizes, *_FOUND), grid="1"),
    )


def _rope(pairs: str) -> Check:
    """Pairs of each head turned by angles, paired as the file ``pairs`` says."""
    return Check(
        sources=("judge.cuh", pairs, "check_rope.cu"),
        steps=(Step("check_rope", ("x", "positions", "y", "heads", "dim", "base", *_BOUNDS), grid="tokens"),),
        explain=Step("explain_rope", ("x", "positions", "heads", "dim", "base", *_FOUND), grid="1", block=1),
    )


def _gelu_bias_dropout() -> Check:
    """Results and mask of dropout after GELU."""
    sizes = ("rows", "cols", "seed", "offset", "p")
    return Check(
        sources=("judge.cuh", "check_gelu_bias_dropout.cu"),
        steps=(
            Step("check_results", ("x", "bias", "y", *sizes, *_BOUNDS), grid="min(cdiv(rows*cols, 1024), 8192)"),
            Step("check_mask", ("mask", *sizes, "findings"), grid="min(cdiv(rows*cols, 8192), 8192)"),
        ),
        explain=Step("explain_result", ("x", "bias", *sizes, *_FOUND), grid="1", block=1),
    )


def _adamw() -> Check:
    """The new parameters and running means of AdamW."""
    given = ("p", "g", "m", "v")
    scalars = ("lr", "decay", "beta1", "beta2", "eps", "correction1", "correction2")
    return Check(
        sources=("judge.cuh", "check_adamw.cu"),
        steps=(
            Step(
                "check_adamw",
                (*given, "p_new", "m_new", "v_new", "n", *scalars, *_BOUNDS),
                grid="min(cdiv(n, 256), 8192)",
            ),
        ),
        explain=Step("explain_adamw", (*given, "n", *scalars, *_FOUND), grid="1", block=1),
    )


def _attention(types: str) -> Check:
    """Attention of each head, with the elements that the file ``types`` defines."""
    return Check(
        sources=("judge.cuh", types, "check_attention.cu"),
        steps=(
            Step("project_values", ("V", "bits", "w", "heads", "n_k", "d"), grid="cdiv(heads*n_k, 256)"),
            Step(
                "check_attention",
                ("Q", "K", "O", "bits", "w", "n_q", "n_k", "d", "causal", *_BOUNDS),
                grid="heads*cdiv(n_q, 8)",
            ),
        ),
        explain=Step(
            "explain_attention",
            ("Q", "K", "V", "O", "n_q", "n_k", "d", "causal", "relative", "absolute", *_FOUND),
            grid="1",
        ),
        scratch=(Scratch("bits", "d", integers=(0, 1)), Scratch("w", "heads*n_k")),
    )


CHECKS: Mapping[str, Check] = {
    "elementwise:add": Check(
        sources=("judge.cuh", "check_add.cu"),
        steps=(Step("check_add", ("a", "b", "c", "n", *_BOUNDS), grid="min(cdiv(n, 256), 8192)"),),
        explain=Step("explain_add", ("a", "b", *_FOUND), grid="1", block=1),
    ),
    "elementwise:saxpy": _saxpy("saxpy_plain.cuh"),
    "elementwise:saxpy_reversed": _saxpy("saxpy_reversed.cuh"),
    "elementwise:saxpy_clamped": _saxpy("saxpy_clamped.cuh"),
    "elementwise:calibrate": Check(
        sources=("judge.cuh", "check_calibrate.cu"),
        steps=(Step("check_calibrate", ("x", "out", "gain", "offset", "n", *_BOUNDS), grid="min(cdiv(n, 256), 8192)"),),
        explain=Step("explain_calibrate", ("x", "gain", "offset", *_FOUND), grid="1", block=1),
    ),
    "elementwise:remove_drift": Check(
        sources=("judge.cuh", "check_remove_drift.cu"),
        steps=(
            Step(
                "check_remove_drift",
                ("x", "out", "slope", "rows", "cols", *_BOUNDS),
                grid="min(cdiv(rows*cols, 256), 8192)",
            ),
        ),
        explain=Step("explain_remove_drift", ("x", "slope", "cols", *_FOUND), grid="1", block=1),
    ),
    "elementwise:add_relu": Check(
        sources=("judge.cuh", "check_add_relu.cu"),
        steps=(Step("check_add_relu", ("a", "b", "c", "n", *_BOUNDS), grid="min(cdiv(n, 256), 8192)"),),
        explain=Step("explain_add_relu", ("a", "b", *_FOUND), grid="1", block=1),
    ),
    "elementwise:strided_broadcast": Check(
        sources=("judge.cuh", "check_strided_broadcast.cu"),
        steps=(
            Step(
                "check_strided_broadcast",
                ("a", "b", "out", "n0", *_STRIDED, *_BOUNDS),
                grid="min(cdiv(n0*n1*n2*n3, 256), 8192)",
            ),
        ),
        explain=Step("explain_strided_broadcast", ("a", "b", *_STRIDED, *_FOUND), grid="1", block=1),
    ),
    "elementwise:swiglu": Check(
        sources=("judge.cuh", "check_swiglu.cu"),
        steps=(Step("check_swiglu", ("gate", "up", "out", "n", *_BOUNDS), grid="min(cdiv(n, 256), 8192)"),),
        explain=Step("explain_swiglu", ("gate", "up", *_FOUND), grid="1", block=1),
    ),
    "execution:hares": Check(
        sources=("judge.cuh", "check_hares.cu"),
        steps=(
            Step(
                "check_hares",
                ("hares", "foxes", "out", "h", "n", "steps", *_BOUNDS),
                grid="min(cdiv(n, 256), 8192)",
            ),
        ),
        explain=Step("explain_hares", ("hares", "foxes", "h", "steps", *_FOUND), grid="1", block=1),
    ),
    "execution:stars": Check(
        sources=("judge.cuh", "check_stars.cu"),
        steps=(
            Step(
                "check_stars",
                ("x", "y", "light", "out", "pitch", "sharp", "rows", "cols", "m", *_BOUNDS),
                grid="min(cdiv(rows*cols, 256), 8192)",
            ),
        ),
        explain=Step("explain_stars", ("x", "y", "light", "pitch", "sharp", "cols", "m", *_FOUND), grid="1", block=1),
    ),
    "execution:slew": Check(
        sources=("judge.cuh", "check_slew.cu"),
        steps=(Step("check_slew", ("x", "y", "rate", "rows", "cols", *_BOUNDS), grid="cdiv(rows, 32)", block=32),),
        explain=Step("explain_slew", ("x", "rate", "cols", *_FOUND), grid="1", block=1),
    ),
    "linear_attention:causal": Check(
        sources=("judge.cuh", "check_linear_attention.cu"),
        steps=(Step("check_states", ("Q", "K", "V", "O", "n", *_BOUNDS), grid="heads", block=64),),
        explain=Step("explain_states", ("Q", "K", "V", "n", *_FOUND), grid="1", block=64),
    ),
    "reduction:sum": Check(
        sources=("judge.cuh", "check_sum.cu"),
        steps=(
            Step("partial_sums", ("x", "n", "partial"), grid="1024"),
            Step("check_sum", ("partial", "1024", "out", *_BOUNDS), grid="1"),
        ),
        explain=Step("explain_sum", ("partial", "1024", "explanation"), grid="1"),
        scratch=(Scratch("partial", "1024"),),
    ),
    "reduction:dot": Check(
        sources=("judge.cuh", "check_dot.cu"),
        steps=(
            Step("partial_dots", ("x", "y", "n", "partial"), grid="1024"),
            Step("check_dot", ("partial", "1024", "out", *_BOUNDS), grid="1"),
        ),
        explain=Step("explain_dot", ("partial", "1024", "explanation"), grid="1"),
        scratch=(Scratch("partial", "1024"),),
    ),
    "reduction:argmax": Check(
        sources=("judge.cuh", "check_argmax.cu"),
        steps=(
            Step("best_of_blocks", ("x", "n", "nans", "values", "places"), grid="1024"),
            Step("check_argmax", ("nans", "values", "places", "1024", "index", *_BOUNDS), grid="1"),
        ),
        explain=Step("explain_argmax", ("nans", "values", "places", "1024", "explanation"), grid="1"),
        scratch=(Scratch("nans", "1024"), Scratch("values", "1024"), Scratch("places", "1024")),
    ),
    "scan:positive": Check(
        sources=("judge.cuh", "check_compaction.cu"),
        steps=(
            Step("count_pieces", ("x", "n", "pieces"), grid="4096"),
            Step("before_pieces", ("pieces", "4096"), grid="1"),
            Step("check_kept", ("x", "out", "count", "n", "pieces", *_BOUNDS), grid="4096"),
        ),
        explain=Step("explain_kept", ("x", "n", "pieces", "4096", *_FOUND), grid="1", block=1),
        scratch=(Scratch("pieces", "4097"),),
    ),
    "scan:inclusive": Check(
        sources=("judge.cuh", "check_scan.cu"),
        steps=(
            Step("piece_sums", ("x", "n", "pieces"), grid="4096"),
            Step("before_pieces", ("pieces", "4096"), grid="1"),
            Step("check_sums", ("x", "out", "n", "pieces", *_BOUNDS), grid="4096"),
        ),
        explain=Step("explain_sums", ("x", "n", "pieces", *_FOUND), grid="1"),
        scratch=(Scratch("pieces", "4096"),),
    ),
    "counting:histogram": Check(
        sources=("judge.cuh", "check_histogram.cu"),
        steps=(
            Step("partial_counts", ("x", "n", "partial"), grid="1024"),
            Step("check_counts", ("partial", "counts", "findings"), grid="256"),
        ),
        explain=Step("explain_count", ("partial", *_FOUND), grid="1"),
        scratch=(Scratch("partial", "256*1024"),),
    ),
    "counting:digit_pass": Check(
        sources=("judge.cuh", "check_digit_pass.cu"),
        steps=(
            Step("count_pieces", ("keys", "n", "shift", "pieces"), grid="256"),
            Step("before_pieces", ("pieces", "4096"), grid="1"),
            Step(
                "check_moved",
                ("keys", "values", "out_keys", "out_values", "n", "shift", "pieces", *_BOUNDS),
                grid="256",
            ),
        ),
        explain=Step("explain_moved", ("keys", "values", "n", "shift", "pieces", *_FOUND), grid="1", block=1),
        scratch=(Scratch("pieces", "16*256"),),
    ),
    "counting:index_add": Check(
        sources=("judge.cuh", "check_index_add.cu"),
        steps=(
            Step("clear_sums", ("sums", "rows"), grid="min(cdiv(64*rows, 256), 8192)"),
            Step("add_rows", ("x", "index", "n", "sums"), grid="min(cdiv(64*n, 256), 8192)"),
            Step("check_sums", ("sums", "out", "rows", *_BOUNDS), grid="min(cdiv(64*rows, 256), 8192)"),
        ),
        explain=Step("explain_sum_of_rows", ("sums", *_FOUND), grid="1", block=1),
        scratch=(Scratch("sums", "64*rows"),),
    ),
    "counting:topk": Check(
        sources=("judge.cuh", "check_largest.cu"),
        steps=(Step("check_largest", ("x", "values", "places", "rows", "cols", *_BOUNDS), grid="rows"),),
        explain=Step("explain_largest", ("x", "rows", "cols", *_FOUND), grid="1"),
    ),
    "sparse:spmv_csr": Check(
        sources=("judge.cuh", "check_spmv_csr.cu"),
        steps=(Step("check_sparse", ("offsets", "columns", "values", "x", "y", *_BOUNDS), grid="rows"),),
        explain=Step("explain_sparse", ("offsets", "columns", "values", "x", *_FOUND), grid="1"),
    ),
    "sparse:segmented_sum": Check(
        sources=("judge.cuh", "check_segmented_sum.cu"),
        steps=(Step("check_segments", ("x", "offsets", "out", *_BOUNDS), grid="segments"),),
        explain=Step("explain_segment", ("x", "offsets", *_FOUND), grid="1"),
    ),
    "layout:transpose": Check(
        sources=("judge.cuh", "check_transpose.cu"),
        steps=(
            Step("check_transpose", ("x", "out", "rows", "cols", *_BOUNDS), grid="min(cdiv(rows*cols, 256), 8192)"),
        ),
        explain=Step("explain_transpose", ("x", "rows", "cols", *_FOUND), grid="1", block=1),
    ),
    "layout:split_fields": _fields("fields_split.cuh", "particles", "planes"),
    "layout:join_fields": _fields("fields_joined.cuh", "planes", "particles"),
    "layout:regroup": Check(
        sources=("judge.cuh", "check_regroup.cu"),
        steps=(
            Step(
                "check_regroup",
                ("x", "planes", "merged", "columns", "rows", *_BOUNDS),
                grid="min(cdiv(96*rows, 256), 8192)",
            ),
        ),
        explain=Step("explain_regroup", ("x", "rows", *_FOUND), grid="1", block=1),
    ),
    "execution:decode": Check(
        sources=("judge.cuh", "check_decode.cu"),
        steps=(Step("check_decode", ("x", "out", "n", "rounds", *_BOUNDS), grid="min(cdiv(n, 256), 8192)"),),
        explain=Step("explain_decode", ("x", "rounds", *_FOUND), grid="1", block=1),
    ),
    "execution:distances": Check(
        sources=("judge.cuh", "check_distances.cu"),
        steps=(Step("check_distances", ("x", "y", "out", "n", "m", *_BOUNDS), grid="min(cdiv(n, 256), 8192)"),),
        explain=Step("explain_distances", ("x", "y", "m", *_FOUND), grid="1", block=1),
    ),
    "stencil:weighted_line": Check(
        sources=("judge.cuh", "check_weighted_line.cu"),
        steps=(Step("check_weighted_line", ("x", "weights", "out", "n", *_BOUNDS), grid="min(cdiv(n, 256), 8192)"),),
        explain=Step("explain_weighted_line", ("x", "weights", "n", *_FOUND), grid="1", block=1),
    ),
    "stencil:weighted_image": Check(
        sources=("judge.cuh", "check_weighted_image.cu"),
        steps=(
            Step(
                "check_weighted_image",
                ("image", "mask", "out", "rows", "cols", *_BOUNDS),
                grid="min(cdiv(rows*cols, 256), 8192)",
            ),
        ),
        explain=Step("explain_weighted_image", ("image", "mask", "rows", "cols", *_FOUND), grid="1", block=1),
    ),
    "images:gray": Check(
        sources=("judge.cuh", "check_gray.cu"),
        steps=(
            Step(
                "check_gray",
                ("rgba", "gray", "width", "height", "pad", *_BOUNDS),
                grid="min(cdiv(width*height, 256), 8192)",
            ),
        ),
        explain=Step("explain_gray", ("rgba", "width", "pad", *_FOUND), grid="1", block=1),
    ),
    "images:upsample_nearest_2d": Check(
        sources=("judge.cuh", "check_upsample_nearest_2d.cu"),
        steps=(
            Step(
                "check_upsample_nearest_2d",
                ("x", "dy", "y", "dx", "planes", "h", "w", *_BOUNDS),
                grid="min(cdiv(5*planes*h*w, 256), 8192)",
            ),
        ),
        explain=Step("explain_upsample_nearest_2d", ("x", "dy", "planes", "h", "w", *_FOUND), grid="1", block=1),
    ),
    "images:max_pool": Check(
        sources=("judge.cuh", "check_max_pool.cu"),
        steps=(
            Step(
                "check_max_pool",
                ("x", "y", "planes", "h", "w", *_BOUNDS),
                grid="min(cdiv(planes*(h//2)*(w//2), 256), 8192)",
            ),
        ),
        explain=Step("explain_max_pool", ("x", "h", "w", *_FOUND), grid="1", block=1),
    ),
    "images:im2col": Check(
        sources=("judge.cuh", "check_im2col.cu"),
        steps=(
            Step("check_im2col", ("x", "y", "planes", "h", "w", *_BOUNDS), grid="min(cdiv(9*planes*h*w, 256), 8192)"),
        ),
        explain=Step("explain_im2col", ("x", "h", "w", *_FOUND), grid="1", block=1),
    ),
    "windows:shift": Check(
        sources=("judge.cuh", "check_shift.cu"),
        steps=(
            Step(
                "check_shift",
                ("x", "out", "rows", "cols", "down", "right", *_BOUNDS),
                grid="min(cdiv(rows*cols, 256), 8192)",
            ),
        ),
        explain=Step("explain_shift", ("x", "cols", "down", "right", *_FOUND), grid="1", block=1),
    ),
    "softmax:rows": _softmax("softmax_shares.cuh"),
    "softmax:log_rows": _softmax("softmax_logarithms.cuh"),
    "decoding:flash": _decoding("cache_flat.cuh", "lengths"),
    "decoding:paged": _decoding("cache_paged.cuh", "table"),
    "softmax:cross_entropy": Check(
        sources=("judge.cuh", "check_cross_entropy.cu"),
        steps=(Step("check_losses", ("logits", "labels", "loss", "cols", *_BOUNDS), grid="rows"),),
        explain=Step("explain_loss", ("logits", "labels", "cols", *_FOUND), grid="1"),
    ),
    "transformer:rope": _rope("rope_halves.cuh"),
    "transformer:rope_neighbours": _rope("rope_neighbours.cuh"),
    "transformer:gelu_bias_dropout": _gelu_bias_dropout(),
    "backward:relu": Check(
        sources=("judge.cuh", "check_relu_backward.cu"),
        steps=(Step("check_relu_backward", ("dy", "mask", "dx", "n", "findings"), grid="min(cdiv(n, 256), 8192)"),),
        explain=Step("explain_relu_backward", ("dy", "mask", *_FOUND), grid="1", block=1),
    ),
    "backward:softmax": Check(
        sources=("judge.cuh", "check_softmax_backward.cu"),
        steps=(Step("check_softmax_backward", ("y", "dy", "dx", "cols", *_BOUNDS), grid="rows"),),
        explain=Step("explain_softmax_backward", ("y", "dy", "cols", *_FOUND), grid="1"),
    ),
    "backward:layer_norm": Check(
        sources=("judge.cuh", "check_layer_norm_backward.cu"),
        steps=(
            Step("check_rows", ("x", "dy", "gamma", "mean", "rstd", "dx", "cols", *_BOUNDS), grid="rows"),
            Step(
                "check_columns",
                ("x", "dy", "mean", "rstd", "dgamma", "dbeta", "rows", "cols", *_BOUNDS),
                grid="cdiv(cols, 32)",
            ),
        ),
        explain=Step(
            "explain_layer_norm_backward", ("x", "dy", "gamma", "mean", "rstd", "rows", "cols", *_FOUND), grid="1"
        ),
    ),
    "norms:layer_norm": Check(
        sources=("judge.cuh", "check_row_norms.cu"),
        steps=(Step("check_layer_norm", ("x", "gamma", "beta", "y", "eps", "cols", *_BOUNDS), grid="rows"),),
        explain=Step("explain_layer_norm", ("x", "gamma", "beta", "eps", "cols", *_FOUND), grid="1"),
    ),
    "norms:rms_norm": Check(
        sources=("judge.cuh", "check_row_norms.cu"),
        steps=(
            Step("check_rms_norm", ("x", "residual", "weight", "h", "y", "eps", "rows", "cols", *_BOUNDS), grid="rows"),
        ),
        explain=Step("explain_rms_norm", ("x", "residual", "weight", "eps", "rows", "cols", *_FOUND), grid="1"),
    ),
    "norms:group_norm_nhwc": Check(
        sources=("judge.cuh", "check_group_norm.cu"),
        steps=(
            Step(
                "check_group_norm",
                ("x", "gamma", "beta", "y", "eps", "pixels", "groups", "width", *_BOUNDS),
                grid="samples*groups",
            ),
        ),
        explain=Step(
            "explain_group_norm", ("x", "gamma", "beta", "eps", "pixels", "groups", "width", *_FOUND), grid="1"
        ),
    ),
    "gemm:matmul": _matrix_product("matmul_half.cuh"),
    "gemm:matmul_f32": _matrix_product("matmul_float.cuh"),
    "gemm:matmul_i8": _matrix_product("matmul_int8.cuh"),
    "attention:forward_f32": _attention("attention_float.cuh"),
    "attention:forward_f16": _attention("attention_half.cuh"),
    "gemm:matvec": Check(
        sources=("judge.cuh", "check_matvec.cu"),
        steps=(Step("check_products", ("A", "x", "y", "k", *_BOUNDS), grid="m"),),
        explain=Step("explain_product", ("A", "x", "k", *_FOUND), grid="1"),
    ),
    "optimizer:adamw": _adamw(),
    "optimizer:grad_norm_clip": Check(
        sources=("judge.cuh", "check_grad_norm_clip.cu"),
        steps=(
            Step("partial_squares", ("g", "n", "partial"), grid="1024"),
            Step(
                "check_clipped",
                ("g", "out", "norm", "n", "max_norm", "partial", "1024", *_BOUNDS),
                grid="min(cdiv(n, 256), 8192)",
            ),
        ),
        explain=Step("explain_clipped", ("g", "n", "max_norm", "partial", "1024", *_FOUND), grid="1"),
        scratch=(Scratch("partial", "1024"),),
    ),
    "quantised:keys_int8": Check(
        sources=("judge.cuh", "check_keys_int8.cu"),
        steps=(
            Step(
                "check_tiles",
                ("K", "q", "scales", "batch", "heads", "tokens", *_BOUNDS),
                grid="batch*heads*cdiv(tokens, 64)",
                block=128,
            ),
        ),
        explain=Step("explain_tile", ("K", "batch", "heads", "tokens", *_FOUND), grid="1", block=1),
    ),
    "softmax:topk": Check(
        sources=("judge.cuh", "check_topk.cu"),
        steps=(Step("check_topk", ("logits", "weights", "experts", "rows", *_BOUNDS), grid="cdiv(rows, 256)"),),
        explain=Step("explain_topk", ("logits", "rows", *_FOUND), grid="1", block=1),
    ),
    "quantised:w4a16_gemv": Check(
        sources=("judge.cuh", "check_w4a16.cu"),
        steps=(Step("check_products", ("W", "scales", "zeros", "x", "y", "k", *_BOUNDS), grid="m"),),
        explain=Step("explain_product", ("W", "scales", "zeros", "x", "k", *_FOUND), grid="1"),
    ),
}
"""Oracle or checker name -> its check on the device. The arrays' names are those that the oracle uses."""
