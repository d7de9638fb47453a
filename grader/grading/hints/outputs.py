"""Hints for wrong outputs whose cause can be recognised."""

from __future__ import annotations

import math
import re
from itertools import islice, product

from grader.findings.record import Finding
from grader.findings.sentences.words import elements
from grader.grading.causes import OF_SETUP, OF_THE_RUN_BEFORE
from grader.grading.hints.arrays import value_of
from grader.grading.hints.indices import as_matrix, bounds, made_of, narrow
from grader.grading.hints.rules import Seen, finding, kernel, rule, table
from grader.grading.source_view import END, SourceView
from grader.launch import Launch, LaunchPlan

_ALONE = {"size": {"n": 9}, "wrong": 1, "count": 1, "value": "unwritten", "expected": "5.0"}
_UNWRITTEN = ("unwritten", "unwritten_or_computed")


@rule("wrong", example=finding("wrong", array="y", index=0, names=("src",), facts=_ALONE),
      seen=kernel("if (t == 0) return;", "src[0] = 1;"))  # fmt: skip
def return_before_the_store(found: Finding, seen: Seen) -> str:
    """The only output element was never written, and a thread may have returned before its store."""
    if seen.host or found.facts.get("value") not in _UNWRITTEN or found.facts.get("count") != 1:
        return ""  # a host file may have left it where it was
    left = seen.source.first_return()
    below = seen.source.parts(left + 1, _end_of_kernel(left, seen), "element") if left else []
    stores = [one for one in below if one.name in found.names]
    if not stores or any(map(seen.source.condition, stores)):
        return ""
    return f"does the thread that should write {found.array}[{found.index}] return before it does, in line {left}?"


def _end_of_kernel(line: int, seen: Seen) -> int:
    """The last line of the kernel with a line: what stands below is another kernel's."""
    function = seen.source.function(line)
    return function.last if function is not None else END


@rule("wrong", example=finding("wrong", array="y", index=0, names=("src",), facts={**_ALONE, "count": 9}),
      seen=Seen(kernel("// YOUR CODE: store").source,
                LaunchPlan((Launch("k", ("y",), (1, 1, 1), (9, 1, 1)),))))  # fmt: skip
def kernel_without_code(found: Finding, seen: Seen) -> str:
    """Nothing was written, and the kernel that gets the array still has the stub's comment and stores nothing there."""
    if seen.host or found.facts.get("value") not in _UNWRITTEN or not seen.source.is_clear():
        return ""
    with_it = {launch.kernel for launch in seen.plan.launches if found.array in launch.args}
    for own in seen.source.parts(1, END, "kernel"):
        line = seen.source.unfinished(own.line, own.last) if own.name in with_it else None
        if line and not any(one.name in found.names for one in seen.source.parts(own.line, own.last, "stored")):
            return f"line {line} still says YOUR CODE: {own.name} does not store anything into {found.array} yet"
    return ""


_AXIS = re.compile(r"\b(blockIdx|threadIdx)\.([xyz])\b")


def _axis(text: str) -> int | None:
    """The axis along which a number counts the threads of the grid: 0 for .x; None if it does not, or along several."""
    uses = set(_AXIS.findall(text))
    axes = {axis for _, axis in uses}
    return "xyz".index(axes.pop()) if len(uses) == 2 and len(axes) == 1 else None


_CROSSED = {"size": {"n": 9}, "wrong": 9, "count": 800, "value": "unwritten", "expected": "5.0"}


@rule("wrong", example=finding("wrong", array="y", index=80, names=("src",), facts=_CROSSED),
      seen=Seen(SourceView("__global__ void k(float* src, int m, int n) {\nint r = blockIdx.y * 8 + threadIdx.y;\n"
                           "int c = blockIdx.x * 8 + threadIdx.x;\nif (r < m && c < n) src[r * n + c] = 1;\n}"),
                LaunchPlan((Launch("k", ("y", 80, 10), (10, 2, 1), (8, 8, 1), line=1),))))  # fmt: skip
