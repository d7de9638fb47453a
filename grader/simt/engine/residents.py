"""The resident blocks of a launch in which blocks may wait for each other, and the order of their turns.

    new blocks, in order ─▶ each runs until it ends, or waits ─▶ waiting blocks, in order, if memory has changed
            ▲_______________________________________________________________│ as blocks end

A block has memory of its own while it waits. A block that waits for a change of memory (see
`grader.simt.engine.waiting`) gets no turn before memory has changed. If all resident blocks wait so, none can ever
continue: that is a deadlock. Every choice depends on the program's state only.

In an adversarial run resident blocks start in descending order, and each round of turns has the opposite direction of
the one before. After a store that overtook another one, which nobody sees yet, or after each store, its block gets the
next turn when no other block can go on: so all that can act on the store have done so. Then one such block gets a turn.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from grader.simt.engine import findings
from grader.simt.engine.barrier_objects import ROWS
from grader.simt.engine.findings import Finding
from grader.simt.engine.layout import (
    COMMON,
    COPY_QUEUE_BYTES,
    DEADLOCKED,
    FENCES_BYTES,
    RUNNING,
    STORE_BUFFER_BYTES,
    SUSPENDED,
    WARP,
    WORKER,
)
from grader.simt.engine.memory import SHARED_BASE
from grader.simt.engine.shadows import Bytes

if TYPE_CHECKING:
    from grader.simt.engine.launch import GridLaunch


class TooLarge(Exception):
    """Raised when a launch needs more memory or more blocks than the simulator allows."""


class NotResident(TooLarge):
    """Raised when a cooperative launch has more blocks than can be resident at once."""


MOST_BYTES = 2 << 30
"""Maximum memory of all waiting blocks."""
TOLD = 4
"""Maximum of waiting warps in the report of a deadlock."""
MORE_TURNS = 10_000
"""Maximum of turns after a deadlock, to find the block that the others wait for."""
ASKED = 8
"""The number of waiting blocks, of the first and of the last ones, that are tried in this search."""
_COMMON = slice(WORKER.offset[COMMON[0]], WORKER.offset[COMMON[-1]] + 8)


def aligned(size: int) -> Bytes:
    """Zeroed bytes at an address that is a multiple of 64."""
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size]


def block_memory(launch: GridLaunch) -> dict[str, Bytes]:
    """One block's own memory, by the names of WORKER's pointers to it."""
    kernel, warps = launch.kernel, launch.warps
    # Shadow stamps of shared memory have the block's serial number, so that the next block can reuse the cells.
    cells = launch.shared_bytes // kernel.granule["shared"] + 64
    return {
        "warps": aligned(warps * kernel.warp_bytes), "shared": aligned(launch.shared_bytes + 64),
        "local": aligned(kernel.local_bytes * warps * 32 + 512),
        "shared_writes": aligned(8 * cells), "shared_reads": aligned(8 * cells), "known": aligned(128 * 32),
        "lane_known": aligned(4096 * warps), "arrivals": aligned(128 * 16), "fences": aligned(FENCES_BYTES),
        "copies": aligned(COPY_QUEUE_BYTES * warps if kernel.copies else 64),
        "objects": aligned(ROWS * (launch.shared_bytes // 8 + 1) if kernel.objects else 64),
        "stores": aligned(STORE_BUFFER_BYTES * warps if kernel.adversarial else 64),
    }  # fmt: skip


@dataclass(eq=False)
class Resident:
    """A place for a block: a WORKER, and the block's own memory."""

    state: Bytes
    memory: dict[str, Bytes]

    @property
    def index(self) -> int:
        return WORKER.read(self.state, "serial") - WORKER.read(self.state, "serial_base")

    @property
    def status(self) -> int:
        return WORKER.read(self.state, "status")

    @property
    def asleep(self) -> bool:
        """Whether the suspended block waits for a change of memory."""
        return bool(WORKER.read(self.state, "asleep"))

    @property
    def goes_last(self) -> bool:
        """Whether the block waits after a store, until no other one can go on (only in an adversarial run)."""
        return bool(WORKER.read(self.state, "goes_last"))

    @property
    def changes(self) -> int:
        """The number of changes of global memory at the block's last turn."""
        return WORKER.read(self.state, "global_changes")


