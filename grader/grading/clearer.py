"""Hints made clearer by the source and by the launch lines, which a backend does not look at. Pure.

    clearer(found, source, plan) -> the same finding, with a better hint where one is known

The source is read as text: what is said of it stays a question or a plain quotation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from grader.compile.lexical import without_comments
from grader.grading.weak_waits import lacking_wait
from grader.verdict import Diagnostic

if TYPE_CHECKING:
    from grader.launch import Launch, LaunchPlan

QUOTED = 60  # characters of a condition; a longer one is not shown
READ = 300  # characters of a line that are looked at
FAR = 12  # lines in which the barrier at a loop's end is looked for
_ASKS = re.compile(r"([^?=,;{}]{1,80}?)\?")
_BARRIER = re.compile(r"(?<!\w)(__syncthreads|__syncwarp)\s*([(;])")
_KEEPS = re.compile("shared= is the bytes|whole groups|none of these|of its own")  # hints that know better
_ONE_WARP = re.compile(r"<\s*32\b|<=\s*31\b|/\s*32\s*==\s*0|<\s*warpSize\b")
_RETURN = re.compile(r"(?<!\w)return\s*;")


def clearer(found: Diagnostic, source: str, plan: LaunchPlan) -> Diagnostic:
    """Return ``found`` with the hint that the source or the launch lines allow."""
    look = _LOOKS.get(found.kind)
    if look is None or found.severity != "error":
        return found
    hint = look(_Read(found, without_comments(source).split("\n"), plan))
    return replace(found, hint=hint) if hint else found


def uneven_passes(found: Sequence[Diagnostic], plan: LaunchPlan) -> tuple[Diagnostic, ...]:
    """A note where a pass has not as many blocks as its ``by`` leaves elements. Right where a block stores several."""
    uneven = next((launch for launch in plan.launches if _disagrees(launch)), None)
    if uneven is None or any(one.hint.startswith(_says(uneven)) for one in found):
        return ()
    return (Diagnostic("passes", f"{_says(uneven)}. A kernel in which each block stores one element needs one block "
                       "for each of them", severity="note", kernel=uneven.kernel),)  # fmt: skip


@dataclass(frozen=True)
class _Read:
    """A finding with the file's lines, comments blanked."""

    found: Diagnostic
    lines: Sequence[str]
    plan: LaunchPlan

    def text(self, line: int) -> str:
        return self.lines[line - 1][:READ] if 1 <= line <= len(self.lines) else ""

    def barriers(self, first: int, last: int) -> list[tuple[int, str, bool]]:
        """Line, name and whether it is called, of the barriers in these lines."""
        return [
            (at, match[1], match[2] == "(")
            for at in range(first, last + 1)
            for match in _BARRIER.finditer(self.text(at))
        ]


# -------------------------------------------------------------------------------------------------------- out of bounds


def _disagrees(launch: Launch) -> bool:
    return launch.leaves is not None and math.prod(launch.grid) != launch.leaves


def _says(launch: Launch) -> str:
    blocks = math.prod(launch.grid)
    disagree = f"grid= and `by` in line {launch.line} disagree"
    return f"{disagree}: a pass starts {_many(blocks, 'block')}, but `by` leaves {launch.leaves}"


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _stray(read: _Read) -> str:
    if read.found.line is None:
        return ""
    return _launch_lines(read) or _condition(read)


def _launch_lines(read: _Read) -> str:
    """Each block stores one element, and there are more blocks than elements; or the passes' line is at fault."""
    found, plan = read.found, read.plan
    launches = [one for one in plan.launches if one.kernel == found.kernel and found.array in one.args]
    counts = {scratch.name: scratch.count for scratch in plan.scratch}
    stored = found.array in counts or any(place.kind != "read" for place in found.accesses)
    uneven = next((one for one in launches if _disagrees(one)), None)
    if uneven is not None and stored:
        return f"{_says(uneven)}: both must be the number of elements that the pass stores"
    block, index = found.block or (0, 0, 0), found.index
    if found.array is None or block[1:] != (0, 0) or block[0] == 0 or index != block[0] or not launches:
        return ""
    blocks = max(math.prod(one.grid) for one in launches)
    starts = f"the launch in line {launches[0].line} starts {_many(blocks, 'block')}"
    if found.array in counts and blocks > counts[found.array]:
        has = f"scratch {found.array} has {_many(counts[found.array], 'element')}"
        return f"{starts}, but {has}: make the `// scratch` array larger, or the grid smaller"
    if "has 1 element," in found.message:
        return f"{starts}, but {found.array} has 1 element: let the blocks store their results in scratch, or in turn"
    return ""


