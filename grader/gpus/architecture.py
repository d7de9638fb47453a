"""GPU architectures by name: ``sm_80``, ``sm_90a``. Pure.

PTX for ``sm_80`` runs on every GPU from compute capability 8.0 on. A letter takes that back: what is compiled for
``sm_90a`` runs on 9.0 alone, for ``sm_100f`` on the family 10.x (PTX ISA manual, ``.target``).
"""

from __future__ import annotations

from grader.simt import occupancy

Capability = tuple[int, int]


def capability(architecture: str) -> Capability:
    """``sm_80`` as ``(8, 0)``; a suffix as in ``sm_90a`` says nothing here."""
    digits = architecture.removeprefix("sm_").rstrip("abcdef")
    return int(digits[:-1]), int(digits[-1])


def simulable(requires: str) -> bool:
    """Whether the simulator runs what needs ``requires``: it is not newer than the simulated device."""
    return capability(requires) <= SIMULATED


def serves(here: Capability, architecture: str) -> bool:
    """Whether a device of capability ``here`` runs what is compiled for ``architecture``."""
    wanted = capability(architecture)
    if architecture.endswith("a"):
        return here == wanted
    return here >= wanted and (not architecture.endswith("f") or here[0] == wanted[0])


def real(here: Capability, target: str) -> str:
    """What ptxas assembles PTX of ``target`` for, on a device of capability ``here``: ``sm_90``, or ``sm_90a``."""
    suffix = target[-1] if target[-1].isalpha() and serves(here, target) else ""
    return f"sm_{here[0]}{here[1]}{suffix}"


def in_words(architecture: str) -> str:
    """E.g. "a GPU of compute capability 9.0 (no older one, and no newer one)"."""
    which = {"a": " (no older one, and no newer one)", "f": " or newer of its family"}
    words = "a GPU of compute capability {}.{}".format(*capability(architecture))
    return words + which.get(architecture[-1], " or newer")


SIMULATED = capability(occupancy.SIMULATED)
"""Compute capability of the simulated device."""