def axes_that_the_launch_exchanges(found: Finding, seen: Seen) -> str:
    """The launch has too few threads along an axis for what the kernel counts there; exchanged, it has enough."""
    launches = [one for one in seen.plan.launches if found.array in one.args]
    if found.facts.get("value") not in _UNWRITTEN or len(launches) != 1 or not seen.source.is_clear():
        return ""
    [launch] = launches
    names = seen.source.parameters(launch.kernel)
    if len(names) != len(launch.args):
        return ""
    values = dict(zip(names, launch.args, strict=True))
    threads = [blocks * across for blocks, across in zip(launch.grid, launch.block, strict=True)]
    needed: dict[int, tuple[str, str, int]] = {}
    for store in seen.source.parts(1, END, "stored"):
        for less, bound in bounds(seen.source, store).items() if store.name in found.names else ():
            local, most = seen.source.local(less, store.line), values.get(bound.more)
            axis = _axis(local.texts[1]) if local else None
            if axis is not None and isinstance(most, int):
                needed[axis] = (less, bound.more, most)
    if set(needed) != {0, 1}:
        return ""
    short = next((axis for axis in (1, 0) if threads[axis] < needed[axis][2]), None)
    if short is None or threads[0] < needed[1][2] or threads[1] < needed[0][2]:
        return ""
    name, end, most = needed[short]
    here, there = "xy"[short], "xy"[1 - short]
    return (
        f"`{name}` counts along .{here} up to `{end}` = {most}, but the launch in line {launch.line} starts "
        f"{threads[short]} threads along {here}, and {threads[1 - short]} along {there}: exchange .x and .y in the "
        "kernel, or the two directions of the launch"
    )


def _launch(blocks: int, *body: str) -> Seen:
    own = Launch(kernel="k", args=("y",), grid=(blocks, 1, 1), block=(64, 1, 1), line=1)
    return Seen(kernel(*body).source, LaunchPlan((own,)))


@rule("wrong", example=finding("wrong", array="y", index=0, names=("src",), facts={**_ALONE, "count": 9}),
      seen=kernel("if (t >= n) return;", "part[t] = 1;", "__syncthreads();", "src[t] = part[9 - t];"))  # fmt: skip
def return_before_work_for_others(found: Finding, seen: Seen) -> str:
    """Threads leave before a barrier, and what is stored after it is not written everywhere."""
    left = seen.source.first_return()
    end = _end_of_kernel(left, seen) if left else END
    barrier = next((one.line for one in seen.source.barriers(left + 1, end)), None) if left else None
    below = seen.source.parts(barrier + 1, end, "stored") if barrier else []
    if seen.host or found.facts.get("value") not in _UNWRITTEN or not any(one.name in found.names for one in below):
        return ""
    return (
        f"threads that return in line {left} store nothing after the barrier in line {barrier} either. If some of "
        f"{found.array} is theirs there, put an if around the first part, and let no thread return before the barrier"
    )


_FROM = {"size": {"n": 65}, "wrong": 1, "count": 65, "value": "unwritten", "expected": "5.0"}


@rule("wrong", example=finding("wrong", array="y", index=64, names=("src",), facts=_FROM),
      seen=_launch(1, "if (i < n) src[i] = 1;"))  # fmt: skip
def grid_that_ends_before_the_array(found: Finding, seen: Seen) -> str:
    """The first unwritten element is the one after the launch's last thread, and each thread has one element."""
    launches = [one for one in seen.plan.launches if found.array in one.args]
    threads = max((math.prod((*one.grid, *one.block)) for one in launches), default=0)
    unwritten = found.facts.get("value") in _UNWRITTEN and found.index == threads > 0
    if not unwritten or not seen.source.is_clear() or seen.source.parts(1, END, "loop"):
        return ""
    starts = f"the launch in line {launches[0].line} starts {threads} threads (grid= times block=)"
    return (
        f"{starts}, and {found.array} has {elements(found.facts['count'])}: more blocks, or several elements a thread"
    )


