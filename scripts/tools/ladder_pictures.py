"""Pictures of a ladder's page from the figures of `grade bench`: the plot over its steps, and the roofline. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from ladder_steps import Ceiling, Report, Step, Timed, ceilings, comparable, libraries
from markupsafe import Markup
from pictures import LETTER, box, dot, line, lines_of_text, path, picture, spread, text

from grader.text import rate

UNITS = {"fp32": "fp32", "fp16_tensor": "fp16 tensor", "int8": "int8 dp4a"}


def peak_in_words(steps: Sequence[Step]) -> str:
    """E.g. "the fp32 peak, 66.9 TFLOP/s"; "" where nothing was measured."""
    peak = next((step.row.peak for step in steps if step.row.peak), None)
    unit = UNITS.get(steps[0].unit, steps[0].unit)
    return "" if peak is None else f"the {unit} peak, {peak / 1e12:.4g} T{steps[0].counts}/s"


def marks(steps: Sequence[Step]) -> list[tuple[str, Timed]]:
    """The libraries that reach a fraction of the same peak."""
    if steps[0].of_bytes:
        return []
    found = ((name, times[0]) for name, times in libraries(steps).items())
    return [(name, timed) for name, timed in found if timed and timed.fraction and comparable(timed)]


# ------------------------------------------------------------------------------------------------------------- the plot

LEFT, RIGHT = 138, 650
ROW, BAR = 26, 16


def plot_in_words(steps: Sequence[Step]) -> str:
    """The plot for those who do not see it."""
    what = "peak bandwidth" if steps[0].of_bytes else peak_in_words(steps)
    told = ", ".join(f"{step.name} {step.timed.fraction:.2f}" for step in steps if step.timed)
    beside = "".join(f"; {name}: {timed.fraction:.2f}" for name, timed in marks(steps))
    return f"Fraction of {what}: {told}{beside}"


def plot(steps: Sequence[Step]) -> str:
    """One bar for each step, of the peak, and a line for each library."""
    beside = marks(steps)
    bottom = 12.0 + ROW * len(steps)
    low = bottom + ROW * len(beside)
    body = [*_fractions(low)]
    for at, (name, timed) in enumerate(beside, 1):
        x, y = _across(timed.fraction or 0.0), bottom + ROW * at
        side, end = (-6, " end") if x > (LEFT + RIGHT) / 2 else (6, "")
        body += [line(x, 8, x, y - 4, "other"), text(x + side, y - 6, f"{name} {timed.fraction:.3f}", "other" + end)]
    for at, step in enumerate(steps):
        body += _bar(step, 12.0 + ROW * at)
    words = "fraction of peak bandwidth" if steps[0].of_bytes else f"fraction of {peak_in_words(steps)}"
    body.append(text((LEFT + RIGHT) / 2, low + 36, words, "dim middle"))
    return picture("Fraction of the peak, step by step", plot_in_words(steps), body, low + 46)


def _across(fraction: float) -> float:
    return LEFT + fraction * (RIGHT - LEFT)


def _fractions(low: float) -> Iterator[Markup]:
    for fifth in range(6):
        x = _across(fifth / 5)
        yield line(x, 8, x, low, "axis" if fifth in (0, 5) else "grid")
        yield text(x, low + 17, f"{fifth / 5:g}", "dim middle")


def _bar(step: Step, y: float) -> Iterator[Markup]:
    fraction = step.timed.fraction or 0.0 if step.timed else 0.0
    words = f"{fraction:.3f}" if step.timed else "not yet"
    x = _across(fraction) + 6
    yield text(LEFT - 8, y + 12, step.name, "plain end")
    yield box(LEFT, y, _across(fraction) - LEFT, BAR, "bar")
    yield box(x - 3, y - 2, LETTER * len(words) + 4, BAR + 4, "back")  # lines go behind the figure
    yield text(x, y + 12, words)


# --------------------------------------------------------------------------------------------------------- the roofline


OF_TRAFFIC = (
    "Bytes are those that the task has to move, each array once; the traffic of DRAM was not measured.",
    "So all steps are on one vertical line.",
)


@dataclass(frozen=True)
class Roofs:
    """The limits of a ladder in operations: the slope of memory in bytes, and the flat roof of arithmetic, if any.

    Each has its peak, and the rates that ceiling kernels reached.
    """

    bandwidth: float
    compute: float | None
    slopes: Sequence[Ceiling]
    flats: Sequence[Ceiling]

    def at(self, intensity: float) -> float:
        return min(self.bandwidth * intensity, self.compute or self.bandwidth * intensity)


@dataclass(frozen=True)
class Axes:
    """Both logarithmic, in whole decades."""

    x_low: int
    x_high: int
    y_low: int
    y_high: int

    left, right, top, bottom = 58.0, 400.0, 34.0, 340.0

    def x(self, value: float) -> float:
        return self.left + (log10(value) - self.x_low) / (self.x_high - self.x_low) * (self.right - self.left)

    def y(self, value: float) -> float:
        return self.bottom - (log10(value) - self.y_low) / (self.y_high - self.y_low) * (self.bottom - self.top)


@dataclass(frozen=True)
class Dot:
    """One measured rate at the ladder's intensity."""

    name: str
    rate: float
    kind: str = "dot"


