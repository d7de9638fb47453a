"""Sentences of races: two accesses without an order. Pure."""

from __future__ import annotations

from grader.findings.kinds import KINDS
from grader.findings.sentences.words import Words
from grader.text import listed


def race(w: Words) -> str:
    if w.found.cause == "several_readers":
        own = w.access(w.found.places[0], with_block=False)
        return f"race on {w.array}: {own}, and read by another thread with no barrier between"
    if w.found.cause == "scope_of_the_block":
        return f"{_two(w, with_block=True)}: this atomic is one step for the threads of its own block only"
    blocks = w.found.cause == "between_blocks"
    return f"{_two(w, with_block=blocks)}, " + ("in different blocks of one launch" if blocks else "no barrier between")


def missing_fence(w: Words) -> str:
    return f"{_two(w, with_block=True)}, in different blocks"


MOST_LINES = 3
"""Maximum of lines in the sentence."""


def order_dependent(w: Words) -> str:
    """Right in the simulator's usual order, but not in another order that a GPU may choose."""
    start = "the answer depends on the order in which warps and blocks run: in another order that a GPU may choose, "
    roles: dict[int, list[str]] = {}  # by line, which may have several accesses
    for role, line in w.fact("accesses"):
        roles.setdefault(line, []).append(_STRONG[role])
    lines = [f"line {line} ({listed(words)})" for line, words in roles.items()]
    look = f"; look at {listed(lines)}" if 0 < len(lines) <= MOST_LINES else ""
    if w.found.places:
        blocks = len({place.block for place in w.found.places}) > 1
        two = (w.access(place, with_block=blocks) for place in w.found.places)
        look = f"; nothing orders two accesses of {w.fact('pair_in')}: {', '.join(two)}"
    if "kind" in w.found.facts:
        return start + KINDS[w.fact("kind")].meaning + look
    case = ", ".join(f"{name}={value}" for name, value in w.fact("size").items())
    got = f"{w.fact('got')}, expected {w.fact('expected')}" if w.fact("value") == "got" else "never written"
    return f"{start}{w.found.array}[{w.found.index}] at {case} is {got}{look}"


_STRONG = {"read": "volatile read", "write": "volatile write", "atomic": "atomic"}


def _two(w: Words, *, with_block: bool) -> str:
    first, second = (w.access(place, with_block=with_block) for place in w.found.places)
    return f"race on {w.array}: {first}, {second}"


def missing_async_wait(w: Words) -> str:
    """A copy was in flight: the first place started it, and the second access came before its wait."""
    copy, own = w.found.places
    blocks = copy.block != own.block
    itself = (copy.thread, copy.block) == (own.thread, own.block)
    starter = "it" if itself else w.thread(copy.thread, copy.block if blocks else None)
    started = f"{starter} started {'itself ' if itself else ''}at {w.at(copy.line)}"
    if w.found.cause == "second_copy":
        return (
            f"race on {w.array}: a second asynchronous copy into it, by {w.thread(own.thread)} at {w.at(own.line)}, "
            f"while the one that {started} is still in flight"
        )
    access = f"race on {w.array}: {w.access(own, with_block=blocks)}, while the asynchronous copy that {started}"
    if w.found.cause == "source":
        return f"{access} may still read it"
    return f"{access} is still in flight: {starter} has not waited for it"


def same_value_write(w: Words) -> str:
    first, second = w.found.places
    blocks = (first.block, second.block) if first.block != second.block else (None, None)
    return (
        f"two threads write the same value to {w.array}: {w.thread(first.thread, blocks[0])} at {w.at(first.line)}, "
        f"{w.thread(second.thread, blocks[1])} at {w.at(second.line)}"
    )
