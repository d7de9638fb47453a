"""Bank conflicts: the wavefronts of each shared-memory request. The only module that knows what a bank is.

Shared memory has 32 banks of 4-byte words; a wavefront reads or writes one word of each bank, for any number of lanes.
A request is split into groups of neighbouring lanes: of 32 lanes for up to 4 bytes per lane, 16 for 8 bytes, 8 for 16
bytes. A load of 8 or 16 bytes has groups of twice that size if in the whole warp all active lanes l and l ^ 1 have the
same address, or all l and l ^ 2; a lane whose partner is inactive does not count. For stores this is not so.

A group with active lanes takes as many wavefronts as its busiest bank has distinct words. The minimum is
ceil(distinct words / 32), which is 1 for every group; wavefronts beyond one per group are excess.

Source: 512 patterns measured on an H200 (docs/results/nsight-patterns.md). For all of them these rules give both
counters of the profiler: wavefronts, and bank conflicts, which are the excess.
"""

from __future__ import annotations

from grader.simt.engine import ir
from grader.simt.engine.builder import Builder, generated_once
from grader.simt.engine.values import I32, I64, LANES, Value, vec
from grader.simt.observers.base import ObservedAccess, Observer

BANKS = 32
WORD_BYTES = 4
PARTNERS = (1, 2)


class Banks(Observer):
    """Counts wavefronts and their minimum at each shared-memory request."""

    def before(self, access: ObservedAccess) -> None:
        if access.space != "shared":
            return
        f = access.f
        access.count_request()
        words = max(1, access.width // WORD_BYTES)
        if words == 1 and access.base is not None:  # at most 32 consecutive words: each bank at most once
            access.add("wavefronts", 1)
            access.add("ideal_wavefronts", 1)
            return
        units = (access.address >> (WORD_BYTES * words).bit_length() - 1).trunc(I32)
        packed = f.call(_wavefronts(f.module, words, doubles=words > 1 and access.kind == "load"), units, access.mask)
        taken, groups = packed & 0xFFFF, packed >> 16
        access.add("wavefronts", taken)
        access.add("ideal_wavefronts", groups)
        access.note_worst(taken, groups)


def _wavefronts(module: ir.IRModule, words: int, *, doubles: bool) -> ir.IRFunction:
    """wavefronts(<32 x i32> units, mask) -> wavefronts | groups << 16.

    A unit is one lane's ``words`` aligned words. It fills ``words`` neighbouring banks, so that the memory has 32 /
    ``words`` banks of units.
    """

    def build(f: Builder) -> None:
        units, mask = f.args
        span = f.const(I32, BANKS // words)  # lanes per group
        if doubles:
            span = span << _partners_agree(f, units, mask).zext(I32)
        first_group = f.const(I32, -1) >> (32 - span)
        taken, groups, rest = f.var(f.const(I32, 0)), f.var(f.const(I32, 0)), f.var(mask)
        with f.while_(lambda: rest.get().ne(0)):
            lanes = rest.get() & (first_group << (f.first_lane(rest.get()) & (0 - span)))
            taken.set(taken.get() + _busiest(f, units, lanes, BANKS // words))
            groups.set(groups.get() + 1)
            rest.set(rest.get() & ~lanes)
        f.ret(taken.get() | (groups.get() << 16))

    name = f"wavefronts_{words}{'_doubles' if doubles else ''}"
    return generated_once(module, name, I32, [vec(I32), I32], build)


def _partners_agree(f: Builder, units: Value, mask: Value) -> Value:
    """i1: whether for one distance in `PARTNERS` all pairs of active lanes l and l ^ distance have the same unit."""
    active = mask.as_lanes()
    agree = f.const(I32, 0).ne(0)
    for distance in PARTNERS:
        partner = [lane ^ distance for lane in range(LANES)]
        objections = units.ne(units.shuffle(partner)) & active & active.shuffle(partner)
        agree = agree | objections.as_mask().eq(0)
    return agree


def _busiest(f: Builder, units: Value, lanes: Value, banks: int) -> Value:
    """The largest number of distinct units in one bank of units; ``lanes`` are not empty."""
    active = lanes.as_lanes()
    lowest = f.overloaded("llvm.vector.reduce.umin", active.select(units, -1), result=I32)
    highest = f.overloaded("llvm.vector.reduce.umax", active.select(units, 0), result=I32)
    most = f.var(f.const(I32, 1))
    with f.if_((highest - lowest).uge(banks)):  # else distinct units are in distinct banks
        most.set(_longest_list(f, units, lanes, banks))
    return most.get()


def _longest_list(f: Builder, units: Value, lanes: Value, banks: int) -> Value:
    """Add each lane's unit to its bank's list unless it is in it; returns the length of the longest list."""
    lengths, lists, flat = f.array(I32, banks), f.array(I32, banks * LANES), f.array(I32, LANES)
    f.memset(lengths, 0, f.const(I64, 4 * banks))
    f.store(units, flat, align=64)
    repeats = units.eq(units.shuffle([0, *range(LANES - 1)])).as_mask() & (lanes << 1)
    longest = f.var(f.const(I32, 0))
    with f.each_lane(lanes & ~repeats) as lane:
        unit = f.load(I32, flat, lane.zext(I64) << 2)
        bank = (unit & (banks - 1)).zext(I64)
        row, place = f.at(lists, bank * (4 * LANES)), f.at(lengths, bank << 2)
        length = f.load(I32, place)
        f.store(unit, row, length.zext(I64) << 2)  # after the list's end, so that the search finds it
        at = f.var(f.const(I32, 0))
        with f.while_(lambda: f.load(I32, row, at.get().zext(I64) << 2).ne(unit)):
            at.set(at.get() + 1)
        length = at.get().eq(length).select(length + 1, length)
        f.store(length, place)
        longest.set(length.ugt(longest.get()).select(length, longest.get()))
    return longest.get()
