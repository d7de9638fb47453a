"""Cases with as many blocks as at the timed size, for the simulator where no GPU runs that size.

Two kinds of kernels are wrong only where there are more blocks than up to the simulated size
(`docs/design/030-many-blocks.md`):

- one that combines the blocks' results, in the last block or in a further launch, and takes one result per thread: it
  misses those of the other blocks;
- one whose launch line limits the grid, and whose threads do not go on with the elements beyond.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import field
from functools import partial
from itertools import islice
from typing import NamedTuple

from grader.errors import SubmissionError
from grader.exercise import Exercise, Size
from grader.frozen import dataclass
from grader.grading.cases import elements, plan_of, work_of
from grader.grading.records import Case, CompiledSubmission
from grader.inputs import Kind, derive_seed, unusual_kinds, values_of
from grader.launch import DeviceLimits
from grader.launch.records import Dim3

MOST_WORK = 1 << 27
"""Maximum of bytes and operations of a case: a second on the simulator."""
MOST_WORK_BEYOND_A_LIMIT = 1 << 28
"""The same for a grid that is limited, which few launch lines are."""
WARP = 32

REPEATED = 64 * 16411
"""Elements of an input that repeat, where it has many more: whole sectors, and no part of a block's share."""

_BLOCKS_MEET = re.compile(r"\b(?:atom|red|membar|fence|ld\.volatile|ld\.relaxed|ld\.acquire)\.")


class Grid(NamedTuple):
    """One launch in numbers."""

    kernel: str
    grid: Dim3
    threads: int  # of a block

    @property
    def blocks(self) -> int:
        return math.prod(self.grid)


def cases_of_many_blocks(
    exercise: Exercise, compiled: CompiledSubmission, limits: DeviceLimits, seed: int
) -> tuple[Case, ...]:
    """The cases that this program needs; none for most, whose blocks have each its own result and no limit."""
    if exercise.host or exercise.timed is None:
        return ()
    search = Search(exercise, compiled, limits, seed)
    together = tuple(search.where_blocks_meet())
    beyond = (size for size in search.beyond_limits() if not any(_is_beyond(other, size) for other in together))
    return tuple(_case(exercise, size) for size in (*together, *beyond))


def _is_beyond(other: Size, size: Size) -> bool:
    return all(other[name] >= n for name, n in size.items())


def _case(exercise: Exercise, size: Size) -> Case:
    """With rising values, where the exercise has them: what the last block finds then counts."""
    kinds: list[Kind] = [
        kind for kind in unusual_kinds(exercise) if any(values_of(one, kind).rising for one in exercise.inputs)
    ]
    kind: Kind = kinds[0] if kinds else "exact" if exercise.exact else "real"
    (n, *more) = size.values()
    repeats = dict.fromkeys(size, REPEATED) if n > 2 * REPEATED and not more and not kinds else {}
    return Case(size, kind, repeats=repeats, many_blocks=True)