class Residents:
    """Runs blocks ``first`` to ``last - 1``. ``state`` is the first place, and has the common fields after the run."""

    def __init__(self, launch: GridLaunch, state: Bytes, memory: dict[str, Bytes], first: int, last: int) -> None:
        self.launch, self.next, self.last = launch, first, last
        self.first = self.current = Resident(state, memory)
        self.idle = [self.first]
        self.suspended: list[Resident] = []
        self.limit = max(1, launch.resident)
        self.adversarial = launch.kernel.adversarial
        self.progress: tuple[int, int, int] | None = None
        self.most = max(1, MOST_BYTES // sum(a.size for a in memory.values()))
        self.call = {name: launch.code.function(name, [ctypes.c_void_p]) for name in ("run", "resume")}

    def run(self) -> list[Finding]:
        """Run until all blocks have ended, or one has a fault; returns the findings of a deadlock."""
        found: list[Finding] = []
        while self._enter() and self.suspended:
            if all(self._sleeps(block) for block in self.suspended):
                found = self._deadlock()
                break
            if not self._resume():
                break
        self.first.state[_COMMON] = self.current.state[_COMMON]
        WORKER.write(self.first.state, "status", self.current.status)
        return found

    def _enter(self) -> bool:
        """Start new blocks, as many as can be resident; False if one ended the launch."""
        while self.next < self.last and len(self.suspended) < self.limit:
            together = range(self.next, min(self.last, self.next + self.limit - len(self.suspended)))
            for number in reversed(together) if self.adversarial else together[:1]:
                block = self._place()
                WORKER.write(block.state, "next_block", number)
                WORKER.write(block.state, "last_block", number + 1 if self.adversarial else self.last)
                status = self._turn("run", block)
                if status == SUSPENDED:
                    self.suspended.append(block)
                else:
                    self.idle.append(block)
                    if status != RUNNING:
                        return False
            self.next = together.stop if self.adversarial else WORKER.read(block.state, "next_block")
        return True

    def _resume(self) -> bool:
        """Give each block that may continue a turn; False if one ended the launch."""
        if self.adversarial:
            self.suspended.reverse()
        held = self._held() if self.adversarial else frozenset()
        still: list[Resident] = []
        for i, block in enumerate(self.suspended):
            status = SUSPENDED if block in held or self._sleeps(block) else self._turn("resume", block)
            if status == SUSPENDED:
                still.append(block)
            elif status == RUNNING:
                self.idle.append(block)
            else:
                self.suspended = still + self.suspended[i:]
                return False
        self.suspended = still
        return True

    def _held(self) -> frozenset[Resident]:
        """The blocks that get no turn in this round, because they wait after a store.

        After a round that changed nothing, the last one of them gets a turn.
        """
        held = [block for block in self.suspended if block.goes_last]
        progress = self.current.changes, self.next, len(self.suspended)
        stands, self.progress = progress == self.progress, progress
        return frozenset(held[:-1] if stands else held)

    def _sleeps(self, block: Resident) -> bool:
        return block.asleep and block.changes == self.current.changes

    def _turn(self, name: str, block: Resident) -> int:
        if block is not self.current:
            block.state[_COMMON] = self.current.state[_COMMON]
        self.current = block
        WORKER.write(block.state, "goes_last", 0)
        self.call[name](block.state.ctypes.data)
        return block.status

    def _place(self) -> Resident:
        """An idle place, or a new one. Raises TooLarge if the waiting blocks need too much memory."""
        if self.idle:
            block = self.idle.pop()
            WORKER.write(block.state, "status", RUNNING)
            return block
        if len(self.suspended) >= self.most:
            most = MOST_BYTES >> 30
            raise TooLarge(
                f"{len(self.suspended)} blocks wait for others, and fill the {most} GiB that there are for them"
            )
        state, memory = aligned(WORKER.size), block_memory(self.launch)
        state[:] = self.first.state
        block = Resident(state, memory)
        for name, array in memory.items():
            WORKER.write(block.state, name, array.ctypes.data)
        WORKER.write(block.state, "status", RUNNING)
        return block

    # -- deadlocks --------------------------------------------------------------------------------------------------
    def _deadlock(self) -> list[Finding]:
        """The findings of a deadlock: every resident block waits for a change of memory."""
        found = [self._finding(block, warp) for block in self.suspended for warp in self._sleeping(block)]
        found.sort(key=lambda f: f.address >= SHARED_BASE)  # first those that wait for other blocks
        if self.next < self.last:
            numbers = {block: block.index for block in self.suspended}
            pair = self._who_is_waited_for()
            if pair is not None:
                waiting, other = numbers[pair[0]], pair[1]
                found = [replace(f, other=other + 1) for f in found if f.block == waiting][:1]
        WORKER.write(self.current.state, "status", DEADLOCKED)
        return found[:TOLD]

    def _sleeping(self, block: Resident) -> Iterator[Bytes]:
        """The WARPs of a block whose lanes wait for a change of memory."""
        return (w for w in self._warps(block) if WARP.read(w, "pending") and WARP.read(w, "spun"))

    def _warps(self, block: Resident) -> Iterator[Bytes]:
        stride = self.launch.kernel.warp_bytes
        return (block.memory["warps"][i * stride : i * stride + WARP.size] for i in range(self.launch.warps))

    def _finding(self, block: Resident, warp: Bytes) -> Finding:
        lanes, index = WARP.read(warp, "spun"), WARP.read(warp, "index")
        thread = index * 32 + (lanes & -lanes).bit_length() - 1
        if of_object := WORKER.read(block.state, "waits_at", index):
            at = WORKER.read(block.state, "waits_for", index) & ~7
            state = int(block.memory["shared"][at : at + 8].view(np.uint64)[0])
            return Finding(findings.OBJECT_DEADLOCK, of_object - 1, thread, lanes, block.index, at, state)
        which = "read" if WARP.read(warp, "read_address") else "own"
        address, site = WARP.read(warp, f"{which}_address"), WARP.read(warp, f"{which}_site")
        return Finding(findings.BLOCK_DEADLOCK, site, thread, lanes, block.index, address, 0)

    def _who_is_waited_for(self) -> tuple[Resident, int] | None:
        """A waiting block, and the first block that would let it continue if it could be resident; None if unknown.

        This is only for the message: the launch has failed already, so that changes of its state do not matter.
        """
        kept = self.current.state[_COMMON].copy()
        asked = {*self.suspended[:ASKED], *self.suspended[-ASKED:]}
        waiting = {block: self._watched(block) for block in self.suspended if block in asked}
        found = None
        for late in self._late_turns():
            for block, (places, before) in waiting.items():
                if _bytes_at(places) != before:  # does it continue with a turn?
                    posture = self._posture(block)
                    if self._turn("resume", block) != SUSPENDED or not block.asleep or self._posture(block) != posture:
                        found = block, late
                        break
            if found:
                break
        self.current.state[_COMMON] = kept
        return found

    def _late_turns(self) -> Iterator[int]:
        """Give turns to the blocks that were not resident, in order, round after round; yields each block's number."""
        late: list[Resident] = []
        self.idle = []
        for _ in range(MORE_TURNS):
            if self.next < self.last:
                if len(self.suspended) + len(late) >= self.most:
                    return
                block, call = self._place(), "run"
                WORKER.write(block.state, "next_block", self.next)
                WORKER.write(block.state, "last_block", self.next + 1)
                self.next += 1
            else:
                awake = next((i for i, other in enumerate(late) if not self._sleeps(other)), None)
                if awake is None:
                    return
                block, call = late.pop(awake), "resume"
            status = self._turn(call, block)
            if status not in (RUNNING, SUSPENDED):
                return
            if status == SUSPENDED:
                late.append(block)
            yield block.index

    def _watched(self, block: Resident) -> tuple[list[Bytes], list[bytes]]:
        """The places in global memory that a block's sleeping warps read last, and their present content."""
        places = []
        for warp in self._sleeping(block):
            address = WARP.read(warp, "read_address")
            found = [a for a in self.launch.arrays if a.holds(address)]
            places += [a.data[address - a.address :][:8] for a in found]
        return places, _bytes_at(places)

    def _posture(self, block: Resident) -> list[tuple[int, ...]]:
        """The state of the block's warps: if a turn does not change it, the block still waits."""
        fields = ("alive", "pending", "spun", "waits", "read_site", "read_address")
        return [tuple(WARP.read(warp, name) for name in fields) for warp in self._warps(block)]


def _bytes_at(places: list[Bytes]) -> list[bytes]:
    return [place.tobytes() for place in places]
