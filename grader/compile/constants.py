"""The integer constants in a file's launch lines, evaluated by the compiler.

Only the compiler knows which of several `#define` lines is active, and the values of an `enum` or a `constexpr`
function. So a declaration of a variable is appended to the source for each name. The variable's initial value is in the
PTX; `take_values` reads it, and removes the variables again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from grader.c_types import SIZEOF
from grader.compile.lexical import blocks, kernels, line_comments, without_directives, without_strings

MAX_NAMES = 100
MAX_VALUE = 2**62  # as in a launch line's expression

_LINE = re.compile(r"/+\s*(?:launch|passes|scratch|tensor_map)\b")
_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*+(?!\s*\()")
_CALLED = re.compile(r"([A-Za-z_]\w*+)\s*\(")
_GIVEN = re.compile(r"\b([A-Za-z_]\w*+)\s*=(?!=)")
_DEFINED = re.compile(r"^[ \t]*(?:#|%:)[ \t]*define[ \t]+(\w++)|\b([A-Za-z_]\w*+)\s*(?:=(?!=)|[({])", re.MULTILINE)
_ENUM = re.compile(r"\benum\b[^{};()]{0,200}\{([^{}]*+)\}")
_TYPES = frozenset(word for name in SIZEOF for word in name.split())

_HEAD = """

namespace warpgrade_names {{
enum Unknown {{ {unknown} }};
constexpr long long number(Unknown, int) {{ return 1LL << 63; }}
template <class T> constexpr auto number(T value, int) -> decltype(value << 0, 0LL) {{ return value; }}
template <class T> constexpr long long number(T, long) {{ return 1LL << 63; }}
}}
using namespace warpgrade_names;
"""
_DECLARATION = """\
#ifdef {name}
extern "C" __device__ long long {variable} = warpgrade_names::number(({name}), 0);
#else
extern "C" __device__ long long {variable} = warpgrade_names::number(::{name}, 0);
#endif
"""
_VARIABLE = re.compile(
    r"^(?:\.visible )?\.global \.align 8 \.u64 warpgrade_name_(\d+)(?:_in_(\w+))?(?: = (-?\d+))?;\n", re.MULTILINE
)
_UNDEFINED = re.compile(r"^[ \t]*(?:#|%:)[ \t]*undef[ \t]+(\w++)", re.MULTILINE)
_AFTER_KERNEL = ' extern "C" {{ __device__ long long warpgrade_name_{index}_in_{kernel} = ({name}); }}'
_ERROR = re.compile(r"^(?:At end of source|.*\((\d{1,9})\)): (?:catastrophic )?error\b", re.MULTILINE)


def names_in_launch_lines(source: str, *headers: str) -> tuple[str, ...]:
    """The names in launch lines that the file or its headers may define; at most 100.

    Without kernels and the lines' own names.
    """
    lines = [text for _, text in line_comments(source) if _LINE.match(text)]
    used = dict.fromkeys(word for line in lines for word in _WORD.findall(line))
    given = {word for line in lines for word in _GIVEN.findall(line)}
    if not used.keys() - given - _TYPES:
        return ()
    code = without_strings("\n".join((source, *headers)))
    defined = {word for words in _DEFINED.findall(code) for word in words}
    defined.update(word for members in _ENUM.findall(code) for word in _WORD.findall(members))
    return tuple(word for word in used if word in defined and word not in given | _TYPES)[:MAX_NAMES]


def with_values_after_kernels(source: str, names: Sequence[str]) -> str:
    """The source with a variable after each launched kernel for each name of ``names`` that is undefined somewhere.

    Such a name may have another value at the kernel than at the end of the file.
    """
    undefined = set(_UNDEFINED.findall(without_strings(source)))
    again = [(index, name) for index, name in enumerate(names) if name in undefined]
    if not again:
        return source
    launched = {word for _, text in line_comments(source) if _LINE.match(text) for word in _CALLED.findall(text)}
    pieces, end = [], 0
    for block in blocks(without_directives(source))[0]:
        for kernel in kernels(block.head).keys() & launched:
            after = block.braces[1] + 1
            here = (_AFTER_KERNEL.format(index=index, kernel=kernel, name=name) for index, name in again)
            pieces += [source[end:after], *here]
            end = after
    return "".join((*pieces, source[end:]))


def tail(names: Sequence[str]) -> str:
    """The declarations that are appended to the source to get the values of ``names``."""
    if not names:
        return ""
    variables = (_DECLARATION.format(name=name, variable=f"warpgrade_name_{i}") for i, name in enumerate(names))
    return _head(names) + "".join(variables)


def _head(names: Sequence[str]) -> str:
    return _HEAD.format(unknown="".join(f"\n#ifndef {name}\n{name},\n#endif\n" for name in names))


def without_errors(names: tuple[str, ...], log: str, source: str) -> tuple[str, ...]:
    """The names whose declarations in `tail` caused none of the errors in ``log``.

    All names, if every error is in the file itself; none, if an error is in the part of the tail that they share.
    """
    last = source.count("\n") + 1
    first, each = source.count("\n") + _head(names).count("\n") + 1, _DECLARATION.count("\n")
    lines = [int(match[1] or 0) for match in _ERROR.finditer(log)]
    if any(not line or last < line < first for line in lines):
        return ()
    wrong = {(line - first) // each for line in lines if line > last}
    return tuple(name for i, name in enumerate(names) if i not in wrong)


def take_values(ptx: str, names: Sequence[str]) -> tuple[str, dict[str, int]]:
    """The PTX without the variables of `tail`, and the values of the names that are integers.

    ``KERNEL.NAME`` is the value after a kernel, for the variables of `with_values_after_kernels`.
    """
    values = {}
    for index, kernel, value in _VARIABLE.findall(ptx):
        if int(index) < len(names) and abs(int(value or 0)) < MAX_VALUE:
            values[f"{kernel}.{names[int(index)]}".lstrip(".")] = int(value or 0)
    return _VARIABLE.sub("", ptx), values
