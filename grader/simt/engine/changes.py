"""Changed results: a run with other values for what some instructions load, store or compute (`Options.changed`).

Whether anybody needs them shows in the outputs. It is a switch in the usual machine code: a byte for each event site.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from grader.simt.engine import ir
from grader.simt.engine.builder import Builder, generated
from grader.simt.engine.layout import WORKER
from grader.simt.engine.values import I8, I32, I64, PTR, VOID, Value

INVERTED, ZERO = 1, 2
"""What becomes of the bits of a result. A maximum may survive the one, a sum of zeros the other."""


def how_changed(f: Builder, worker: Value, site: Value) -> Value:
    """How this run changes the result of the instruction at ``site`` (i32): i8, 0 where it does not."""
    return f.load(I8, f.at(WORKER.load(f, worker, "changed"), site.zext(I64)))


@contextmanager
def at_site(f: Builder, worker: Value, site: Value) -> Iterator[Value]:
    """Build what follows for the case that this run changes the result at ``site``; gives how."""
    how = how_changed(f, worker, site)
    with f.if_(how.ne(0), likely=False):
        yield how


def changed(value: Value, how: Value) -> Value:
    """The integers with all bits inverted, or 0."""
    return how.eq(INVERTED).select(value ^ -1, 0)


@generated("drop", VOID, PTR, I32, PTR, I64)
def drop(module: ir.IRModule, f: Builder) -> None:
    """drop(worker, site, place, bytes): make a factor of a matrix product 0, where this run changes the product.

    What is left is the sum that it was added to: a product with zeros changes nothing.
    """
    worker, site, place, size = f.args
    with at_site(f, worker, site):
        f.memset(place, 0, size)
