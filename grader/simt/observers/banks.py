"""Bank conflicts: how many wavefronts each shared-memory request takes. The only module that knows what a bank is.

Shared memory has 32 banks of 4-byte words. A wavefront serves one word of each bank, to any number of lanes. Requests
of 8 and 16 bytes are served in groups of 16 and 8 lanes. A request needs at least ceil(distinct words / 32)
wavefronts; what it takes beyond is excess.
"""

from __future__ import annotations

from llvmlite import ir

from grader.simt.engine.values import I8, I32, I64, Builder, Value, vec
from grader.simt.observers.base import Access, Observer
from grader.simt.observers.counting import add_site, raise_site

WORD_SHIFT = 2
BANKS = 32


class Banks(Observer):
    def before(self, access: Access) -> None:
        if access.space != "shared":
            return
        f = access.f
        lanes = f.popcount(access.mask)
        add_site(access, "requests", 1)
        add_site(access, "lanes", lanes)
        add_site(access, "bytes", lanes * access.width)
        words = max(1, access.width // 4)
        if words == 1 and access.base is not None:  # at most 32 words that follow each other: every bank at most once
            add_site(access, "wavefronts", 1)
            add_site(access, "ideal_wavefronts", 1)
            return
        packed = f.call(wavefronts(f.module, words), (access.address >> WORD_SHIFT).trunc(I32), access.mask)
        taken, ideal = packed & 0xFFFF, packed >> 16
        add_site(access, "wavefronts", taken)
        add_site(access, "ideal_wavefronts", ideal)
        raise_site(access, "worst", taken, "worst_address", access.address.lane(f.first_lane(access.mask)))


def wavefronts(module: ir.Module, words: int) -> ir.Function:
    """wavefronts(<32 x i32> first word of each lane, mask) -> wavefronts | ideal << 16, for ``words`` words a lane."""
    name = f"wavefronts_{words}"
    existing = module.globals.get(name)
    if existing is not None:
        return existing
    f = Builder(module, name, I32, [vec(I32), I32])
    first, mask = f.args
    group = 32 // words
    taken, distinct = f.var(f.const(I32, 0)), f.var(f.const(I32, 0))
    for start in range(0, 32, group):
        lanes = mask & (((1 << group) - 1) << start)
        with f.if_(lanes.ne(0)):
            degree, count = _degree(f, first, lanes, words)
            taken.set(taken.get() + degree)
            distinct.set(distinct.get() + count)
    ideal = (distinct.get() + (BANKS - 1)) >> 5
    f.ret(taken.get() | (ideal << 16))
    f.fn.attributes.add("noinline")
    return f.finish()


def _degree(f: Builder, first: Value, lanes: Value, words: int) -> tuple[Value, Value]:
    """The largest number of distinct words in one bank, and the number of distinct words, of a group of lanes."""
    usage = f.array(I8, BANKS)
    f.memset(usage, 0, f.const(I64, BANKS))
    degree, count = f.var(f.const(I32, 0)), f.var(f.const(I32, 0))
    rest = f.var(lanes)
    with f.while_(lambda: rest.get().ne(0)):
        word = first.lane(f.first_lane(rest.get()))
        rest.set(rest.get() & ~first.eq(f.splat(word)).as_mask())
        for i in range(words):
            place = f.at(usage, ((word + i) & (BANKS - 1)).zext(I64))
            used = f.load(I8, place) + 1
            f.store(used, place)
            wide = used.zext(I32)
            degree.set(wide.ugt(degree.get()).select(wide, degree.get()))
            count.set(count.get() + 1)
    return degree.get(), count.get()
