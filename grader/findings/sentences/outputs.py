"""Sentences of wrong outputs, missed techniques, and notes on launch lines and parameters. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from grader.findings.record import Finding
from grader.text import listed

PLAIN = {
    "active_mask": "the mask of {facts[call]} in line {found.line} comes from __activemask(): the lanes that happen to "
    "be together there. Nothing promises that these are all that should take part: name them by a rule of your own",
    "barrier_in_branch": "the __syncthreads() in line {found.line} is inside `if ({facts[condition]})`, and warps end "
    "without it. This works, because ended warps do not count, but CUDA C asks for all threads of the block; lanes of "
    "one warp have __syncwarp()",
    "bug_found": "`// bug:` names the right line, but the kernel still fails: what stands there now does not fix it",
    "parameter_type": "{found.kernel} declares {facts[declared]}, but {facts[holds]}: probably this is the cause",
}


def answer(found: Finding) -> str:
    """A comment that is graded, such as `// bug: LINE`."""
    return _ANSWERS[found.cause].format(**found.facts)


_ANSWERS: Mapping[str, str] = {
    "missing": "the results are right, but the file has no answer `{form}`",
    "unreadable": "the results are right, but the answer after `// bug:` is not one line number",
    "several": "the results are right, but {count} comments `{form}` say different things",
    "outside": "the kernel is right, but `// bug: {named}` names no line of the stub, which has 1 to {length}",
    "elsewhere": "the kernel is right, but the stub's bug is not in its line {named}",
    "other_kernel": "the kernel is not the one that was handed out, about which the answers are",
    "no_limit": "the answer after `// bound:` is none of the words {words}",
    "other_limit": "`{word}` is not what limits this kernel: by its counters something else takes longer",
    "no_number": "the answer after `// predict:` is not a number",
    "other_count": "with CHANGED defined, the count of {counter} is not {predicted}",
}


def technique(found: Finding) -> str:
    """A right result without the technique of its step."""
    facts = found.facts
    if found.cause == "no_kernel":
        return "run() launched no kernel: the host computed the answer by itself"
    if found.cause == "by_the_host":
        return f"the host computed {facts['computed']} of {facts['outputs']} by itself: no kernel computed these values"
    if found.cause == "elsewhere":
        here, there = (", ".join(f"{k}={v}" for k, v in facts[one].items()) for one in ("size", "met_size"))
        counted = f"at {here} {facts['found']}, although it is {facts['met']} at {there}"
        return f"{counted}; this step asks for {facts['asked']}. {facts['why']}"
    if found.cause == "padding":
        return f"{_padding(found)}, and this step asks for {facts['asked']}. {facts['why']}"
    worst = _worst(facts["worst_lines"], facts["worst"]) if "worst" in facts else ""
    parts = (f"{facts['found']}; this step asks for {facts['asked']}.", worst, facts["why"], facts.get("note", ""))
    return " ".join(part for part in parts if part)


MOST_LINES = 4


def _worst(lines: Sequence[int], has: str) -> str:
    """The line that has most, or all that have as much."""
    if len(lines) == 1:
        return f"Line {lines[0]} stands out with {has}."
    return f"Lines {listed(map(str, lines))} have {has} each." if len(lines) <= MOST_LINES else ""


_COUNTED = {"wmma": ("mma instruction", "mma instructions"), "async": ("asynchronous copy", "asynchronous copies")}


def _padding(found: Finding) -> str:
    """How many of the counted instructions change no output, and what the others make of the counter."""
    few, of, (space, *rest) = found.facts["unneeded"], found.facts["of"], found.facts["counter"].split("_")
    kind, preposition = ("load", "from") if "load" in rest else ("store", "to") if "store" in rest else ("access", "to")
    where = f"{preposition} {'shared' if space == 'shared' else 'global'} memory"
    one, many = _COUNTED.get(space, (f"{kind} {where}", f"{kind}{'es' if kind == 'access' else 's'} {where}"))
    which = f"{few} of the {of} {many} change{'s' * (few == 1)} no output"
    if few == of:
        which = f"the only {one} changes no output" if of == 1 else f"none of the {of} {many} changes an output"
    return f"{which}; {found.facts['found']} without {'it' if few == 1 else 'them'}"


def passes(found: Finding) -> str:
    """A pass has another number of blocks than its `by` leaves elements, which is right if a block stores several."""
    disagree = disagreement(found.facts["line"], found.facts["blocks"], found.facts["leaves"])
    return f"{disagree}. A kernel in which each block stores one element needs one block for each of them"


def disagreement(line: int, blocks: int, leaves: int) -> str:
    starts = f"a pass starts {blocks} block{'s' * (blocks != 1)}, but `by` leaves {leaves}"
    return f"grid= and `by` in line {line} disagree: {starts}"


# ------------------------------------------------------------------------------------------------------- wrong outputs


def wrong(found: Finding) -> str:
    """``c[1022] at n=1023: got 0.0, expected 1.25; 1 of 1023 elements is wrong; …``."""
    if found.cause == "overwritten":
        return f"the kernel overwrote its input {found.array}"
    if found.cause == "overwritten_in_host_memory":
        return f"run() has changed the input {found.array} in host memory"
    facts = found.facts
    row = f" ({_numbered(facts['place'])})" if facts.get("place") else ""
    element = f"{found.array}[{found.index}]" if found.index is not None else f"an element of {found.array}"
    case = ", ".join(f"{name}={value}" for name, value in facts["size"].items())
    writer = ""
    if found.thread is not None and found.block is not None:
        writer = f"it is probably thread {found.thread[0]} of block {found.block[0]} that should write it"
    parts = (
        f"{element}{row} at {case}: {_values(facts)}",
        _how_many(facts["wrong"], facts["count"]),
        "only three blocks ran" if "elements" in facts else "",
        _guess(found),
        writer,
        f"it would be right for {facts['since']}" if "since" in facts else "",
    )
    return "; ".join(part for part in parts if part)


def _numbered(place: Mapping[str, int]) -> str:
    """``head 0, query 5``."""
    return ", ".join(f"{name} {number}" for name, number in place.items())


def _values(facts: Mapping[str, Any]) -> str:
    """``got 3.0, expected 8.0 (a[37] = 3.0, b[37] = 5.0)``, or that it was never written."""
    made_of = f" ({facts['inputs']})" if facts.get("inputs") else ""
    return f"{_GOT[facts.get('value', 'got')].format(**facts)} expected {facts['expected']}{made_of}"


_GOT: Mapping[str, str] = {
    "got": "got {got},",
    "unwritten": "it was never written;",
    "unwritten_or_computed": "it was never written, or was computed from values that were never written;",
}


def _how_many(count: int, of: int) -> str:
    if of == 1:
        return ""
    if count == of:
        return f"all {of} elements are wrong"
    return f"{count} of {of} elements {'is' if count == 1 else 'are'} wrong"


def _guess(found: Finding) -> str:
    """A pattern in the whole array: "the array is a copy of a"; "" if there is none."""
    words = _GUESSES.get(found.cause, "")
    return words(found) if callable(words) else words.format(found=found, facts=found.facts)


def _nan(found: Finding) -> str:
    count = found.facts["nan"]
    alone = count == found.facts["wrong"] == 1
    number = "it is" if alone else f"{count} of them {'is' if count == 1 else 'are'}"
    return f"{number} NaN: 0/0, inf − inf, or a value that was never written before it was read"


def _unwritten(found: Finding) -> str:
    count, value = found.facts.get("unwritten", 0), found.facts.get("value")
    which = {"nothing_written": "all elements", "last_unwritten": f"the last {count} elements"}
    of = which.get(found.cause, f"{count} elements")
    if count == 1:  # the sentence says so already
        return ""
    if value == "unwritten_or_computed":
        return f"the same is true of {of}"
    return f"{of} were never written" if count else f"nothing was written to {found.array}"


def _copy(found: Finding) -> str:
    source = found.facts["copy_of"]
    return f"it is {source}[0] unchanged" if found.facts["count"] == 1 else f"{found.array} is a copy of {source}"


def _from(found: Finding) -> str:
    width = found.facts["multiple_of"]
    why = "why there?"
    if width:
        of = f"{found.index} is" if found.index == width else f"{found.index} is a multiple of {width}, which is"
        why = f"{of} probably where the next block, warp or tile begins, so look at what that does"
    return f"everything before it is right, and everything from it on is wrong: {why}"


_GUESSES: Mapping[str, str | Callable[[Finding], str]] = {
    "nothing_written": _unwritten,
    "last_unwritten": _unwritten,
    "unwritten": _unwritten,
    "nan": _nan,
    "constant": "every element of {found.array} is {facts[value_of_all]}",
    "copy": _copy,
    "transposed": "it is the right matrix transposed: rows and columns are swapped",
    "shifted_after": "each holds what belongs to the element after it: an index is off by one",
    "shifted_before": "each holds what belongs to the element before it: an index is off by one",
    "zeros": "each of these is 0",
    "multiple": lambda found: (
        f"{'it' if found.facts['wrong'] == 1 else 'each'} is {found.facts['ratio']} times what it should be"
    ),
    "multiple_in_each_row": lambda found: (
        f"each row is wrong by a factor of its own ({_numbered(found.facts['in_row'])}: {found.facts['ratio']})"
    ),
    "whole_numbers": lambda found: (
        f"{'it is' if found.facts['wrong'] == 1 else 'each of these is'} a whole number, and should not be: is "
        "something computed with integers?"
    ),
    "near": "the error is small (at most {facts[largest]} of the value): a term is missing or counted twice, or the "
    "precision is too low",
    "from_some_element_on": _from,
}
