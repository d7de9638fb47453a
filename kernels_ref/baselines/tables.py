"""Library calls that look entries of a table up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Arrays = Mapping[str, Any]
Numbers = Mapping[str, float]
Run = Callable[[], Any]

BRANCHES, STEPS, NUMBERS = 8, 128, 4096
NODES_PER_SEARCH, ENTRIES_PER_SEARCH = 384, 12288


def walks(arrays: Arrays, numbers: Numbers) -> Run:
    """Take each step of all searches with one gather of CuPy, and count in the log with one comparison a round."""
    import cupy

    searches, rounds, out = int(numbers["searches"]), int(numbers["rounds"]), arrays["out"]
    nodes = NODES_PER_SEARCH * searches

    def hashed(word: Any) -> Any:
        mixed = word * cupy.uint32(0x9E3779B1)
        return (mixed ^ (mixed >> 15)) * cupy.uint32(0x85EBCA77)

    def scaled(word: Any) -> Any:
        return (word.astype(cupy.uint64) * nodes >> 32).astype(cupy.uint32)

    mixed = hashed(cupy.arange(BRANCHES * nodes, dtype=cupy.uint32))
    index = scaled(mixed ^ (mixed >> 13))
    log = cupy.tile(hashed(cupy.arange(ENTRIES_PER_SEARCH, dtype=cupy.uint32)) >> 20, searches)

    def run() -> None:
        keys = cupy.asarray(arrays["keys"])
        places = cupy.empty((rounds, searches), cupy.uint32)
        place = scaled(keys)
        for number in range(rounds):
            key = keys + cupy.uint32(number)
            for _ in range(STEPS):
                key = key * cupy.uint32(1664525) + cupy.uint32(1013904223)
                place = index[place * cupy.uint32(BRANCHES) + (key >> 29)]
            places[number] = place
            found = (log == place[0] % cupy.uint32(NUMBERS)).sum(dtype=cupy.uint32)
            place = (place + found) % cupy.uint32(nodes)
        places.reshape(-1).get(out=out)

    return run
