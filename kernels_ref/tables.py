"""Oracles for kernels that look entries of a table up."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, npt.NDArray[np.generic]]
Numbers = Mapping[str, float]
Outputs = dict[str, npt.NDArray[np.float64]]
Words = npt.NDArray[np.uint32]

BRANCHES = 8
STEPS = 128
NUMBERS = 4096
NODES_PER_SEARCH = 384
ENTRIES_PER_SEARCH = 12288


def walks(inputs: Inputs, numbers: Numbers) -> Outputs:
    """Where each search stands after each round: ``keys`` is (searches,), ``out`` is (rounds·searches,).

    A search takes STEPS steps a round, by branches that its key tells. From the second round on it begins as many nodes
    behind its place as the number of search 0's place occurs in the log.
    """
    keys = inputs["keys"].astype(np.uint32)
    nodes = NODES_PER_SEARCH * len(keys)
    place = scaled(keys, nodes)
    places = []
    for number in range(int(numbers["rounds"])):
        if number:
            found = occurrences()[place[0] % NUMBERS] * np.uint32(len(keys))
            place = (place + found) % np.uint32(nodes)
        place = walked(place, keys + np.uint32(number), nodes)
        places.append(place)
    return {"out": np.concatenate(places).astype(np.float64)}


def walked(place: Words, key: Words, nodes: int) -> Words:
    """The nodes after STEPS steps, (searches,)."""
    for _ in range(STEPS):
        key = key * np.uint32(1664525) + np.uint32(1013904223)
        place = successor(place * np.uint32(BRANCHES) + (key >> np.uint32(29)), nodes)
    return place


def successor(entry: Words, nodes: int) -> Words:
    """What the index holds at each entry: a multiplicative hash of 32 bits, scaled to [0, nodes)."""
    mixed = entry * np.uint32(0x9E3779B1)
    mixed = (mixed ^ (mixed >> np.uint32(15))) * np.uint32(0x85EBCA77)
    return scaled(mixed ^ (mixed >> np.uint32(13)), nodes)


def scaled(word: Words, limit: int) -> Words:
    """Each word's place in [0, limit), in proportion."""
    return (word * np.uint64(limit) >> np.uint64(32)).astype(np.uint32)


@lru_cache
def occurrences() -> Words:
    """How often each number occurs in one search's part of the log, (NUMBERS,): all parts are alike."""
    mixed = np.arange(ENTRIES_PER_SEARCH, dtype=np.uint32) * np.uint32(0x9E3779B1)
    mixed = (mixed ^ (mixed >> np.uint32(15))) * np.uint32(0x85EBCA77)
    return np.bincount(mixed >> np.uint32(20), minlength=NUMBERS).astype(np.uint32)


def corrected(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``out[i] = Σ curve[t] · x[i]^t + offset[sensor[i]]``; ``curve`` is (8,), ``offset`` (256,), the others (n,)."""
    x, curve, offset = (inputs[name].astype(np.float64) for name in ("x", "curve", "offset"))
    return {"out": np.polynomial.polynomial.polyval(x, curve) + offset[inputs["sensor"]]}