def roofs_of(steps: Sequence[Step], report: Report) -> Roofs:
    """The roofs of a ladder: of its own kind with the ceilings of its steps, of the other kind with the highest one."""
    step = steps[0]
    own = {row.ceiling.name: row.ceiling for row in (one.row for one in steps) if row.ceiling}
    slopes, flats = ceilings(report, "B"), ceilings(report, step.operation, step.row.compute)
    if step.of_bytes:
        return Roofs(step.row.bandwidth, step.row.compute, [slopes[name] for name in own], _highest(flats))
    return Roofs(step.row.bandwidth, step.row.compute, _highest(slopes), [flats[name] for name in own])


def _highest(found: dict[str, Ceiling]) -> list[Ceiling]:
    return sorted(found.values(), key=lambda ceiling: -ceiling.rate)[:1]


def roofline_in_words(steps: Sequence[Step], report: Report) -> str:
    """The roofline for those who do not see it."""
    measured = [step for step in steps if step.timed]
    limits, intensity, unit = roofs_of(measured, report), measured[0].intensity, measured[0].operation
    reached = ", ".join(f"{found.name} {_rate(found.rate, unit)}" for found in _dots(measured))
    kind = "memory" if limits.at(intensity) < (limits.compute or float("inf")) else "arithmetic"
    return (
        f"Roofline at {_number(intensity)} {_plural(unit)} per byte: {reached}; "
        f"there the peak of {kind} allows {_rate(limits.at(intensity), unit)}"
    )


def roofline(steps: Sequence[Step], report: Report) -> str:
    """Both roofs as peak and as measured, and every step at the intensity of the task."""
    measured = [step for step in steps if step.timed]
    limits, dots, unit = roofs_of(measured, report), _dots(measured), measured[0].operation
    intensity = measured[0].intensity
    highest, lowest = max(limits.at(intensity), limits.compute or 0.0), min(found.rate for found in dots)
    ridge = limits.compute / limits.bandwidth if limits.compute else intensity
    axes = Axes(
        floor(log10(min(intensity, ridge) / 4)), ceil(log10(max(intensity, ridge) * 6)),
        floor(log10(lowest / 1.2)), ceil(log10(highest * 1.3)),
    )  # fmt: skip
    body = [
        *_grid(axes, unit),
        *_roof_lines(limits, axes, unit),
        *_points(dots, limits.at(intensity), intensity, axes, unit),
    ]
    body += lines_of_text(axes.bottom + 112, OF_TRAFFIC)
    return picture("Roofline with all steps", roofline_in_words(steps, report), body, axes.bottom + 142)


def _dots(steps: Sequence[Step]) -> list[Dot]:
    dots = [Dot(step.name, step.operations_per_s) for step in steps]
    return dots + [Dot(name, timed.rate, "other") for name, timed in marks(steps)]


