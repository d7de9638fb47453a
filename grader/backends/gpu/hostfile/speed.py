"""The stage `fast` of a host exercise: the parent's clock, fresh inputs for each run, every run verified afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from statistics import median
from typing import TYPE_CHECKING, TypeVar

from grader.backends.gpu.findings import size_in_words
from grader.backends.gpu.hostfile.baselines import COMPUTING, LINKS, PLAIN_LOOP
from grader.backends.gpu.recording import Expectations, Recording
from grader.backends.gpu.signals import undisturbed
from grader.backends.gpu.speed import CHEAT, in_words
from grader.backends.hostfile.case import on_gpus
from grader.grading.records import Speed
from grader.inputs import derive_seed, element_count, poison
from grader.timing import roofline
from grader.timing.samples import MAX_PROCESSES, decide, summarise
from grader.verdict import Diagnostic

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    import numpy as np
    import numpy.typing as npt

    from grader.backends.base import Limits
    from grader.backends.gpu.hostfile.backend import HostfileBackend, HostfileSession
    from grader.compare import Mismatch
    from grader.compare.tolerance import Bounds
    from grader.exercise import Exercise, Size
    from grader.grading.records import Oracle
    from grader.verdict import Measurement, Timeline


T = TypeVar("T")

WARM_UPS = 3
SAMPLES = 30
LEAST_SAMPLES = 5
BUDGET_S = 1.5
CHECKS_S = 15.0
"""What an oracle may take for all runs of a process, where it has to be asked for all of them anew."""
COPIES_BYTES = 2 << 30
"""Memory for the outputs of all runs of a process, until they are checked."""


@dataclass(frozen=True, eq=False)
class TimedRuns:
    """The runs of one process: seconds of all, warm-ups first; a copy of the outputs of the others, as their end found
    them.
    """

    seconds: tuple[float, ...]
    copies: tuple[dict[str, npt.NDArray[np.generic]], ...]

    @property
    def samples_s(self) -> tuple[float, ...]:
        return self.seconds[WARM_UPS:]


@dataclass(frozen=True)
class HostfileSpeedTest:
    """Times host submissions of one exercise. ``oracle`` is called late, because it imports NumPy."""

    exercise: Exercise
    backend: HostfileBackend
    oracle: Callable[[], Oracle]
    seed: int
    limits: Limits

    def __call__(self, session: HostfileSession) -> Speed | None:
        """The word and the figures of `fast`, with a timeline of one run more; None where nothing is timed.

        Ends the session.
        """
        exercise = on_gpus(self.exercise, self.backend.gpus)
        size, target = exercise.timed, exercise.target
        if size is None or target is None:
            return None
        against = SpeedSamples(exercise, size, self.backend)
        timeline: Timeline | None = None
        for number, one in enumerate(self._sessions(session)):
            recording = Recording(exercise, size, derive_seed(self.seed, "host", number))
            check = OutputCheck(exercise, size, self.oracle(), recording)
            with one:  # at whose end nothing of it can write any more
                one.begin_again()
                runs = take_runs(one, exercise, size, recording, check.samples)
                timeline = timeline or one.traced(self.backend.gpu.name)
            if wrong := check.wrong(runs):
                return Speed("wrong", wrong.message, diagnostics=(wrong,), timeline=timeline)
            against.add(runs.samples_s, one.baselines_s)
            speed = against.speed()
            if speed.word != "inconclusive":
                break
        return replace(speed, timeline=timeline)

    def _sessions(self, first: HostfileSession) -> Iterator[HostfileSession]:
        yield first
        for _ in range(1, MAX_PROCESSES):
            yield self.backend.open(first.program, self.limits)


class OutputCheck:
    """Whether each run's outputs are the oracle's for that run's inputs: found out when all runs are over."""

    def __init__(self, exercise: Exercise, size: Size, oracle: Oracle, recording: Recording) -> None:
        self._exercise, self._size = exercise, size
        self._recording = Recording.of(recording)
        self._expected = Expectations(exercise, size, oracle, self._recording)
        self._bounds: dict[str, Bounds] = {}  # of the outputs that have been expected

    @property
    def samples(self) -> int:
        """How many runs can be checked: fewer where their outputs are large, or the oracle is slow."""
        import numpy as np

        outputs = sum(element_count(a, self._size) * np.dtype(a.dtype).itemsize for a in self._exercise.outputs)
        by_time = CHECKS_S / self._expected.each_s if self._expected.each_s else SAMPLES
        return int(max(LEAST_SAMPLES, min(SAMPLES, COPIES_BYTES // outputs, by_time)))

    def wrong(self, runs: TimedRuns) -> Diagnostic | None:
        """The first run that is not right, in words."""
        for run in range(1, len(runs.seconds) + 1):
            warming = run <= WARM_UPS
            new = self._expected.advance(self._recording.patches(run), wanted=not warming)
            self._expect(new)
            if not warming and (found := self._mismatch(runs.copies[run - 1 - WARM_UPS])):
                where = f"at the timed size {size_in_words(self._size)}, run {run}"
                return Diagnostic(
                    "wrong", f"{found.message} ({where})", array=found.array, index=found.index, hint=_EVERY_TIME
                )
        return None

    def _expect(self, new: Mapping[str, slice | npt.NDArray[np.int64]]) -> None:
        """Bring the bounds up to date with what is expected now."""
        import numpy as np

        from grader.compare.tolerance import Bounds

        for array in self._exercise.outputs:
            expected, known = self._expected.now[array.name], array.name in self._bounds
            if not known:
                self._bounds[array.name] = Bounds(self._exercise, self._size, np.dtype(array.dtype), len(expected))
            places = new.get(array.name, slice(0)) if known else slice(None)
            self._bounds[array.name].expect(expected[places], places)

    def _mismatch(self, outputs: Mapping[str, npt.NDArray[np.generic]]) -> Mismatch | None:
        from grader.compare import compare

        if all(self._is_right(a.name, outputs[a.name]) for a in self._exercise.outputs):
            return None
        return compare(self._exercise, self._size, "real", outputs, self._expected.now, {})

    def _is_right(self, name: str, got: npt.NDArray[np.generic]) -> bool:
        """As `compare` sees it; it is asked only about pieces that the bounds do not hold."""
        from grader.compare.tolerance import right

        bounds, expected = self._bounds[name], self._expected.now[name]

        def fine(part: slice) -> bool:
            if bounds.hold(got, part):
                return True
            return bool(right(self._exercise, self._size, "real", got[part], expected[part]).all())

        return all(in_pieces(fine, len(got)))


def in_pieces(work: Callable[[slice], T], count: int) -> list[T]:
    """``work`` on pieces of an array of ``count`` elements, on all cores: NumPy lets others run while it works."""
    parts = [slice(start, min(start + PIECE, count)) for start in range(0, count, PIECE)]
    return list(map(work, parts) if len(parts) < 2 else _pool().map(work, parts))


@cache
def _pool() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(thread_name_prefix="pieces")


PIECE = 1 << 17  # elements
_EVERY_TIME = "run() must read all of the inputs, every time, and return when the output is complete"


def take_runs(
    session: HostfileSession, exercise: Exercise, size: Size, recording: Recording, samples: int = SAMPLES
) -> TimedRuns:
    """Warm up and take the samples: for each run the parent writes poison and fresh inputs, says go, and copies."""
    outs = {a.name: poison(a.dtype, element_count(a, size)) for a in exercise.outputs}
    shared = session.set_up(
        {a.name: recording.inputs[a.name] if a.role == "in" else outs[a.name] for a in exercise.arrays}
    )
    seconds: list[float] = []
    copies = []
    started = time.perf_counter()
    with undisturbed():
        while len(seconds) < WARM_UPS + samples and not _enough(len(seconds), time.perf_counter() - started):
            patches, places = recording.patches(len(seconds) + 1), recording.places(outs, len(seconds) + 1)
            for name, values in outs.items():
                _fill(shared[name], values)
            recording.apply(patches, shared)  # last and quickly: what is new must not be there before the clock starts
            seconds.append(session.go())
            early = {name: shared[name][at] for name, at in places.items()}
            if len(seconds) > WARM_UPS:
                copies.append(_copied(shared, places, early))
    return TimedRuns(tuple(seconds), tuple(copies))


def _copied(
    shared: Mapping[str, npt.NDArray[np.generic]],
    places: Mapping[str, npt.NDArray[np.int64]],
    early: Mapping[str, npt.NDArray[np.generic]],
) -> dict[str, npt.NDArray[np.generic]]:
    """The outputs, with the elements that were looked at first as they were then: copying all takes longer than what a
    run may have left undone.
    """
    import numpy as np

    copies = {name: _fill(np.empty_like(shared[name]), shared[name]) for name in places}
    for name, values in early.items():
        copies[name][places[name]] = values
    return copies


def _fill(to: npt.NDArray[np.generic], values: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """Copy ``values``, on all cores."""

    def copy(part: slice) -> None:
        to[part] = values[part]

    in_pieces(copy, len(values))
    return to


def _enough(taken: int, spent_s: float) -> bool:
    return taken >= WARM_UPS + LEAST_SAMPLES and spent_s > BUDGET_S


BOTH_WAYS = "link_both_ways"


@dataclass
class SpeedSamples:
    """Samples of all processes so far, of runs and of baselines, at one timed size."""

    exercise: Exercise
    size: Size
    backend: HostfileBackend
    seconds: tuple[float, ...] = ()
    baselines_s: dict[str, tuple[float, ...]] = field(default_factory=dict)

    def add(self, seconds: tuple[float, ...], baselines_s: Mapping[str, tuple[float, ...]]) -> None:
        """The samples of one process more."""
        self.seconds += seconds
        for name, samples in baselines_s.items():
            self.baselines_s[name] = self.baselines_s.get(name, ()) + samples

    def speed(self) -> Speed:
        """What they come to."""
        target = self.exercise.target
        assert target is not None
        measured = self._measured()
        told = self._words(measured)
        if roofline.impossible(self.work, measured.median_s, self._limit):
            return Speed("inconclusive", _IMPOSSIBLE.get(target.unit, CHEAT), measured)
        if not target.fraction:
            return Speed("unlined", told, measured)
        line_s = roofline.line_s(self.work, target, self._peak, self._ceiling)
        if line_s is None:
            return Speed("inconclusive", "what it is measured against could not be measured here", measured)
        decision = decide(measured.interval_s, line_s)
        return Speed({"passed": "pass"}.get(decision, decision), told, measured)

    @property
    def work(self) -> float:
        """What one run does, in what the target's unit counts."""
        from grader.expressions import evaluate

        assert self.exercise.target is not None
        return float(evaluate(roofline.work_in(self.exercise.work, self.exercise.target.unit), self.size))

    def _measured(self) -> Measurement:
        assert self.exercise.target is not None
        summary = summarise(self.seconds)
        name = self.backend.gpu.name
        return roofline.measurement(summary, self.work, self.exercise.target, name, self._peak, self._ceiling)

    @property
    def _peak(self) -> float | None:
        assert self.exercise.target is not None
        return roofline.peak_of(self.exercise.target.unit, roofline.peaks(self.backend.gpu))

    @property
    def _ceiling(self) -> float | None:
        """The rate of the baseline; of an overlap, that of the longer of its two."""
        if {BOTH_WAYS, COMPUTING} <= self.baselines_s.keys():
            return roofline.overlap_ceiling(
                self.work, median(self.baselines_s[BOTH_WAYS]), median(self.baselines_s[COMPUTING])
            )
        return next((self._rate(name) for name in self.baselines_s), None)

    @property
    def _limit(self) -> float | None:
        """The rate that no run can pass: all of its bytes cross the link. The computing beside copies has none, because
        another kernel may well be faster; nor have launches, because a graph may well do without most of them; nor
        has a bandwidth, because what stays in L2 may well be read faster than memory allows.
        """
        links = [name for name in self.baselines_s if name in LINKS]
        return self._rate(links[0]) if links else None

    def _rate(self, name: str) -> float | None:
        return roofline.ceiling(self.work, self.baselines_s[name])

    def _words(self, measured: Measurement) -> str:
        assert self.exercise.target is not None
        words = _WORDS.get(self.exercise.target.unit)
        return words(self, measured) if words else in_words(measured)


_IMPOSSIBLE = {"transfer": "faster than the link itself: the measurement cannot be right"}


def _overlap_in_words(against: SpeedSamples, measured: Measurement) -> str:
    """ "0.91 of the ideal: 4.9 ms copying, 4.2 ms computing, measured 5.4 ms; the line is 0.85 of the ideal"."""
    parts = [
        f"{_time(median(against.baselines_s[name]))} {doing}"
        for name, doing in ((BOTH_WAYS, "copying"), (COMPUTING, "computing"))
        if name in against.baselines_s
    ]
    fraction = measured.fraction_of_ceiling
    told = "" if fraction is None else f"{fraction:.2f} of the ideal: "
    return f"{told}{', '.join([*parts, f'measured {_time(measured.median_s)}'])}; {_line(measured)}"


def _launches_in_words(against: SpeedSamples, measured: Measurement) -> str:
    """ "3.41 times the plain loop: 200 launches in 240 µs, the loop takes 819 µs; the line is 3.00 times the plain
    loop".
    """
    fraction = measured.fraction_of_ceiling
    told = "" if fraction is None else f"{fraction:.2f} times the plain loop: "
    loop_s = median(against.baselines_s[PLAIN_LOOP]) if PLAIN_LOOP in against.baselines_s else None
    loop = "" if loop_s is None else f", the loop takes {_time(loop_s)}"
    return f"{told}{against.work:.0f} launches in {_time(measured.median_s)}{loop}; {_line(measured)}"


_WORDS: Mapping[str, Callable[[SpeedSamples, Measurement], str]] = {
    "overlap": _overlap_in_words,
    "launches": _launches_in_words,
}


def _line(measured: Measurement) -> str:
    if not measured.line_fraction:
        return "no pass line is known here: `grade calibrate` draws one"
    return f"the line is {measured.line}" + (" (set on another GPU)" if measured.provisional else "")


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"
