"""The blocks of a launch that are resident at once, where blocks may wait for each other: whose turn it is.

    new blocks, in order ─▶ each runs until it ends, or waits ─▶ those that wait, in order, as far as memory has changed
            ▲_______________________________________________________________│ as blocks end

A block keeps its own memory while it waits, so that only those blocks cost memory that do. One that waits for a change
of memory (see `grader.simt.engine.waiting`) has no turn before there was one. When all that are resident wait so, none
can ever go on: that is a deadlock. Every choice depends on the program's state only.
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
    SUSPENDED,
    WARP,
    WORKER,
)
from grader.simt.engine.memory import SHARED_BASE
from grader.simt.engine.shadows import Bytes

if TYPE_CHECKING:
    from grader.simt.engine.launch import Launch


class TooLarge(Exception):
    """Raised when a launch needs more memory or more blocks than the simulator gives."""


class NotResident(TooLarge):
    """Raised when a cooperative launch has more blocks than can be resident at once."""


MOST_BYTES = 2 << 30
"""Of all blocks that wait."""
TOLD = 4
"""Waiting warps that a deadlock names."""
MORE_TURNS = 10_000
"""Turns that blocks get, after a deadlock, to find out which one is waited for."""
ASKED = 8
"""Waiting blocks, of the first and of the last ones, that are asked whether that was it."""
_COMMON = slice(WORKER.offset[COMMON[0]], WORKER.offset[COMMON[-1]] + 8)


def aligned(size: int) -> Bytes:
    """Zeroed bytes at an address that is a multiple of 64."""
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size]


def block_memory(launch: Launch) -> dict[str, Bytes]:
    """What one block has for itself, by the names of the fields of WORKER that point to it."""
    kernel, warps = launch.kernel, launch.warps
    # Shadow stamps of shared memory carry running block numbers of the device: the next block may use the cells.
    cells = launch.shared_bytes // kernel.granule["shared"] + 64
    return {
        "warps": aligned(warps * kernel.warp_bytes), "shared": aligned(launch.shared_bytes + 64),
        "local": aligned(kernel.local_bytes * warps * 32 + 512),
        "shared_writes": aligned(8 * cells), "shared_reads": aligned(8 * cells), "known": aligned(128 * 32),
        "lane_known": aligned(4096 * warps), "arrivals": aligned(128 * 16), "fences": aligned(FENCES_BYTES),
        "copies": aligned(COPY_QUEUE_BYTES * warps if kernel.copies else 64),
        "objects": aligned(ROWS * (launch.shared_bytes // 8 + 1) if kernel.objects else 64),
    }  # fmt: skip


def number(state: Bytes, name: str, width: int = 8) -> int:
    """A field of a WORKER."""
    at = WORKER.offset[name]
    return int.from_bytes(state[at : at + width].tobytes(), "little")


@dataclass(eq=False)
class Resident:
    """One place for a block: a WORKER, and what it points to that no other block uses."""

    state: Bytes
    memory: dict[str, Bytes]

    @property
    def block(self) -> int:
        return number(self.state, "serial") - number(self.state, "serial_base")

    @property
    def status(self) -> int:
        return number(self.state, "status", 4)

    @property
    def asleep(self) -> bool:
        """Whether only a change of memory can wake the block that has been suspended."""
        return bool(number(self.state, "asleep", 4))

    @property
    def changes(self) -> int:
        """How often global memory had changed when the block had its last turn."""
        return number(self.state, "global_changes")


class Residents:
    """Runs blocks ``first`` to ``last - 1``. ``state`` is the first place, and has the common fields at the end."""

    def __init__(self, launch: Launch, state: Bytes, memory: dict[str, Bytes], first: int, last: int) -> None:
        self.launch, self.next, self.last = launch, first, last
        self.first = self.current = Resident(state, memory)
        self.idle = [self.first]
        self.suspended: list[Resident] = []
        self.limit = max(1, launch.resident)
        self.most = max(1, MOST_BYTES // sum(a.size for a in memory.values()))
        self.call = {name: launch.code.function(name, [ctypes.c_void_p]) for name in ("run", "resume")}

    def run(self) -> list[Finding]:
        """Run until all blocks have ended, or one is at fault; a deadlock's findings."""
        found: list[Finding] = []
        while self._enter() and self.suspended:
            if all(self._sleeps(one) for one in self.suspended):
                found = self._deadlock()
                break
            if not self._resume():
                break
        self._give_back()
        return found

    def _enter(self) -> bool:
        """Let new blocks in, as many as fit; False where one ended the launch."""
        while self.next < self.last and len(self.suspended) < self.limit:
            one = self._place()
            self._set(one, "next_block", self.next)
            status = self._turn("run", one)
            self.next = number(one.state, "next_block")
            if status == SUSPENDED:
                self.suspended.append(one)
            else:
                self.idle.append(one)
                if status != RUNNING:
                    return False
        return True

    def _resume(self) -> bool:
        """A turn for each block that may go on; False where one ended the launch."""
        still: list[Resident] = []
        for i, one in enumerate(self.suspended):
            status = SUSPENDED if self._sleeps(one) else self._turn("resume", one)
            if status == SUSPENDED:
                still.append(one)
            elif status == RUNNING:
                self.idle.append(one)
            else:
                self.suspended = still + self.suspended[i:]
                return False
        self.suspended = still
        return True

    def _sleeps(self, one: Resident) -> bool:
        return one.asleep and one.changes == self.current.changes

    def _turn(self, name: str, one: Resident) -> int:
        if one is not self.current:
            one.state[_COMMON] = self.current.state[_COMMON]
        self.current = one
        self.call[name](one.state.ctypes.data)
        return one.status

    def _place(self) -> Resident:
        """An idle place, or a new one. Raises TooLarge where so many blocks wait that there is no memory for it."""
        if self.idle:
            one = self.idle.pop()
            self._set(one, "status", RUNNING, 4)
            return one
        if len(self.suspended) >= self.most:
            most = MOST_BYTES >> 30
            raise TooLarge(
                f"{len(self.suspended)} blocks wait for others, and fill the {most} GiB that there are for them"
            )
        state, memory = aligned(WORKER.size), block_memory(self.launch)
        state[:] = self.first.state
        one = Resident(state, memory)
        for name, array in memory.items():
            self._set(one, name, array.ctypes.data)
        self._set(one, "status", RUNNING, 4)
        return one

    @staticmethod
    def _set(one: Resident, name: str, value: int, width: int = 8) -> None:
        at = WORKER.offset[name]
        one.state[at : at + width] = np.frombuffer(value.to_bytes(width, "little"), np.uint8)

    def _give_back(self) -> None:
        """The common fields, and how it ended, to the first place."""
        self.first.state[_COMMON] = self.current.state[_COMMON]
        self._set(self.first, "status", self.current.status, 4)

    # -- deadlocks --------------------------------------------------------------------------------------------------
    def _deadlock(self) -> list[Finding]:
        """Every resident block waits, and nobody is left who could change what it waits for."""
        found = [self._finding(one, warp) for one in self.suspended for warp in self._sleeping(one)]
        found.sort(key=lambda f: f.address >= SHARED_BASE)  # those first that wait for other blocks, not for their own
        if self.next < self.last:
            numbers = {one: one.block for one in self.suspended}
            pair = self._who_is_waited_for()
            if pair is not None:
                waiting, other = numbers[pair[0]], pair[1]
                found = [replace(f, other=other + 1) for f in found if f.block == waiting][:1]
        self._set(self.current, "status", DEADLOCKED, 4)
        return found[:TOLD]

    def _sleeping(self, one: Resident) -> Iterator[Bytes]:
        """The WARPs of a block that wait for a change of memory."""
        stride = self.launch.kernel.warp_bytes
        for i in range(self.launch.warps):
            warp = one.memory["warps"][i * stride : i * stride + WARP.size]
            if _field(warp, "pending") and _field(warp, "spun"):
                yield warp

    def _finding(self, one: Resident, warp: Bytes) -> Finding:
        lanes, index = _field(warp, "spun"), _field(warp, "index")
        thread = index * 32 + (lanes & -lanes).bit_length() - 1
        of_object = int(one.state[WORKER.offset["waits_at"] + 4 * index :][:4].view(np.uint32)[0])
        if of_object:
            at = int(one.state[WORKER.offset["waits_for"] + 4 * index :][:4].view(np.uint32)[0]) & ~7
            state = int(one.memory["shared"][at : at + 8].view(np.uint64)[0])
            return Finding(findings.OBJECT_DEADLOCK, of_object - 1, thread, lanes, one.block, at, state)
        which = "read" if _field(warp, "read_address", 8) else "own"
        address, site = _field(warp, f"{which}_address", 8), _field(warp, f"{which}_site")
        return Finding(findings.BLOCK_DEADLOCK, site, thread, lanes, one.block, address, 0)

    def _who_is_waited_for(self) -> tuple[Resident, int] | None:
        """A waiting block, and the first block that would let it go on if it could be resident.

        Only to say it. The launch has failed already, so nothing that is done here counts.
        """
        kept = self.current.state[_COMMON].copy()
        asked = {*self.suspended[:ASKED], *self.suspended[-ASKED:]}
        waiting = {one: self._watched(one) for one in self.suspended if one in asked}
        found = None
        for late in self._late_turns():
            changed = (one for one, (places, before) in waiting.items() if _bytes_at(places) != before)
            one = next((one for one in changed if self._goes_on(one)), None)
            if one is not None:
                found = one, late
                break
        self.current.state[_COMMON] = kept
        return found

    def _late_turns(self) -> Iterator[int]:
        """Turns of the blocks that were not resident, in order, round after round: each one's number."""
        late: list[Resident] = []
        self.idle = []
        for _ in range(MORE_TURNS):
            if self.next < self.last:
                if len(self.suspended) + len(late) >= self.most:
                    return
                one, call = self._place(), "run"
                self._set(one, "next_block", self.next)
                self._set(one, "last_block", self.next + 1)
                self.next += 1
            else:
                awake = next((i for i, other in enumerate(late) if not self._sleeps(other)), None)
                if awake is None:
                    return
                one, call = late.pop(awake), "resume"
            status = self._turn(call, one)
            if status not in (RUNNING, SUSPENDED):
                return
            if status == SUSPENDED:
                late.append(one)
            yield one.block

    def _watched(self, one: Resident) -> tuple[list[Bytes], list[bytes]]:
        """The global memory that a block's sleeping warps looked at last, and what is there now."""
        places = []
        for warp in self._sleeping(one):
            address = _field(warp, "read_address", 8)
            found = [a for a in self.launch.arrays if a.holds(address)]
            places += [a.data[address - a.address :][:8] for a in found]
        return places, _bytes_at(places)

    def _goes_on(self, one: Resident) -> bool:
        """Whether a turn brings a waiting block further."""
        before = self._posture(one)
        return self._turn("resume", one) != SUSPENDED or not one.asleep or self._posture(one) != before

    def _posture(self, one: Resident) -> list[tuple[int, ...]]:
        """What the block's warps wait for."""
        stride, fields = self.launch.kernel.warp_bytes, ("alive", "pending", "spun", "waits", "read_site")
        warps = (one.memory["warps"][i * stride : i * stride + WARP.size] for i in range(self.launch.warps))
        return [(*(_field(w, name) for name in fields), _field(w, "read_address", 8)) for w in warps]


def _bytes_at(places: list[Bytes]) -> list[bytes]:
    return [place.tobytes() for place in places]


def _field(warp: Bytes, name: str, width: int = 4) -> int:
    at = WARP.offset[name]
    return int.from_bytes(warp[at : at + width].tobytes(), "little")
