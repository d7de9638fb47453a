"""The page docs/ptx-forms.md: every PTX form that the simulator knows, from the table that it decodes with."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import groupby

from grader.simt.isa import FORMS, Example, Form

HEAD = """\
# What the simulator knows of PTX

Written by `scripts/docs` from the table that the simulator decodes with; each example is a test. Everything else ends
in `unsupported`, with the instruction and its source line: [CONTRIBUTING](../CONTRIBUTING.md) says how to add a form.

`{.x}` may be missing; a word in capitals stands for one of the choices below it. An example gives the values by lane,
in the order of the operands; where an operand is a float and its value a hexadecimal number, those are its bits.

Modifiers may stand in any order, as in ptxas; only types, state spaces, and `.row` and `.col`, keep theirs among
themselves. An address is `[register]`, `[variable]`, or a number for local memory, with a constant expression after a
`+`: `[%rd1+-4]`, `[table + 2*8]`, `table[16]`. An instruction without a state space whose address names a shared or
local variable has that variable's.
"""


def ptx_forms() -> str:
    """Return the whole page."""
    forms = [form for forms in FORMS.values() for form in forms if "_" not in form.opcode]  # x_y: the engine's own
    chapters = groupby(sorted(forms, key=lambda form: form.chapter), key=lambda form: form.chapter)
    count = f"{len(forms)} forms of {len({form.opcode for form in forms})} instructions.\n"
    return "\n".join([HEAD, count, *(line for name, members in chapters for line in chapter(name, list(members)))])


def chapter(name: str, forms: Sequence[Form]) -> Iterator[str]:
    """Yield the lines of one chapter: its module's first line, then every form."""
    title = (sys.modules[f"grader.simt.isa.{name}"].__doc__ or name).strip().splitlines()[0]
    yield f"## {title.replace('``', '`').rstrip('.')}\n"
    for form in forms:
        yield from entry(form)
    yield ""


def entry(form: Form) -> Iterator[str]:
    """Yield the lines of one form: its syntax, the choices, the examples."""
    yield f"- `{form.syntax}`"
    for slot in form.slots:
        if slot.choices != {slot.name}:
            yield f"  - {slot.name}: {' '.join(f'`{choice}`' for choice in sorted(slot.choices))}"
    yield from (f"  - {in_words(form, example)}" for example in form.examples)


def in_words(form: Form, example: Example) -> str:
    """Return an example in one line, e.g. "`add.s32` 2147483647, 1 → -2147483648"."""
    if form.raw:
        return f"`{example.text}`"
    match = form.match(example.text.split(".")[1:])
    assert match is not None, f"{example.text} is no example of {form.syntax}"
    kinds = [form.operand_type(name, match) for name in (*form.sources, *form.destinations)]
    results = example.gives if len(form.destinations) > 1 else (example.gives,)
    texts = [lanes(values, kind) for values, kind in zip((*example.sources, *results), kinds, strict=True)]
    taken, given = texts[: len(form.sources)], texts[len(form.sources) :]
    return f"`{example.text}` {', '.join(taken)} → {', '.join(given)}"


def lanes(values: Sequence[float], kind: str) -> str:
    """Return the values by lane; one that is the same for all lanes stands alone."""
    texts = [number(value, kind) for value in values]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def number(value: float, kind: str) -> str:
    """Return one lane's value: a float as it is, the bits of a float in hexadecimal."""
    if isinstance(value, float):
        return f"{value:.9g}" if value != int_or_none(value) else f"{value:.1f}" if abs(value) < 1e15 else f"{value:g}"
    return f"{value:#x}" if "f" in kind else str(value)


def int_or_none(value: float) -> int | None:
    """Return the integer that a float equals, if it is one."""
    return int(value) if value == value and abs(value) != float("inf") and value == int(value) else None