_ROW = {**_FROM, "place": {"row": 1, "column": 0}, "position": (1, 0), "count": 130}


@rule("wrong", example=finding("wrong", array="y", index=65, facts=_ROW), seen=_launch(1, "src[t] = 1;"))
def threads_that_end_before_the_matrix(found: Finding, seen: Seen) -> str:
    """The first unwritten row, or column, has the number of blocks or threads that the launch starts."""
    row, column = found.facts.get("position") or (0, 0)
    launches = [one for one in seen.plan.launches if found.array in one.args]
    if found.facts.get("value") not in _UNWRITTEN or len(launches) != 1 or bool(row) == bool(column):
        return ""
    (wide, high, deep), (across, down, _) = launches[0].grid, launches[0].block
    if deep == 1 and high == down == 1:
        has = {wide: f"{wide} block{'s' * (wide > 1)}"} if row else {across: f"blocks of {across} threads"}
    else:
        extents = f"{wide * across} threads along x and {high * down} along y"
        has = dict.fromkeys((wide * across, high * down), extents)
        in_tiles = seen.source.parts(1, END, "loop")
        if in_tiles and seen.given_launches:
            return ""
        if in_tiles:  # of a square tile: as many rows as the block has threads along x
            tiles = f"{wide} × {high} blocks of {across} × {down} threads"
            has = {blocks * side: tiles for blocks, side in product((wide, high), (across, down)) if side > 1} | has
    number, name = (row, "row") if row else (column, "column")
    if number not in has:
        return ""
    starts = f"the launch in line {launches[0].line} starts {has[number]}"
    return f"{starts}, and {name} {number} is the first that nobody wrote: do they reach every {name} of {found.array}?"


_MANY = {"size": {"n": 70000}, "wrong": 9, "count": 70000, "value": "unwritten", "expected": "5.0"}


@rule("wrong", example=finding("wrong", array="y", index=65536, facts=_MANY),
      seen=kernel("unsigned short i = blockIdx.x * blockDim.x + threadIdx.x;"))  # fmt: skip
def variable_that_begins_again(found: Finding, seen: Seen) -> str:
    """The first wrong element is the one after the largest value of a variable for thread numbers."""
    for local in seen.source.parts(1, END, "local"):
        short = narrow(local.name, seen.source, local.last)
        if short is not None and found.index == short[2] + 1:
            return f"`{short[0]}` is an `{short[1]}`, which begins again at 0 after {short[2]}: make it an `int`"
    return ""


_VALUE = {"size": {"n": 9}, "wrong": 9, "count": 9, "got": "1.0", "expected": "5.0"}
MOST_LOCALS = 64  # a hostile text has thousands
_NUMBER = re.compile(r"(?:(?:const|unsigned|signed|volatile)\s+)*(?:float|double|half|__half|char|short|int|long)\b")


@rule("wrong", example=finding("wrong", array="y", index=0, facts=_VALUE), seen=kernel("float sum;", "sum += src[0];"))
def variable_without_a_first_value(found: Finding, seen: Seen) -> str:
    """The first line that uses a variable adds to it, say, and it has no value yet."""
    if found.facts.get("value", "got") != "got" or seen.given_kernel or not seen.source.is_clear():
        return ""
    empty = (local for local in seen.source.parts(1, END, "local") if not local.texts[1])
    for local in islice(empty, MOST_LOCALS):
        first = seen.source.first_use(local)
        if first is None:
            continue
        has_none = f"`{local.name}` has no value yet when line {first.line} uses it"
        if first.kind == "assigned" and first.texts[0] != "=" and _NUMBER.match(local.texts[0]):
            return f"{has_none}: give it its first value in line {local.line}"
        is_sum = first.name.endswith("mma_sync") and first.texts[-1:] == (local.name,)
        if is_sum and "accumulator" in local.texts[0]:
            return f"{has_none}: fill it before, with `wmma::fill_fragment({local.name}, 0.0f)`"
    return ""


