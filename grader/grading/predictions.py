"""Predictions of counters: a learner says before the report what the simulator will count.

    read_predictions([("sectors_per_request", "4"), ("global_load_bytes/n", "8")], entry)  -> not yet counted
    compared(predictions, entry, verdict)                                                  -> beside the counts

A prediction is right if it is the count exactly, or the count rounded to the digits that were typed.
Predictions are about the whole submission at the simulated size, and decide nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from grader.catalog.courses import CourseExercise
from grader.counters import HEADINGS, HOST_COUNTERS, KERNEL_COUNTERS
from grader.errors import UsageError
from grader.exercise import Size
from grader.expressions import did_you_mean
from grader.gpus.models import simulable
from grader.text import listed, number
from grader.typed_numbers import typed_rounding, typed_value
from grader.verdict import COUNTED, Prediction, Verdict

MODELLED = frozenset({"modelled_overlap", "modelled_peer_overlap"})
"""Counters of the modelled clock, which a learner reads from a picture: a close prediction is right."""

_PER = re.compile(r"/|\sper\s")
_ON_REQUEST = {
    "occupancy": "occupancy", "registers": "occupancy", "spill_bytes": "occupancy", "grid_growth": "grid_growth",
}  # fmt: skip
"""Counters that take time, and the counter that an exercise has to expect something of."""


def read_predictions(pairs: Iterable[tuple[str, str]], entry: CourseExercise) -> tuple[Prediction, ...]:
    """The predictions of pairs of counter and value. Raises UsageError for what the exercise cannot have."""
    return tuple(_read(counter, value, entry) for counter, value in pairs)


def split(text: str) -> tuple[str, str]:
    """``COUNTER=VALUE`` in two. Raises UsageError."""
    counter, sign, value = text.partition("=")
    if not (sign and counter.strip() and value.strip()):
        hint = "for example `--predict sectors_per_request=4`; a value may be 2^18, n/32 or 4 MiB, too"
        raise UsageError(f"a prediction is COUNTER=VALUE, not {text!r}", code="bad_prediction", hint=hint)
    return counter, value


def _read(text: str, value: str, entry: CourseExercise) -> Prediction:
    known = [*KERNEL_COUNTERS, *(HOST_COUNTERS if entry.exercise.host else ())]
    counter, per = _name(text), ""
    if counter not in known:  # "sectors per request" is one
        before, *rest = _PER.split(text, maxsplit=1)
        counter, per = _name(before), "".join(rest).strip()
    if counter not in known:
        if counter in HOST_COUNTERS:
            raise _refused(f"{counter} is a counter of host files, and {entry.name} has none")
        heading = {title: name for name, title in HEADINGS.items()}.get(" ".join(text.lower().split()))
        hint = f"did you mean {heading!r}?" if heading else did_you_mean(counter, known)
        hint = hint or "for example sectors_per_request or excess_wavefronts; `grade words counters` lists all"
        raise _refused(f"there is no counter {counter!r}", hint)
    needs = _ON_REQUEST.get(counter)
    if needs and all(expect.counter != needs for expect in entry.graded.technique):
        raise _refused(f"{entry.name} does not count {counter}: only exercises that require {needs} do")
    size = entry.exercise.simulated
    if per and not _value(per, size):
        raise _refused(f"{per!r} is 0, and nothing can be counted per that")
    return Prediction(counter, per, _value(value, size), rounding=typed_rounding(value))


def _name(text: str) -> str:
    """``sectors_per_request``, also of "Sectors per request"."""
    return re.sub(r"[\s-]+", "_", text.strip().lower())


def _refused(message: str, hint: str = "") -> UsageError:
    return UsageError(message, code="bad_prediction", hint=hint)


def _value(text: str, size: Size) -> float:
    """A number, or arithmetic with the sizes: ``2^20``, ``4 MiB``, ``8*n``, ``cdiv(n, 256)``; ``1/8`` is 0.125."""
    value = typed_value(text, size)
    if value is not None:
        return value
    text = text.strip()
    name = next(iter(size))
    hint = f"it is a number, 2^18, 4 MiB, or arithmetic with {listed(size)}, such as 8*{name} or {name}/32"
    raise _refused(f"{text!r} is not a value", hint)


def compared(predictions: Sequence[Prediction], entry: CourseExercise, verdict: Verdict) -> tuple[Prediction, ...]:
    """The predictions beside what was counted, or why nothing was."""
    return tuple(_compared(prediction, entry, verdict) for prediction in predictions)


def _compared(prediction: Prediction, entry: CourseExercise, verdict: Verdict) -> Prediction:
    from grader.grading.technique import total

    if why_not := _why_not(prediction.counter, entry, verdict):
        return replace(prediction, why_not=why_not)
    size = entry.exercise.simulated
    counted = total(prediction.counter, verdict.launches, verdict.host_counters)
    counted /= _value(prediction.per, size) if prediction.per else 1.0
    if math.isnan(counted):
        return replace(prediction, why_not="the kernels do nothing that it counts")
    beside = replace(prediction, counted=counted)
    return replace(beside, right=_is_right(beside, counted))


def _is_right(prediction: Prediction, counted: float) -> bool:
    """Exactly the count, or the count at the digits that were typed; a mean also at those that a report shows."""
    off = abs(prediction.predicted - counted)
    if off <= 1e-12 * max(1.0, abs(counted)):
        return True
    alike = not counted.is_integer() and number(prediction.predicted) == number(counted)
    rounded = off <= prediction.rounding * (1 + 1e-9)
    return prediction.close and (alike or rounded or prediction.counter in MODELLED)


def _why_not(counter: str, entry: CourseExercise, verdict: Verdict) -> str:
    """Why nothing was counted; "" if it was."""
    if not simulable(entry.exercise.requires):
        return "only the simulator counts, and it cannot run this exercise"
    if verdict.verdict in ("unsupported", "error"):
        return "nothing was graded"
    if verdict.verdict not in (*COUNTED, "inconclusive"):
        return "counters are compared when the results are right"
    has_counts = bool(verdict.host_counters) if counter in HOST_COUNTERS else any(x.counters for x in verdict.launches)
    if not has_counts:
        return "only the simulator counts, and this run was on the GPU alone"
    return ""
