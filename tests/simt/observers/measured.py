"""What Nsight Compute counted on an H200: a selection of the patterns of scripts/nsight/patterns.cu, per request."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

Pattern = dict[str, Any]
DATA = Path(__file__).parent / "data" / "h200_patterns.json"
PATTERNS: list[Pattern] = json.loads(DATA.read_text())["patterns"]


def kinds(space: str) -> list[tuple[str, int]]:
    """(operation, width) pairs that were measured."""
    return list(dict.fromkeys((p["operation"], p["width"]) for p in PATTERNS if p["space"] == space))


def patterns(space: str, operation: str, width: int) -> list[Pattern]:
    return [p for p in PATTERNS if (p["space"], p["operation"], p["width"]) == (space, operation, width)]


def pattern(space: str, operation: str, width: int, index: Callable[[int], int], active: int = 0xFFFFFFFF) -> Pattern:
    """A pattern of our own: the element of each lane."""
    return {
        "space": space, "operation": operation, "width": width, "active": active, "index": [index(i) for i in range(32)]
    }  # fmt: skip


def random_patterns(space: str, operation: str, width: int, *, count: int, seed: int) -> list[Pattern]:
    """Patterns in which lanes share, collide and are idle by chance; the same for the same seed."""
    dice = random.Random(f"{seed} {space} {operation} {width}")
    return [_random_pattern(dice, space, operation, width) for _ in range(count)]


def _random_pattern(dice: random.Random, space: str, operation: str, width: int) -> Pattern:
    reach, partner = dice.choice([8, 32, 100, 1000]), dice.choice([0, 0, 1, 2, 4, 16])
    elements = [dice.randrange(reach) for _ in range(32)]
    # Lanes `partner` apart (by xor) share an element; now and then one pair does not.
    shared = [elements[lane & ~partner] for lane in range(32)]
    if dice.random() < 0.2:
        shared[dice.randrange(32)] = dice.randrange(reach)
    active = dice.choice([0xFFFFFFFF, dice.getrandbits(32), dice.getrandbits(32) & dice.getrandbits(32)]) or 1
    return pattern(space, operation, width, shared.__getitem__, active)


def active_lanes(given: Pattern) -> list[int]:
    return [lane for lane in range(32) if given["active"] >> lane & 1]
