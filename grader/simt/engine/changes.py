"""Changed results: a run with other values for what some instructions load, store or compute (`Options.changed`).

The outputs then show whether a result is needed. The machine code is the usual one: a byte for each event site says
whether, and how, this run changes the results of that site.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from grader.simt.engine import ir
from grader.simt.engine.builder import Builder, generated
from grader.simt.engine.layout import WORKER
from grader.simt.engine.values import I8, I32, I64, PTR, VOID, Value

INVERTED, ZERO = 1, 2
"""How the bits of a result are changed. One way is not enough: a maximum may stay as it is with inverted bits, a sum of
zeros with zeros."""


def how_changed(f: Builder, worker: Value, site: Value) -> Value:
    """How this run changes the result of the instruction at ``site`` (i32): i8, 0 where it does not."""
    return f.load(I8, f.at(WORKER.load(f, worker, "changed"), site.zext(I64)))


@contextmanager
def at_site(f: Builder, worker: Value, site: Value) -> Iterator[Value]:
    """Build the body of ``with`` for runs that change the result at ``site``; yields how (`how_changed`)."""
    how = how_changed(f, worker, site)
    with f.if_(how.ne(0), likely=False):
        yield how


def changed(value: Value, how: Value) -> Value:
    """The integers with all bits inverted, or 0."""
    return how.eq(INVERTED).select(value ^ -1, 0)


@generated("drop", VOID, PTR, I32, PTR, I64)
def drop(module: ir.IRModule, f: Builder) -> None:
    """drop(worker, site, place, bytes): make a factor of a matrix product 0, where this run changes the product.

    The product then adds zeros to the sum.
    """
    worker, site, place, size = f.args
    with at_site(f, worker, site):
        f.memset(place, 0, size)
