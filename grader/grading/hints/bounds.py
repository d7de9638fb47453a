"""Hints for accesses outside arrays: the condition or the index at fault."""

from __future__ import annotations

import re
from collections.abc import Sequence

from grader.compile.parsing import Part
from grader.findings.record import Finding
from grader.findings.sentences.words import Words, elements
from grader.grading.hints.arrays import (
    accesses_of,
    array_length,
    array_name,
    index_at_fault,
    indexed,
    is_whole,
    matrix_of,
    scratch_length,
    value_of,
)
from grader.grading.hints.indices import (
    all_bounds,
    all_of_one,
    made_of,
    of_the_access,
    one_index,
    plain,
    words,
)
from grader.grading.hints.rules import Seen, kernel, rule, stray
from grader.grading.source_view import SourceView
from grader.launch import Launch, LaunchPlan
from grader.text import listed


@rule("out_of_bounds", example=stray("beyond_end", 64, 63), cause="beyond_end",
      seen=kernel("if (r < rows || c < cols) src[r * cols + c] = 1;"))  # fmt: skip
def all_must_be_inside(found: Finding, seen: Seen) -> str:
    """A condition is true for threads that are inside of the array in one of two directions only."""
    index, _ = indexed(found, seen)
    pointer = _begins_inside(of_the_access(found, seen.source), found, seen)
    index += f" + {pointer.texts[1]}" if pointer and index else ""
    for access in of_the_access(found, seen.source)[:1] if index else ():
        for text in seen.source.conditions(access):
            if all_of_one(text, index, "||"):
                return f"`{text}` is true where one of these is true, and all of them must be: write `&&` for `||`"
        for text in (one.texts[0] for one in seen.source.guards(access.line)):
            if all_of_one(text, index, "&&"):
                return f"threads leave where all of `{text}` is true, and one of these is enough: write `||` for `&&`"
    return ""


@rule("out_of_bounds", example=stray("beyond_end", 63, 63), seen=kernel("if (t <= 63) src[t] = 1;"), cause="beyond_end")
def one_too_many(found: Finding, seen: Seen) -> str:
    """``<=`` instead of ``<``: for the index, or for its row or column."""
    index, known = indexed(found, seen)
    matrix = matrix_of(found, seen, index, known)
    if matrix is None:
        at = known.get(plain(index))
        is_length = at is not None and value_of(at.more, found, seen) == array_length(found) == found.index
    else:
        at = next((known[term] for term in (matrix.column, matrix.row) if term in known and known[term].or_equal), None)
        is_length = is_whole(matrix, known, found, seen)
    if at is None or not at.or_equal or not is_length:
        return ""
    through = f"`{at.less}` = `{at.more}` through, which is one too many"
    if at.by_leaving:
        return f"the `if` that returns lets {through}: write `{at.less} >= {at.more}`"
    return f"`{at.less} <= {at.more}` also lets {through}: write `{at.less} < {at.more}`"


_TURNED = "__global__ void k(float* src, int n) {\n\n\nif (t < n) return;\nsrc[t] = 1;\n}"
_OF_64 = LaunchPlan((Launch(kernel="k", args=("x", 64), grid=(1, 1, 1), block=(64, 1, 1)),))


@rule("out_of_bounds", example=stray("beyond_end", 64, 64, line=5), seen=Seen(SourceView(_TURNED), _OF_64),
      cause="beyond_end")  # fmt: skip
def guard_turned_round(found: Finding, seen: Seen) -> str:
    """An ``if`` that returns takes out the threads that have an element, and lets the others go on."""
    index, known = indexed(found, seen)
    at = next((at for at in known.values() if at.by_leaving and at.more == plain(index)), None)
    if at is None or value_of(at.less, found, seen) != array_length(found):
        return ""
    goes = (
        f"the `if` that returns takes out the threads that have an element, and lets `{at.more}` = {found.index} go on"
    )
    return f"{goes}: return where `{at.more} >= {at.less}`"


@rule("out_of_bounds", example=stray("beyond_end", 64, 63), cause="beyond_end",
      seen=kernel("if (r < rows && c < cols) src[c * cols + r] = 1;"))  # fmt: skip
def length_of_a_row(found: Finding, seen: Seen) -> str:
    """Row and column have bounds, but the index multiplies the row by another length than that of a row."""
    index, known = indexed(found, seen)
    matrix = matrix_of(found, seen, index, known)
    if matrix is None or not {matrix.row, matrix.column} <= known.keys():
        return ""
    access = of_the_access(found, seen.source)[0]
    if any(at.less == matrix.column and at.more == matrix.length for at in all_bounds(seen.source, access)):
        return ""
    ends = f"`{matrix.column}` ends at `{known[matrix.column].more}`"
    return (
        f"in `{index}` a row is `{matrix.length}` elements long, but {ends}: how long is a row of {array_name(found)}, "
        f"and is the condition on `{matrix.column}` right?"
    )