_ZERO = re.compile(r"0*\.?0*f?")
_LARGER = re.compile(r"\bf?maxf?\(")


@rule("wrong", example=finding("wrong", array="y", index=0, facts={**_VALUE, "got": "inf"}),
      seen=kernel("float m = 0.0f;", "for (int i = t; i < n; ++i)", "    m = fmaxf(m, src[i]);"))  # fmt: skip
def first_value_of_a_maximum(found: Finding, seen: Seen) -> str:
    """A maximum that begins with 0, or with the smallest number above 0."""
    got, negative = found.facts.get("got", ""), found.facts.get("expected", "").startswith("-")
    shows = found.facts.get("nan") or got == "inf" or (negative and got.lstrip("-") in ("0", "0.0"))
    if not shows or seen.given_kernel or not seen.source.is_clear():
        return ""
    for local in islice(seen.source.parts(1, END, "local"), MOST_LOCALS):
        function = seen.source.function(local.line)
        if function is None or not local.texts[1]:
            continue
        begins = f"`{local.name}` in line {local.line} begins with {local.texts[1]}"
        grown = [
            one for one in seen.source.parts(local.line, function.last, "assigned")
            if one.name == local.name and _LARGER.search(one.texts[-1]) and seen.source.loop(one.line)
        ]  # fmt: skip
        if grown and local.texts[1] == "FLT_MIN":
            return f"{begins}, which is the smallest float above 0: the most negative one is -FLT_MAX, or -INFINITY"
        if grown and _ZERO.fullmatch(local.texts[1]) and not any("abs" in one.texts[-1] for one in grown):
            return f"{begins}, and it stays 0 where all values are negative: begin with -INFINITY, or with a value"
    return ""


_SQUARE = SourceView(
    "__global__ void k(float* src, int rows, int cols) {\nif (r < rows && c < cols) y[c] = src[r * rows + c];\n}"
)
_TWO_OF_3 = LaunchPlan((Launch("k", ("x", 2, 3), (1, 1, 1), (64, 1, 1), line=1),))


@rule("wrong", example=finding("wrong", array="y", index=0, facts=_VALUE),
      seen=Seen(_SQUARE, _TWO_OF_3))  # fmt: skip
def row_as_long_as_there_are_rows(found: Finding, seen: Seen) -> str:
    """An index multiplies the row by the number of rows, and another number ends the column."""
    if found.facts.get("value", "got") != "got" or seen.given_kernel or not seen.source.is_clear():
        return ""
    for kernel_of in seen.source.parts(1, END, "kernel"):
        at = Finding("wrong", kernel=kernel_of.name)
        for access in islice(seen.source.parts(kernel_of.line, kernel_of.last, "element"), MOST_LOCALS):
            known = bounds(seen.source, access)
            matrix = as_matrix(access.texts[0], known) if len(access.texts) == 1 else None
            row, column = (known.get(matrix.row), known.get(matrix.column)) if matrix else (None, None)
            if matrix is None or row is None or column is None or row.more != matrix.length:
                continue
            rows, columns = value_of(row.more, at, seen), value_of(column.more, at, seen)
            if None not in (rows, columns) and rows != columns:
                return (
                    f"in `{access.texts[0]}`, line {access.line}, a row is `{matrix.length}` elements long, and there "
                    f"are `{row.more}` rows, but `{matrix.column}` ends at `{column.more}`: how long is a row of "
                    f"{access.name}?"
                )
    return ""


_NAN = {"size": {"n": 9}, "wrong": 9, "count": 9, "got": "nan", "expected": "5.0", "guess": "nan", "nan": 3}
_EXPONENTIALS = ("exp", "expf", "__expf", "exp2f")


