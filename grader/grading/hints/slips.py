"""Hints for slips in the source: a superfluous `;`, `=` for `==`, a second variable of one name, a wrong type."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from grader.compile.parsing import Part
from grader.findings.record import Finding
from grader.grading.hints.indices import FIELD, words
from grader.grading.hints.rules import Seen, finding, kernel, rule, stray
from grader.grading.source_view import END, SourceView
from grader.launch import Launch, LaunchPlan

FAILURES = ("wrong", "out_of_bounds", "misaligned", "race", "instruction_budget", "barrier_divergence", "deadlock")
MOST_PARTS = 64  # of each kind that a rule checks: a hostile text may have thousands
_CONSTANT = re.compile(r"-?(?:[\d.][\w.+-]*|INFINITY|FLT_\w+)|")
_CALLED = re.compile(r"(\w+)\s*\(")
_OF_FLOATS = re.compile(r"\w+f|max|min|fma|__shfl_\w+")
_STORES = re.compile(r"([A-Za-z_]\w*)(?:\[[^][]*\])*\s*=(?!=)")
_NUMBERS = re.compile(r"(?:unsigned |signed |long |short )*(?:int|long|short|char|unsigned|float|double|size_t)")
_WHOLE = re.compile(r"(?:unsigned |signed |long |short )*(?:int|long|short|char|unsigned|size_t)")
_CONVERTS = re.compile(r"[<>=!?%&|]|\((?:int|unsigned|long|short|char)\b|2u?(?:int|ll)|rint|round|floor|ceil|trunc")
_PURE = ("fmaxf", "fminf", "max", "min", "fmax", "fmin", "__shfl_sync", "__shfl_down_sync", "__shfl_up_sync",
         "__shfl_xor_sync")  # fmt: skip


def _function(found: Finding, seen: Seen) -> tuple[int, int]:
    """The lines of the function around a finding; all lines if there is none."""
    function = seen.source.function(found.line) if found.line else None
    return (function.line, function.last) if function else (1, END)


def _parts(found: Finding, seen: Seen, *kinds: str) -> Iterator[Part]:
    return islice(seen.source.parts(*_function(found, seen), *kinds), MOST_PARTS)


@rule(*FAILURES, example=stray("beyond_end", 63, 63, line=5),
      seen=kernel("for (; t < 63; ++t);", "    src[t] = 1;"))  # fmt: skip
def loop_of_a_lone_semicolon(found: Finding, seen: Seen) -> str:
    empty = next(_parts(found, seen, "empty"), None)
    if empty is None:
        return ""
    ends = f"the `;` at the end of line {empty.last} is the whole body of the `{empty.name}`"
    return f"{ends}: what stands below runs once, after it. Take the `;` out"


@rule("out_of_bounds", "race", "null", "misaligned", example=stray("beyond_end", 63, 63, line=5),
      seen=kernel("if (t < 63)", "    x = 1; src[t] = x;"))  # fmt: skip
def statement_that_is_not_in_the_if(found: Finding, seen: Seen) -> str:
    """The access is in a statement after an `if` without braces, and looks as if it were in it."""
    line = found.line or 0
    beyond = next((one for one in seen.source.parts(line, line, "beyond") if one.line == line), None)
    if beyond is None:
        return ""
    condition, at = beyond.texts
    return (
        f"the `if ({condition})` in line {at} has no braces, so only its first statement is in it, and line {line} "
        "stores or loads always: put both statements into { }"
    )


@rule(*FAILURES, example=finding("wrong", array="y", index=0, facts={"size": {"n": 9}, "wrong": 1, "count": 1,
      "value": "unwritten", "expected": "5.0"}), seen=kernel("if (t = 0)", "    src[0] = 1;"))  # fmt: skip
def assignment_for_a_comparison(found: Finding, seen: Seen) -> str:
    for part in _parts(found, seen, "if", "loop"):
        stored = _STORES.match(part.texts[0])
        if stored is not None:
            text = f"the condition `{part.texts[0]}` in line {part.line} changes {stored[1]}"
            return f"{text}: to compare, write `==`" + (" or `<`" if part.kind == "loop" else "")
    return ""


_OUT = {"size": {"n": 9}, "wrong": 9, "count": 9, "got": "0.0", "expected": "5.5"}
_OUTPUT = finding("wrong", array="y", index=0, facts=_OUT)
_ONE_ROW = LaunchPlan((Launch(kernel="k", args=("y",), grid=(1, 1, 1), block=(256, 1, 1), line=1),))


@rule("wrong", "out_of_bounds", "race", example=_OUTPUT,
      seen=Seen(kernel("int y = threadIdx.y; src[y] = 1;").source, _ONE_ROW))  # fmt: skip
def block_of_one_row(found: Finding, seen: Seen) -> str:
    """The kernel uses threadIdx.y for rows, but the block has one row."""
    launches = [one for one in seen.plan.launches if found.kernel in (None, one.kernel)]
    kernels = {one.kernel for one in launches}
    axes = (one for one in seen.source.parts(1, END, "axis") if one.name == "threadIdx.y")
    used = next((one for one in axes if _is_in(one, kernels, seen.source)), None)
    if used is None or not launches or any(one.block[1] > 1 for one in launches):
        return ""
    row = f"the blocks of the launch in line {launches[0].line} are one row of {launches[0].block[0]} threads"
    return f"{row}, so `threadIdx.y`, line {used.line}, is 0 in all of them: is block= what the kernel needs?"


def _is_in(part: Part, kernels: set[str], source: SourceView) -> bool:
    """Whether a construct is in one of these kernels, and not in another one or in a function of several."""
    function = source.function(part.line)
    return function is not None and (function.name in kernels or (function.kind == "function" and len(kernels) == 1))


_SWAPPED = LaunchPlan((Launch(kernel="k", args=("y", "src"), grid=(1, 1, 1), block=(256, 1, 1), line=1),))


@rule("wrong", "out_of_bounds", example=_OUTPUT,
      seen=Seen(SourceView("__global__ void k(float* src, float* y) { }"), _SWAPPED))  # fmt: skip
def arguments_in_another_order(found: Finding, seen: Seen) -> str:
    """Two parameters have the names of arrays, but get each other's array."""
    for launch in seen.plan.launches:
        names = seen.source.parameters(launch.kernel)
        pairs = zip(names, launch.args, strict=False)
        other = [(name, arg) for name, arg in pairs if name != arg and name in launch.args and arg in names]
        if len(names) == len(launch.args) and other:
            name, arg = other[0]
            passes = f"line {launch.line} passes `{arg}` for the parameter `{name}` of {launch.kernel}"
            return f"{passes}: are the arguments in the order of the parameters?"
    return ""