@rule("out_of_bounds", example=stray("beyond_end", 64, 63), cause="beyond_end",
      seen=kernel("if (c < cols) src[r * cols + c] = 1;"))  # fmt: skip
def row_or_column_that_nothing_bounds(found: Finding, seen: Seen) -> str:
    """Only one of row and column has a bound."""
    index, known = indexed(found, seen)
    matrix = matrix_of(found, seen, index, known)
    if matrix is None or (matrix.column in known and known[matrix.column].more != matrix.length):
        return ""
    terms = {"row": matrix.row, "column": matrix.column}
    free = [f"its {name} `{term}`" for name, term in terms.items() if term not in known]
    access = of_the_access(found, seen.source)[0]
    asked = (*seen.source.conditions(access), *(one.texts[0] for one in seen.source.guards(access.line)))
    looked_at = {word for text in asked for word in made_of(text, seen.source, access.line)}
    if not free or any(words(term) & looked_at for term in terms.values() if term not in known):
        return ""
    return f"nothing compares {' or '.join(free)} in `{index}`: row and column must be inside, each by itself"


@rule("out_of_bounds", example=stray("beyond_end", 63, 63), seen=kernel("if (t < 64) src[t] = 1;"))
def condition_lets_it_through(found: Finding, seen: Seen) -> str:
    """The condition at the access is true for the index: quote both."""
    accesses = accesses_of(found, seen)
    conditions = {seen.source.condition(access) for access in accesses}
    condition = conditions.pop() if len(conditions) == 1 else ""
    # % chooses threads of the block; no remainder keeps thread 0 out.
    chooses = found.space == "shared" and any(found.thread or ())
    if not re.search("[<>%]" if chooses else "[<>]", condition):
        return ""
    who, expression = Words(found).thread(found.thread), index_at_fault(accesses, found, seen)
    if _begins_inside(accesses, found, seen):
        return ""
    loop = seen.source.loop(found.line or 0)
    too_long = f" Or does the loop in line {loop.line} begin or end at another value than it should?" if loop else ""
    through = f"lets {who} through to index {found.index} of {array_name(found)}"
    if expression and plain(expression) not in plain(condition):
        through += f", which is `{expression}`: is that the element you mean, and does the condition look at it?"
    elif not expression and len({one.texts for one in accesses}) > 1:
        through += ": is each index in this line right, and which threads should the condition let through?"
    else:
        through += ": which threads should it let through?"
    return f"the condition `{condition}` {through}{too_long}{_or_too_short(found, seen)}"


def _begins_inside(accesses: Sequence[Part], found: Finding, seen: Seen) -> Part | None:
    """The pointer of the access, if it is the line's only variable that points into the array, and not at its begin."""
    names = {*found.names, found.array}
    others = {one.name: seen.source.local(one.name, one.line) for one in accesses if one.name not in names}
    pointers = [one for one in others.values() if one is not None and "*" in one.texts[0]]
    into_it = [one for one in pointers if names & made_of(one.texts[1], seen.source, one.line)]
    return into_it[0] if len(into_it) == 1 and re.search(r"[+[]", into_it[0].texts[1]) else None


@rule("out_of_bounds", example=stray("beyond_end", 64, 64, space="shared", array="part"), cause="beyond_end",
      seen=kernel("for (int s = 32; s > 0; s /= 2)", "part[t] += part[t + s];"))  # fmt: skip
def all_threads_add(found: Finding, seen: Seen) -> str:
    """A step of a tree without a condition: also the threads add that have no partner."""
    line = found.line or 0
    loop, accesses = seen.source.loop(line), accesses_of(found, seen)
    alike = {access.name for access in accesses}
    if found.space != "shared" or loop is None or len(alike) != 1 or seen.source.guards(line):
        return ""
    indices = {text for access in accesses for text in access.texts if access.kind == "element"}
    if len(indices) != 2 or any(map(seen.source.conditions, accesses)):
        return ""
    own, other = sorted(map(plain, indices), key=len)
    if not other.startswith(f"{own} + "):
        return ""
    who = Words(found).thread(found.thread)
    return (
        f"all threads of the block come to line {line}, also {who}, for which `{other}` is {found.index}: put an `if` "
        "before it that lets only those through that have a partner in this step"
    )


