"""What to do about a compiler's error, where that is known: mostly a header or a namespace that is missing. Pure.

NVRTC says of a name that it does not know only that it "must be a class or namespace name", so the name is looked up at
the message's place, and what to advise depends on what the file includes already.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from grader.compile.lexical import without_comments

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]{1,100})[>"]', re.MULTILINE)
_USING = re.compile(r"\busing\s+namespace\s+(?:::\s*)?(nvcuda)\s*;")
_NOT_A_NAMESPACE = re.compile(r'name (?:followed by "::" )?must be a (?:class or )?namespace name')
_UNDEFINED = re.compile(r'identifier "(\w{1,60})" is undefined')
_NO_MEMBER = re.compile(r'namespace "(?:cooperative_groups|cuda)" has no member "(\w{1,60})"')

_HEADERS = {
    **dict.fromkeys(("half", "half2", "__half", "__half2", "__float2half", "__half2float"), "cuda_fp16.h"),
    **dict.fromkeys(("__nv_bfloat16", "__nv_bfloat162", "__float2bfloat16"), "cuda_bf16.h"),
    **dict.fromkeys(("cooperative_groups", "cg"), "cooperative_groups.h"),
    **dict.fromkeys(("reduce", "plus", "less", "greater", "bit_and", "bit_or"), "cooperative_groups/reduce.h"),
    **dict.fromkeys(("inclusive_scan", "exclusive_scan"), "cooperative_groups/scan.h"),
    **dict.fromkeys(("atomic", "atomic_ref", "atomic_thread_fence"), "cuda/atomic"),
    **dict.fromkeys(("barrier", "memcpy_async"), "cuda/barrier"),
    **dict.fromkeys(("pipeline", "make_pipeline", "pipeline_shared_state"), "cuda/pipeline"),
}  # fmt: skip
"""The header that declares a name."""

_IN_WMMA = frozenset(
    ("fragment", "matrix_a", "matrix_b", "accumulator", "row_major", "col_major", "mem_row_major", "mem_col_major",
     "fill_fragment", "load_matrix_sync", "store_matrix_sync", "mma_sync")
)  # fmt: skip
_IN_GROUPS = frozenset(("this_thread_block", "this_grid", "tiled_partition", "coalesced_threads", "thread_block"))

_FIXED = (
    (re.compile(r"cannot open source file"), "only CUDA's own headers can be included: write the rest into this file"),
    (
        re.compile(r'incomplete type "nvcuda::wmma::fragment<'),
        "wmma has no such fragment: check shape and type; matrix_a and matrix_b also need row_major or col_major",
    ),
)


_BUILT_IN = (
    "__syncthreads", "__syncwarp", "__threadfence", "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize",
    "__shfl_sync", "__shfl_down_sync", "__shfl_up_sync", "__shfl_xor_sync", "__ballot_sync", "__activemask",
    "__shared__", "__global__", "__device__", "__restrict__", "atomicAdd", "atomicMax", "atomicMin", "atomicCAS",
)  # fmt: skip
"""Names that CUDA C gives, and that people misspell."""

_DIM3_ALONE = re.compile(r"\b(blockDim|gridDim|threadIdx|blockIdx)\b(?!\s*\.)")
_CONST = re.compile(r"\bconst\b(?=([^,;(){}]{1,120}))")
_ASSIGNED = re.compile(r"\b([A-Za-z_]\w{0,60})\s*\[[^=;]{0,200}\]\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)")


class Advisor:
    """Advice on one file's errors."""

    def __init__(self, source: str) -> None:
        self._source = source

    def hint(self, message: str, line: str, column: int | None) -> str:
        """What to do about ``message``, whose caret stands at ``column`` of ``line``; "" where nothing is known."""
        fixed = next((hint for pattern, hint in _FIXED if pattern.search(message)), "")
        if fixed:
            return fixed
        if _NOT_A_NAMESPACE.search(message):
            return next(filter(None, map(self._on_namespace, _names_at(line, column))), "")
        if match := _NO_MEMBER.search(message):
            return self._include(match[1])
        if match := _UNDEFINED.search(message):
            return self._on_identifier(match[1])
        return next(
            (hint for pattern, look in _BY_LINE if pattern.search(message) and (hint := look(self, line[:_LOOKED_AT]))),
            "",
        )

    def on_dim3(self, line: str) -> str:
        """blockDim without .x: three numbers where one is wanted."""
        match = _DIM3_ALONE.search(line)
        return f"did you mean `{match[1]}.x`? {match[1]} has three parts, .x, .y and .z" if match else ""

    def on_const(self, line: str) -> str:
        """Assigning through a pointer to const, as inputs are."""
        names = dict.fromkeys(match[1] for match in _ASSIGNED.finditer(line))
        const = (name for name in names if name in self._to_const)
        return next(
            (f"`{n}` points to const: inputs must not be changed, so store the result elsewhere" for n in const), ""
        )

    def on_pointer(self, line: str) -> str:
        """``s =* 2`` is ``s = *2``."""
        return "did you mean `*=`?" if re.search(r"=\*", line) else ""

    def _on_namespace(self, path: str) -> str:
        """``path`` is what stands there: ``wmma::fragment``, ``cuda::std::atomic``, ``cg``."""
        first, _, rest = path.partition("::")
        if first in ("wmma", "nvcuda"):
            return self._on_wmma(qualified=first == "nvcuda")
        if first == "cg" and self._has("cooperative_groups.h"):
            return "add `namespace cg = cooperative_groups;` below the #include"
        if first == "cuda":
            return self._include(rest.partition("::")[0])
        return self._include(first) if first in ("cg", "cooperative_groups") else ""

    def _on_wmma(self, *, qualified: bool) -> str:
        named = qualified or self._uses_nvcuda
        if not self._has("mma.h"):
            return "add `#include <mma.h>` at the top" + ("" if named else ", and below it `using namespace nvcuda;`")
        return "" if named else "add `using namespace nvcuda;` below `#include <mma.h>`, or write `nvcuda::wmma`"

    def _on_identifier(self, name: str) -> str:
        if name in _IN_WMMA and (self._has("mma.h") or re.search(r"\b(?:wmma|nvcuda)\b", self._code)):
            return self._on_wmma(qualified=False) or f"write `wmma::{name}`"
        if name in _IN_GROUPS:
            return self._include("cooperative_groups") or f"write `cooperative_groups::{name}`"
        if _HEADERS.get(name, "").startswith("cuda_"):
            return self._include(name)
        from grader.expressions import did_you_mean

        near = did_you_mean(name, _BUILT_IN).replace("'", "`")
        return near if name not in _BUILT_IN else ""

    def _include(self, name: str) -> str:
        header = _HEADERS.get(name)
        return f"add `#include <{header}>` at the top" if header and not self._has(header) else ""

    def _has(self, header: str) -> bool:
        return header in self._included

    @cached_property
    def _code(self) -> str:
        return without_comments(self._source)

    @cached_property
    def _included(self) -> frozenset[str]:
        return frozenset(_INCLUDE.findall(self._code))

    @cached_property
    def _to_const(self) -> frozenset[str]:
        """Every word that follows `const … *`: the names of pointers to const are among them."""
        declarators = (match[1].partition("*")[2] for match in _CONST.finditer(self._code))
        return frozenset(word for text in declarators for word in re.findall(r"\w+", text))

    @cached_property
    def _uses_nvcuda(self) -> bool:
        return _USING.search(self._code) is not None


_BY_LINE = (
    (re.compile(r"\b(?:dim3|uint3)\b"), Advisor.on_dim3),
    (re.compile(r"must be a modifiable lvalue"), Advisor.on_const),
    (re.compile(r"must be a pointer"), Advisor.on_pointer),
)
"""What a message says, and where to look for its cause in the line."""

_PATH = re.compile(r"\w+(?:\s*::\s*\w+)*")
_LOOKED_AT = 300  # characters of a line


def _names_at(line: str, column: int | None) -> Iterator[str]:
    """The qualified name under the caret, then all others of the line: a caret may stand behind its name."""
    paths = list(_PATH.finditer(line[:_LOOKED_AT]))
    here = [path for path in paths if column is not None and path.start() < column <= path.end()]
    for path in [*here, *paths]:
        yield re.sub(r"\s", "", path[0])