@rule("wrong", example=_OUTPUT,
      seen=kernel("float sum = 0;", "for (;;) {", "    float sum = 1;", "}", "src[t] = sum;"))  # fmt: skip
def variable_of_an_inner_block(found: Finding, seen: Seen) -> str:
    """A declaration in a loop or a branch hides a variable that starts as a number and stays so, and is used later."""
    source = seen.source
    for inner in _parts(found, seen, "local"):
        loop = source.loop(inner.line)
        outer, end = source.hidden_by(inner), source.end_of_scope(inner)
        if loop is not None and loop.line == inner.line:
            continue  # the variable of a `for` is usually a new one
        after = source.uses(inner.name, end + 1, source.end_of_scope(outer)) if outer else []
        changed = [one for one in source.parts(outer.line, END, "assigned") if one.name == inner.name] if outer else []
        if (
            outer is None
            or not _CONSTANT.fullmatch(outer.texts[1])
            or not after
            or any(not inner.line <= one.line <= end for one in changed)
        ):
            continue
        new = f"`{inner.name}` in line {inner.line} is a new variable, which ends in line {end}"
        return f"{new}: line {after[0]} uses the one of line {outer.line}. To change that one, leave out the type"
    return ""


@rule("wrong", example=_OUTPUT,
      seen=kernel("float sum;", "if (t < 9)", "    sum = src[t];", "src[0] = sum;"))  # fmt: skip
def value_under_a_condition(found: Finding, seen: Seen) -> str:
    """A variable gets its value under a condition, but is used without one."""
    source = seen.source
    for local in _parts(found, seen, "local"):
        first = None if local.texts[1] or not _NUMBERS.fullmatch(local.texts[0]) else source.first_use(local)
        if first is None or first.kind != "assigned" or first.texts[0] != "=":
            continue
        condition, end = source.condition(first), source.end_of_scope(local)
        lines = source.uses(local.name, first.last + 1, end)
        use = next((line for line in lines if not source.parts(line, line, "then", "else", "assigned")), None)
        if condition and use and not _has_else(source, first, local.name) and not source.comparisons(use):
            return f"where `{condition}` is false, `{local.name}` has no value yet when line {use} uses it"
    return ""


@rule("wrong", example=_OUTPUT,
      seen=kernel("float sum = 0;", "for (;;)", "    sum = src[t];", "src[0] = sum;"))  # fmt: skip