def _rate(value: float, unit: str) -> str:
    return f"{value / 1e9:.3g} G elements/s" if unit == "element" else rate(value, unit)


def _plural(unit: str) -> str:
    return "elements" if unit == "element" else unit.lower()


def _number(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def _grid(axes: Axes, unit: str) -> Iterator[Markup]:
    for decade in range(axes.x_low, axes.x_high + 1):
        x = axes.x(10.0**decade)
        yield line(x, axes.top, x, axes.bottom, "grid")
        yield text(x, axes.bottom + 18, f"{10.0**decade:g}", "dim middle")
    for decade in range(axes.y_low, axes.y_high + 1):
        y = axes.y(10.0**decade)
        yield line(axes.left, y, axes.right, y, "grid")
        yield text(axes.left - 6, y + 4, _short(10.0**decade), "dim end")
    yield text(
        (axes.left + axes.right) / 2, axes.bottom + 37, f"{_plural(unit)} for each byte that has to move", "dim middle"
    )
    yield text(axes.left, axes.top - 14, f"{'elements' if unit == 'element' else unit}/s", "dim middle")


def _short(value: float) -> str:
    power = int(log10(value)) // 3
    return f"{value / 1000.0**power:g}{('', 'k', 'M', 'G', 'T', 'P')[power]}"


def _roof_lines(limits: Roofs, axes: Axes, unit: str) -> Iterator[Markup]:
    """The measured ceilings as broken lines, the peaks as a line, and below the axes what they are."""
    for ceiling in limits.slopes:
        yield _slope(ceiling.rate, limits, axes, "ceiling")
    for ceiling in limits.flats:
        x = axes.x(ceiling.rate / limits.bandwidth)
        yield path([(x, axes.y(ceiling.rate)), (axes.right, axes.y(ceiling.rate))], "ceiling")
    yield _slope(limits.bandwidth, limits, axes, "roof")
    peaks = [rate(limits.bandwidth, "B"), *([_rate(limits.compute, unit)] if limits.compute else [])]
    measured = [f"{one.name} {rate(one.rate, 'B')}" for one in limits.slopes]
    measured += [f"{one.name} {_rate(one.rate, unit)}" for one in limits.flats]
    legend = (("roof", f"peak: {', '.join(peaks)}"), ("ceiling", f"ceilings, measured: {', '.join(measured)}"))
    for at, (kind, words) in enumerate(legend):
        y = axes.bottom + 62 + 20 * at
        yield path([(axes.left, y), (axes.left + 30, y)], kind)
        yield text(axes.left + 38, y + 4, words)


def _slope(bandwidth: float, limits: Roofs, axes: Axes, kind: str) -> Markup:
    """Bytes per second as operations, from where they enter the drawing to the flat roof or the right edge."""
    left = max(10.0**axes.x_low, 10.0**axes.y_low / bandwidth)
    right = limits.compute / bandwidth if limits.compute else min(10.0**axes.x_high, 10.0**axes.y_high / bandwidth)
    corners = [(left, bandwidth * left), (right, bandwidth * right)]
    if limits.compute and kind == "roof":
        corners.append((10.0**axes.x_high, limits.compute))
    return path([(axes.x(x), axes.y(y)) for x, y in corners], kind)


def _points(dots: Sequence[Dot], limit: float, intensity: float, axes: Axes, unit: str) -> Iterator[Markup]:
    """The steps below the roof, on the line of their intensity; names and rates in a column beside the axes."""
    x, column = axes.x(intensity), axes.right + 14
    yield line(x, axes.y(limit), x, axes.bottom, "axis")
    placed = sorted(dots, key=lambda found: -found.rate)
    heights = spread([axes.y(found.rate) for found in placed], 17, axes.bottom - 8)
    for found, height in zip(placed, heights, strict=True):
        y = axes.y(found.rate)
        yield line(x, y, column - 4, height, "leader")
        yield dot(x, y, found.kind)
        words = f"{found.name} · {_rate(found.rate, unit)}"
        yield text(column, height + 4, words, "other" if found.kind == "other" else "plain")