def _condition(read: _Read) -> str:
    """The condition at the access lets the index through: quote both."""
    found, name = read.found, _own_name(read.found)
    condition, index = _guard(read, name), found.index
    if not condition or index is None or index < 0 or found.thread is None or _KEEPS.search(found.hint):
        return ""
    expression = _index_of(name, read.text(found.line or 0))
    who = f"thread {_linear(found.thread)}"
    if expression and _plain(expression) not in _plain(condition):
        other = f"looks at something else than the index `{expression}`, which is {index} for {who}"
        matrix = "*" in expression and "+" in expression
        what = (
            "its row and its column must be inside, each by itself"
            if matrix
            else "compare that with the array's length"
        )
        return f"the condition `{condition}` {other}: {what}"
    loop = _loop_around(read, found.line or 0)
    too_long = f" Or does the loop in line {loop} go on for too long?" if loop else ""
    through = f"lets {who} through to index {index} of {name}"
    return f"the condition `{condition}` {through}: which threads should it let through?{too_long}"


def _loop_around(read: _Read, line: int) -> int | None:
    """The line of the loop that ``line`` is in, going by its indentation; None where there is none near."""
    return next((at for at in _loops_around(read, line) if at > line - FAR), None)


def _loops_around(read: _Read, line: int) -> Iterator[int]:
    """The lines of the loops that ``line`` is in, the innermost first, going by indentation."""
    depth = _depth(read.text(line))
    for at in range(line - 1, 0, -1):
        text = read.text(at)
        if _is_code(text) and _depth(text) < depth:
            depth = _depth(text)
            if re.match(r"\s*(?:for|while)\b", text):
                yield at


def _loop_around_both(read: _Read, first: int, last: int) -> int | None:
    """The line of the innermost loop around line ``first`` that goes on to line ``last``; None where there is none."""
    between = (read.text(at) for at in range(first + 1, last + 1))
    shallowest = min((_depth(text) for text in between if _is_code(text) and text.strip() != "{"), default=math.inf)
    return next((at for at in _loops_around(read, first) if _depth(read.text(at)) < shallowest), None)


def _code(read: _Read, first: int, last: int) -> Iterator[int]:
    return (at for at in range(first, last + 1) if _is_code(read.text(at)))


def _is_code(text: str) -> bool:
    """Whether a line's indentation says where it belongs: `#pragma unroll` may stand at the left edge."""
    return bool(text.strip()) and not text.lstrip().startswith("#")


def _depth(text: str) -> int:
    return len(text.expandtabs(4)) - len(text.expandtabs(4).lstrip())


def _linear(thread: tuple[int, int, int]) -> str:
    return str(thread[0]) if thread[1:] == (0, 0) else str(thread)


def _guard(read: _Read, name: str) -> str:
    """The condition of an ``if`` or a ``?`` before the access on its line, or of an ``if`` on the line before."""
    line = read.found.line or 0
    here, before = read.text(line), read.text(line - 1).rstrip().rstrip("{").rstrip()
    if match := re.search(r"\bif\s*\(", here):
        return _bracketed(here, match.end() - 1, "()")
    match = _ASKS.search(here.partition("=")[2])
    if match is not None:
        chosen = here[here.index(match[0]) + len(match[0]) :]
        return _short(match[1]) if re.search(rf"\b{re.escape(name)}\s*\[", chosen) else ""
    match = re.search(r"\bif\s*\(", before)
    if match is None:
        return ""
    condition = _bracketed(before, match.end() - 1, "()")
    return condition if before.endswith(f"{condition})") else ""


def _index_of(name: str, text: str) -> str:
    """The expression in ``name[…]``; "" where the line has several, or more follows: another index, a member."""
    found = {}
    for match in re.finditer(rf"\b{re.escape(name)}\s*\[", text):
        inside = _bracketed(text, match.end() - 1, "[]")
        found[inside] = text[match.end() + len(inside) :].lstrip(" ]")[:1]
    (expression, behind), *more = [*found.items()] or [("", "")]
    return "" if more or behind in ("[", ".") else expression


def _bracketed(text: str, start: int, pair: str) -> str:
    """What stands between the bracket at ``start`` and the one that closes it, on one line."""
    depth = 0
    for at in range(start, min(len(text), start + QUOTED + 2)):
        depth += (text[at] == pair[0]) - (text[at] == pair[1])
        if depth == 0:
            return text[start + 1 : at].strip()
    return ""


def _short(text: str) -> str:
    words = text.strip()
    return words if len(words) <= QUOTED and words.count("(") == words.count(")") else ""


def _plain(text: str) -> str:
    return re.sub(r"\s", "", text)


def _own_name(found: Diagnostic) -> str:
    """What the kernel calls the array: the message says it."""
    match = re.search(r"\b([A-Za-z_]\w{0,60})\[", found.message)
    return match[1] if match else found.array or ""


# ---------------------------------------------------------------------------------------------------------------- races


