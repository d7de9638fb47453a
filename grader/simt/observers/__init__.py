"""The observers: each compiles its code into the event sites; its counters and findings are read afterwards."""

from __future__ import annotations

from grader.simt.observers.banks import Banks
from grader.simt.observers.base import Observer, ObserverSet
from grader.simt.observers.coalescing import Coalescing
from grader.simt.observers.divergence import Divergence
from grader.simt.observers.overlap import Overlap
from grader.simt.observers.shadow import Shadow

COUNTING: dict[str, type[Observer]] = {
    "divergence": Divergence, "coalescing": Coalescing, "banks": Banks, "overlap": Overlap,
}  # fmt: skip
WATCHING = ("races", "uninitialised")
OBSERVERS = (*COUNTING, *WATCHING)
"""Names of all observers. Bounds and alignment are always checked, by the memory requests themselves."""
EVERY_PAIR = "every_pair"
"""In addition: accesses without an order are reported although both are atomic or volatile, and so no race."""


def observer_set(names: frozenset[str]) -> ObserverSet:
    """The named observers as one."""
    chosen = [kind() for name, kind in COUNTING.items() if name in names]
    if names & set(WATCHING):
        watched = {name: name in names for name in (*WATCHING, EVERY_PAIR)}
        chosen.append(Shadow(**watched))
    return ObserverSet(tuple(chosen))