@rule("wrong", example=finding("wrong", array="y", index=0, facts=_NAN), seen=kernel("sum += expf(src[0]);"))
def exponential_that_overflows(found: Finding, seen: Seen) -> str:
    """Results are NaN, and an exponential is taken of a value as it is."""
    if not found.facts.get("nan") or seen.given_kernel or not seen.source.is_clear():
        return ""
    calls = [one for one in seen.source.parts(1, END, "call") if one.name in _EXPONENTIALS and len(one.texts) == 1]
    bare = next((one for one in calls if _is_loaded(one.texts[0], one.line, seen.source)), None)
    if bare is None:
        return ""
    added = [
        one for one in seen.source.parts(1, END, "assigned") if one.texts[0] == "+=" and bare.name in one.texts[-1]
    ]
    remedy = (
        "Subtract the largest value first" if added
        else "Divide both sides of the fraction by it: then only exp(-x) is left"
    )  # fmt: skip
    return (
        f"line {bare.line} takes `{bare.name}({bare.texts[0]})` of a value as it is: above 88.7 that is infinity in a "
        f"float, and infinity / infinity is NaN. {remedy}"
    )


def _is_loaded(text: str, line: int, source: SourceView) -> bool:
    """Whether an expression is an element, or a variable that is one, from which nothing is subtracted."""
    local = source.local(text, line)
    value = local.texts[1] if local is not None else text
    if "-" in value or "[" not in value:
        return False
    names = {text, value.partition("[")[0]}
    changes = (one for one in source.parts(1, END, "assigned", "stored") if one.name in names)
    return not any("-" in "".join(one.texts) for one in changes)


_OLD = {"size": {"n": 9}, "wrong": 9, "count": 9, "got": "1.0", "expected": "5.0", "since": "what was in x before"}


@rule("wrong", example=finding("wrong", array="y", index=0, facts=_OLD | {"warm_up": OF_SETUP}), seen=Seen(host=True))
def inputs_of_each_run(found: Finding, seen: Seen) -> str:
    if found.facts.get("warm_up") != OF_SETUP:
        return ""
    return "there are new values before each run, in the same place: run() has to take them from there, every time"


@rule("wrong", example=finding("wrong", array="y", index=0, facts=_OLD | {"warm_up": OF_THE_RUN_BEFORE}),
      seen=Seen(host=True))  # fmt: skip
def order_of_each_run(found: Finding, seen: Seen) -> str:
    """The results of the run before: the new values come too late, or the results are fetched too early."""
    if found.facts.get("warm_up") != OF_THE_RUN_BEFORE:
        return ""
    return (
        "something in run() comes too early: a kernel before the new values are where it reads them, or what fetches "
        "the results before the kernel has written them"
    )


_CAST = re.compile(r"const_cast\s*<|\(\s*(?!const\b)\w+\s*\*+\s*\)\s*(?=\w)")


@rule("wrong", cause="overwritten", example=finding("wrong", "overwritten", array="x", names=("src",)),
      seen=kernel("float* out = const_cast<float*>(src);", "out[t] = 1;"))  # fmt: skip
def cast_of_a_const_input(found: Finding, seen: Seen) -> str:
    """A cast of the input's pointer takes its const away."""
    names = {found.array, *found.names}
    for part in seen.source.parts(1, END, "local", "call", "pointer", "stored"):
        text = " ".join((part.name, *part.texts))
        if _CAST.search(text) and made_of(text, seen.source, part.line) & names:
            return (
                f"the cast in line {part.line} makes an input writable: store to the output, or to memory of your own"
            )
    return ""


table(
    "outputs",
    ("who_writes_to_host_memory", "wrong", "overwritten_in_host_memory",
     finding("wrong", "overwritten_in_host_memory", array="x"),
     "look for what writes there: a copy from the GPU, a line of the host file, or a kernel that works on host memory "
     "itself"),
    ("const_inputs", "wrong", "overwritten", finding("wrong", "overwritten", array="x"),
     "declare inputs as const pointers; the compiler then finds the line that writes"),
)  # fmt: skip
