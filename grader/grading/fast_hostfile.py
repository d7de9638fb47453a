"""The stage `fast` of a host exercise: timed runs compared with baselines, in more processes if inconclusive."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from statistics import median
from typing import TYPE_CHECKING

from grader.backends.gpu.hostfile.baselines import COMPUTING, LINKS, PLAIN_LOOP
from grader.backends.gpu.hostfile.timed_runs import OutputCheck, Recording, take_runs
from grader.backends.hostfile.case import on_gpus
from grader.frozen import dataclass
from grader.grading.fast import CHEAT, against_line, in_words, line_in_words
from grader.grading.records import Speed
from grader.inputs import derive_seed
from grader.timing import roofline
from grader.timing.samples import MAX_PROCESSES, summarise

if TYPE_CHECKING:
    from grader.backends.base import Limits
    from grader.backends.gpu.hostfile.backend import HostfileBackend
    from grader.backends.gpu.hostfile.session import HostfileSession
    from grader.exercise import Exercise, Size, Target
    from grader.grading.records import Oracle
    from grader.verdict import Measurement, Timeline


@dataclass(frozen=True)
class HostfileSpeedTest:
    """Times host submissions of one exercise. ``oracle`` is called late, because it imports NumPy."""

    exercise: Exercise
    backend: HostfileBackend
    oracle: Callable[[], Oracle]
    seed: int
    limits: Limits

    def __call__(self, session: HostfileSession) -> Speed | None:
        """The word and the figures of `fast`, with the timeline of a further run; None if the exercise is not timed.

        Ends the session.
        """
        exercise = on_gpus(self.exercise, self.backend.gpus)
        size, target = exercise.timed, exercise.target
        if size is None or target is None:
            return None
        samples = SpeedSamples(exercise, target, size, self.backend)
        timeline: Timeline | None = None
        for number, each in enumerate(self._sessions(session)):
            recording = Recording(exercise, size, derive_seed(self.seed, "host", number))
            check = OutputCheck(exercise, size, self.oracle(), recording)
            with each:  # afterwards its processes cannot write any more
                each.begin()
                runs = take_runs(each, exercise, size, recording, check.samples)
                timeline = timeline or each.traced(self.backend.gpu.name)
            if wrong := check.wrong(runs):
                return Speed("wrong", wrong.message, diagnostics=(wrong,), timeline=timeline)
            samples.add(runs.samples_s, each.baselines_s)
            speed = samples.speed()
            if speed.word != "inconclusive":
                break
        return replace(speed, timeline=timeline)

    def _sessions(self, first: HostfileSession) -> Iterator[HostfileSession]:
        yield first
        for _ in range(1, MAX_PROCESSES):
            yield self.backend.open(first.program, self.limits)


BOTH_WAYS = "link_both_ways"


@dataclass
class SpeedSamples:
    """The samples of runs and of baselines, of all processes so far, at one timed size."""

    exercise: Exercise
    target: Target
    size: Size
    backend: HostfileBackend
    seconds: tuple[float, ...] = ()
    baselines_s: dict[str, tuple[float, ...]] = field(default_factory=dict)

    def add(self, seconds: tuple[float, ...], baselines_s: Mapping[str, tuple[float, ...]]) -> None:
        """Add the samples of a process."""
        self.seconds += seconds
        for name, samples in baselines_s.items():
            self.baselines_s[name] = self.baselines_s.get(name, ()) + samples

    def speed(self) -> Speed:
        """The word and the figures of the samples."""
        gpu, unit = self.backend.gpu, self.target.unit
        peak = roofline.peak_of(unit, roofline.peaks(gpu))
        summary = summarise(self.seconds)
        measured = roofline.measurement(summary, self.work, self.target, gpu.name, peak, self._ceiling)
        if roofline.impossible(self.work, measured.median_s, self._limit):
            return Speed("inconclusive", IMPOSSIBLE_TRANSFER if unit == "transfer" else CHEAT, measured)
        if unit == "overlap":
            words = self._overlap_in_words(measured)
        elif unit == "launches":
            words = self._launches_in_words(measured)
        else:
            words = in_words(measured)
        return against_line(measured, self.work, self.target, words)

    @property
    def work(self) -> float:
        """The work of one run in the target's unit."""
        return roofline.work_of(self.exercise, self.size)

    @property
    def _ceiling(self) -> float | None:
        """The rate of the baseline; for an overlap, of the longer of its two baselines."""
        if {BOTH_WAYS, COMPUTING} <= self.baselines_s.keys():
            return roofline.overlap_ceiling(
                self.work, median(self.baselines_s[BOTH_WAYS]), median(self.baselines_s[COMPUTING])
            )
        return next((roofline.ceiling(self.work, samples) for samples in self.baselines_s.values()), None)

    @property
    def _limit(self) -> float | None:
        """The rate that no run can exceed, because all bytes cross the link; None if there is none.

        Computing has no such limit, because another kernel may be faster; launches have none, because a graph may avoid
        most of their cost; and a bandwidth has none, because data in L2 may be read faster than memory allows.
        """
        links = (samples for name, samples in self.baselines_s.items() if name in LINKS)
        return next((roofline.ceiling(self.work, samples) for samples in links), None)

    def _overlap_in_words(self, measured: Measurement) -> str:
        """ "0.91 of the ideal: 4.9 ms copying, 4.2 ms computing, measured 5.4 ms; the line is 0.85 of the ideal"."""
        parts = [
            f"{_time(median(self.baselines_s[name]))} {doing}"
            for name, doing in ((BOTH_WAYS, "copying"), (COMPUTING, "computing"))
            if name in self.baselines_s
        ]
        fraction = measured.fraction_of_ceiling
        ideal = "" if fraction is None else f"{fraction:.2f} of the ideal: "
        times = ", ".join([*parts, f"measured {_time(measured.median_s)}"])
        return f"{ideal}{times}; {line_in_words(measured)}"

    def _launches_in_words(self, measured: Measurement) -> str:
        """ "3.41 times the plain loop: 200 launches in 240 µs, the loop takes 819 µs; the line is 3.00 times the plain
        loop".
        """
        fraction = measured.fraction_of_ceiling
        times = "" if fraction is None else f"{fraction:.2f} times the plain loop: "
        loop_s = self.baselines_s.get(PLAIN_LOOP)
        loop = "" if loop_s is None else f", the loop takes {_time(median(loop_s))}"
        return f"{times}{self.work:.0f} launches in {_time(measured.median_s)}{loop}; {line_in_words(measured)}"


IMPOSSIBLE_TRANSFER = "faster than the link itself: the measurement cannot be right"


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"