def _unordered(read: _Read) -> str:
    """What stands there instead of the barrier that is missing, or why the one that is there does not help."""
    places = [(place.line, place.block) for place in read.found.accesses if place.line is not None]
    if not places or len({block for _, block in places}) > 1 or any(p.kind == "copy" for p in read.found.accesses):
        return ""  # what starts a copy often stands in a function of its own, above the barriers
    first, last = places[0][0], places[-1][0]
    between = read.barriers(min(first, last), max(first, last)) if first != last else []
    after = read.barriers(max(first, last), max(first, last) + FAR)[:1] if first >= last else []
    for line, name, called in (*between, *after):
        if not called:
            return f"line {line} says `{name}` without (), which calls nothing: write `{name}();`"
        if name == "__syncwarp" and not _in_one_warp(read):
            return _one_warp(line)
    whole = [line for line, name, _ in between if name == "__syncthreads"]
    if whole:
        return _passed_by(read, min(first, last), max(first, last), whole[0])
    if _in_last_warp(read, min(first, last)) and _of_two_elements(read, first if first == last else 0):
        return _within_warp(first == last)
    return _next_round(read, first) if first == last else ""


def _in_last_warp(read: _Read, line: int) -> bool:
    """Whether two lanes of one warp meet where only that warp works: a condition says so on this line or above it."""
    alone = any(_ONE_WARP.search(read.text(at)) for at in range(max(1, line - FAR), line + 1))
    return alone and read.found.space == "shared" and _in_one_warp(read)


def _of_two_elements(read: _Read, line: int) -> bool:
    """Whether a line names two elements of the array, as a step of a tree does; several lines (0) are no matter."""
    name = re.escape(_own_name(read.found))
    found = {_plain(index) for index in re.findall(rf"\b{name}\s*\[([^\]]*)\]", read.text(line))}
    return not line or len(found) > 1


def _within_warp(one_line: bool) -> str:
    """Two lanes of one warp, which do not run in step."""
    lanes = "both threads are lanes of one warp, and the lanes of a warp do not run in step: put a __syncwarp() between"
    if not one_line:
        return f"{lanes} the two accesses"
    return (
        f"{lanes} a step and the next, and let only the lanes that add take part (`if (t < s)`); or read, "
        "__syncwarp(), write"
    )


def _next_round(read: _Read, line: int) -> str:
    """One line of a loop reads one element of an array and writes another, and no barrier parts its rounds."""
    loop = _loop_around(read, line)
    if loop is None or not _of_two_elements(read, line):
        return ""
    depth = _depth(read.text(loop))
    body = range(line, min(line + FAR, len(read.lines)) + 1)
    end = next((at for at in body if read.text(at).strip() and _depth(read.text(at)) <= depth), line + FAR)
    if any(name == "__syncthreads" for _, name, _ in read.barriers(loop, end)):
        return ""
    return (
        f"line {line} runs again in the next round of the loop in line {loop}, on what other threads have just "
        "written: end the loop's body with __syncthreads()"
    )


def _in_one_warp(read: _Read) -> bool:
    """Whether both threads are known, and are lanes of one warp (of a block of one row)."""
    threads = [place.thread for place in read.found.accesses]
    return len(threads) > 1 and len({(x // 32, y, z) for x, y, z in threads}) == 1


def _one_warp(line: int) -> str:
    return f"the __syncwarp() in line {line} orders the lanes of one warp only: between warps it takes __syncthreads()"


def _passed_by(read: _Read, first: int, last: int, barrier: int) -> str:
    """A barrier stands between the two lines, and yet does not order them."""
    left = next((at for at in range(first, barrier + 1) if _RETURN.search(read.text(at))), None)
    where = f"the __syncthreads() in line {barrier} does not order these two"
    loop = _loop_around_both(read, first, last)
    if left is None and loop is None:
        apart = any(_depth(read.text(at)) < _depth(read.text(first)) for at in _code(read, first, last))
        return "" if apart else f"{where}: is there a way around it?"  # in a function of its own, it may run elsewhere
    if left is None:
        orders = f"the __syncthreads() in line {barrier} orders one round of the loop in line {loop}"
        return f"{orders}, but not the next round after it: end the loop's body with a __syncthreads() too"
    return (
        f"{where}: threads that return in line {left} never reach it, and it waits for the others only. "
        "Put the work into an if, so that every thread of the block stays until the last barrier"
    )


# --------------------------------------------------------------------------------------------------------------- others


def _returned(read: _Read) -> str:
    """The one output was never written: a thread may have left before the store."""
    said = read.found.message
    left = next((at for at in range(1, len(read.lines) + 1) if _RETURN.search(read.text(at))), None)
    if left is None or "never written" not in said or "elements" in said:
        return ""
    element = f"{read.found.array}[{read.found.index}]"
    return f"does the thread that should write {element} return before it does, in line {left}?"


_LOOKS: dict[str, Callable[[_Read], str]] = {
    "out_of_bounds": _stray, "race": _unordered, "wrong": _returned,
    "missing_async_wait": lambda read: lacking_wait(read.found, read.lines),
}  # fmt: skip