@dataclass(frozen=True)
class Search:
    """Sizes up to the timed one at which a program's grids differ from those of the simulated size."""

    exercise: Exercise
    compiled: CompiledSubmission
    limits: DeviceLimits
    seed: int
    _known: dict[tuple[int, ...], list[Grid]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def _grids(self, size: Size) -> list[Grid]:
        """Raises SubmissionError where the launch lines do not fit this size."""
        key = tuple(size.values())
        if key not in self._known:
            launches = plan_of(self.exercise, Case(size, "real"), self.compiled, self.limits).launches
            self._known[key] = [Grid(one.kernel, one.grid, math.prod(one.block)) for one in launches]
        return self._known[key]

    # ------------------------------------------------------------------------------------------- blocks that meet

    def where_blocks_meet(self) -> Iterator[Size]:
        """A size with more blocks than a block has threads, if that is so at the timed size, not at the simulated one.

        In a further launch a block may go over the results in rounds, each on top of the one before: there are more
        than two rounds, where they are not too much work; and for all kernels that have so many blocks, else for one.
        """
        timed = self.exercise.timed
        if timed is not None and len(timed) == 1:
            tries = (self._with_many(rounds, everywhere) for rounds in (2, 1) for everywhere in (True, False))
            yield from islice(filter(None, tries), 1)

    def _with_many(self, rounds: int, everywhere: bool) -> Size | None:
        """Blocks of more than ``rounds`` times their threads; 2 are only for several launches."""
        assert self.exercise.timed is not None
        ((name, least),) = self.exercise.simulated.items()

        def kernels_with_many(n: int) -> set[str]:
            grids = self._grids({name: n})
            threads = max(grid.threads for grid in grids)  # of the launch that takes the results
            return {grid.kernel for grid in grids if grid.blocks > rounds * threads}

        def has_many(n: int) -> bool:
            return kernels_with_many(n) >= wanted if everywhere else bool(kernels_with_many(n))

        sizes = range(least, self.exercise.timed[name], least)
        try:
            wanted = kernels_with_many(self.exercise.timed[name])
            several = len(self._grids({name: least})) > 1
            if not wanted or not (several or (rounds == 1 and _BLOCKS_MEET.search(self.compiled.program.ptx))):
                return None
            first = bisect_left(sizes, True, key=has_many)
        except SubmissionError:
            return None
        drawn = least * (first + 1) + derive_seed(self.seed, "many blocks") % least
        size = {name: self._with_full_last_block(name, drawn)}
        return size if 0 < first < len(sizes) and work_of(self.exercise, size) <= MOST_WORK else None

    def _with_full_last_block(self, name: str, n: int) -> int:
        """The least size with as many blocks: its last elements are the last block's, and in no further round."""

        def blocks(n: int) -> int:
            return max(grid.blocks for grid in self._grids({name: n}))

        return self._allowed(name, 1 + bisect_left(range(1, n), blocks(n), key=blocks))

    # --------------------------------------------------------------------------------------------- limited grids

    def beyond_limits(self) -> Iterator[Size]:
        """For each dimension a size for which a grid that grows no further is too small, if no other case is one."""
        exercise = self.exercise
        for name, timed in (exercise.timed or {}).items():
            if name not in exercise.secret:
                continue
            base, promised = self._narrow(name), exercise.large.size.get(name, 0) if exercise.large else 0
            found = self._limits(base, name, promised) if promised > timed else ()
            for first in sorted(found or self._limits(base, name, timed), reverse=True):
                drawn = first + first // 50 + derive_seed(self.seed, "limit", name) % max(1, first // 50)
                size = {**base, name: self._allowed(name, drawn)}
                if first > exercise.simulated[name] and work_of(exercise, size) <= MOST_WORK_BEYOND_A_LIMIT:
                    yield size
                    break

    def _narrow(self, name: str) -> Size:
        """The smallest small size whose other dimensions keep a warp busy, else the largest small one."""
        sizes = sorted(self.exercise.small, key=elements)
        wide = (one for one in sizes if all(n >= WARP for other, n in one.items() if other != name))
        return next(wide, sizes[-1])

    def _limits(self, base: Size, name: str, most: int) -> list[int]:
        """For each grid that has fewer blocks than ``most`` asks for: the first size that is too large for it."""

        def blocks(n: int, launch: int, axis: int) -> int:
            grids = self._grids({**base, name: n})
            return grids[launch].grid[axis] if launch < len(grids) else 0

        found, half = [], max(1, most // 2)
        try:
            for launch, grid in enumerate(self._grids({**base, name: most})):
                for axis, limit in enumerate(grid.grid):
                    if limit > 1 and blocks(1, launch, axis) < limit == blocks(half, launch, axis):
                        as_many = bisect_left(range(1, half), limit, key=partial(blocks, launch=launch, axis=axis))
                        found.append(1 + as_many + -(-as_many // (limit - 1)))  # the last block does its share, too
        except SubmissionError:  # the launch lines do not fit such a size
            return []
        return found

    def _allowed(self, name: str, n: int) -> int:
        """The nearest number from ``n`` on that the statement allows."""
        low, _, step = self.exercise.secret.get(name, (0, 0, 1))
        return n + (low - n) % step
