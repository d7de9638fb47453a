"""The stage `fast` of a host exercise: what its timed runs and baselines come to; more processes where that is open."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from statistics import median
from typing import TYPE_CHECKING

from grader.backends.gpu.hostfile.baselines import COMPUTING, LINKS, PLAIN_LOOP
from grader.backends.gpu.recording import Recording
from grader.backends.hostfile.case import on_gpus
from grader.grading.fast import CHEAT, in_words
from grader.grading.records import Speed
from grader.inputs import derive_seed
from grader.timing import roofline
from grader.timing.samples import MAX_PROCESSES, decide, summarise

if TYPE_CHECKING:
    from grader.backends.base import Limits
    from grader.backends.gpu.hostfile.backend import HostfileBackend, HostfileSession
    from grader.exercise import Exercise, Size
    from grader.grading.records import Oracle
    from grader.verdict import Measurement, Timeline
from grader.backends.gpu.hostfile.timed_runs import OutputCheck, take_runs


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
