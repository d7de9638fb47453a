"""What a case is repeated under; a module of its own, because the simulator's child needs nothing else of a backend."""

from __future__ import annotations

from grader.frozen import dataclass


@dataclass(frozen=True)
class Conditions:
    """What CUDA does not define: a kernel must be right in any case, so cases are repeated under other conditions."""

    order: str = "usual"  # of warps, blocks and stores; or one of `Execution.other_orders`
    undefined: int = 0xFF  # a byte: uninitialised memory, and a shuffle from an inactive lane
    explained: bool = False  # atomic and volatile accesses without an order are findings, too
    keeps_state: bool = False  # module variables keep their values from the run before

    @property
    def poison_word(self) -> int:
        """The 32 bits that fill outputs and scratch arrays at the start, on the simulator."""
        from grader.inputs import POISON_WORD

        return POISON_WORD if self.undefined == Conditions.undefined else self.undefined * 0x01010101


USUAL = Conditions()