def value_of_the_last_iteration(found: Finding, seen: Seen) -> str:
    """A variable starts as a number, and a loop that nothing else uses it in sets it anew each time."""
    source = seen.source
    for local in _parts(found, seen, "local"):
        end = source.end_of_scope(local)
        changed = [one for one in source.parts(local.line, end, "assigned") if one.name == local.name]
        loop = source.loop(changed[0].line) if changed else None
        if loop is None or loop.line <= local.line or not local.texts[1] or not _CONSTANT.fullmatch(local.texts[1]):
            continue
        own = changed[0]
        grows = own.texts[0] != "=" or not own.texts[1] or local.name in words(own.texts[1]) or source.condition(own)
        if (
            not grows
            and [own.line] == source.uses(local.name, loop.line, loop.last)
            and source.parts(own.line, own.line, "element")
        ):
            anew = f"line {own.line} sets `{local.name}` anew in each iteration of the loop in line {loop.line}"
            return f"{anew}, so that only the last one counts: is `+=` meant, or the larger of both?"
    return ""


def _has_else(source: SourceView, first: Part, name: str) -> bool:
    return any(source.uses(name, one.line, one.last) for one in source.parts(first.line, END, "else"))


@rule("wrong", example=_OUTPUT, seen=kernel("float sum = src[t];", "fmaxf(sum, src[0]);"))
def value_that_is_dropped(found: Finding, seen: Seen) -> str:
    own = {one.name for one in seen.source.parts(1, END, "function") if one.name and _only_returns(one, seen.source)}
    for call in _parts(found, seen, "dropped"):
        given = seen.source.parts(call.line, call.last, "call")
        if any(text.startswith("&") for one in given if one.name == call.name for text in one.texts):
            continue  # the address of what it changes
        if call.name in _PURE or call.name in own:
            return f"line {call.line} calls {call.name} and uses nothing of what it returns: is a `… =` missing?"
    return ""


def _only_returns(function: Part, source: SourceView) -> bool:
    """Whether a function is of use for what it returns alone: it has no reference to a result, and no atomic."""
    returned, given = function.texts
    inside = islice(source.parts(function.line, function.last, "asm", "call"), MOST_PARTS)
    changes = any(one.kind == "asm" or one.name.startswith("atomic") for one in inside)
    return returned != "void" and bool(given) and "&" not in given and not changes


@rule("wrong", example=_OUTPUT, seen=kernel("float part[64];", "part[threadIdx.x] = src[0];", "src[0] = part[9];"))
def array_of_each_thread(found: Finding, seen: Seen) -> str:
    """An array without `__shared__` that is indexed by the thread's number."""
    for array in _parts(found, seen, "array"):
        elements = seen.source.parts(array.line, seen.source.end_of_scope(array), "element")
        own = [one for one in elements[:MOST_PARTS] if one.name == array.name]
        by_thread = any(_is_thread(text, seen.source, one.line) for one in own for text in one.texts)
        if array.inside >= 0 and not array.texts[1] and by_thread and len({one.texts for one in own}) > 1:
            own_array = f"line {array.line} declares an array `{array.name}` for each thread alone"
            return f"{own_array}: for one that all threads of the block share, write `__shared__` before its type"
    return ""


def _is_thread(index: str, source: SourceView, line: int) -> bool:
    """Whether an index is exactly a thread's number in its block."""
    local = source.local(index, line)
    text = local.texts[1] if local and not source.is_changed(index) else index
    return re.fullmatch(r"threadIdx\.[xyz]", text) is not None


def _is_float(value: str) -> bool:
    """Whether what is computed from floats is one itself, as far as can be seen."""
    return not _CONVERTS.search(value) and all(map(_OF_FLOATS.fullmatch, _CALLED.findall(value)))


@rule("wrong", example=_OUTPUT, seen=kernel("int sum = src[t];"))
def whole_number_for_a_fraction(found: Finding, seen: Seen) -> str:
    """The output is an integer but should not be, and a float is assigned to an integer variable."""
    got, expected = (str(found.facts.get(name, "")) for name in ("got", "expected"))
    if found.facts.get("value", "got") != "got" or not got.endswith(".0") or expected.endswith((".0", "nan", "inf")):
        return ""
    declared = [*_parts(found, seen, "local", "array")]
    floats = {one.name for one in declared if re.match("float|double|__half", one.texts[0])} | seen.source.floats()
    for one in declared:
        stores = seen.source.parts(one.line, seen.source.end_of_scope(one), "assigned", "stored")
        given = [store.texts[-1] for store in stores[:MOST_PARTS] if store.name == one.name]
        given += [one.texts[1]] if one.kind == "local" else []
        values = [FIELD.sub("", text.rpartition("?")[2]) for text in given]
        if _WHOLE.fullmatch(one.texts[0]) and any(words(v) & floats and _is_float(v) for v in values):
            drops = f"`{one.name}` in line {one.line} is of type `{one.texts[0]}`, which drops the fraction"
            return f"{drops}: declare it `float`"
    return ""