@rule("out_of_bounds", example=stray("beyond_end", 63, 63), cause="beyond_end",
      seen=kernel("const float* p = src + n * threadIdx.x; p[t] = 1;"))  # fmt: skip
def pointer_into_the_array(found: Finding, seen: Seen) -> str:
    """An access through a pointer to a place in the array."""
    accesses = of_the_access(found, seen.source)
    names = {access.name for access in accesses}
    local = seen.source.local(accesses[0].name, found.line or 0) if len(names) == 1 else None
    if local is None or "*" not in local.texts[0] or not local.texts[1]:
        local = _begins_inside(accesses, found, seen)
    if local is None:
        return ""
    accesses = [one for one in accesses if one.name == local.name]
    begins = f"`{local.name}` begins at `{local.texts[1]}`, line {local.line}"
    goes = f", and how far may `{one_index(accesses)}` go from there" if one_index(accesses) else ""
    return f"{begins}: is that its place in {array_name(found)}{goes}?"


@rule("out_of_bounds", example=stray("beyond_end", 63, 63, line=5), seen=kernel("if (t >= 64) return;", "src[t] = 1;"),
      cause="beyond_end")  # fmt: skip
def bound_lets_it_through(found: Finding, seen: Seen) -> str:
    """A loop, or an `if` that returns, bounds a part of the index."""
    index, known = indexed(found, seen)
    about = [at for at in known.values() if words(at.less) & words(index)]
    if not about:
        return ""
    holds = listed(f"`{at.less} {'<=' if at.or_equal else '<'} {at.more}`" for at in about)
    who = Words(found).thread(found.thread)
    goes = f"{who} comes to index {found.index} of {array_name(found)}, which is `{index}`"
    asks = "is that the element you mean, and is the bound right?"
    return f"although {holds}, {goes}: {asks}{_or_too_short(found, seen)}"


def _or_too_short(found: Finding, seen: Seen) -> str:
    if found.space == "shared":
        return f" Or has {array_name(found)} too few elements?"
    return f" Or does the `// scratch` line give {found.array} too few elements?" if _is_own(found, seen) else ""


def _is_own(found: Finding, seen: Seen) -> bool:
    """Whether it is a scratch array, whose length the file says and the stub does not."""
    return scratch_length(found, seen) is not None and not seen.given_launches


@rule("out_of_bounds", example=stray("before_start", -1, 64), cause="before_start")
def before_the_array(found: Finding, seen: Seen) -> str:
    accesses = of_the_access(found, seen.source)
    text = one_index(accesses)
    if not text or accesses[0].name not in (*found.names, found.array):
        return f"index {found.index} lies before the array: if the index is right, this thread has to skip the access"
    return f"`{text}` is {found.index} for this thread: is that the element you mean? If so, the thread has to skip it"


@rule("out_of_bounds", cause="beyond_end",
      example=stray("beyond_end", 64, 64, space="shared", array="part", facts={"dynamic": True}))  # fmt: skip
def beyond_what_the_launch_line_gives(found: Finding, seen: Seen) -> str:
    """Past the launch line's shared memory, although that has an element for every thread."""
    if not found.facts.get("dynamic"):
        return ""
    count, who = array_length(found), Words(found).thread(found.thread)
    loop = seen.source.loop(found.line or 0)
    too_long = f"or does the loop in line {loop.line} go on for too long" if loop else ""
    wide = f"is the index too large, {too_long or f'or a condition that lets {who} get there'}?"
    more = f"Only if a block does need more than {elements(count)}, make shared= larger"
    return f"shared={found.facts['array_bytes']} gives the block {elements(count)}, 0 to {count - 1}: {wide} {more}"


@rule("out_of_bounds", example=stray("beyond_end", 64, 63))
def length_of_the_array(found: Finding, seen: Seen) -> str:
    if found.space == "shared" and found.cause == "beyond_end":
        loop = seen.source.loop(found.line or 0)
        too_long = f", does the loop in line {loop.line} end in time" if loop else ""
        return f"is the index right{too_long}, and has {Words(found).name} as many elements as it needs?"
    if found.cause == "beyond_end" and _is_own(found, seen):
        has = f"the `// scratch` line gives {found.array} {elements(array_length(found))}"
        return f"{has}: is the index right, and is that as many as it needs?"
    compare = "compare the index with the array's length before the access"
    if found.cause != "beyond_end":
        return compare
    count, name = array_length(found), Words(found).name
    return f"{compare}: here {name} has {elements(count)}" + (f", 0 to {count - 1}" if count > 1 else f", {name}[0]")
