"""The roofline as SVG, both axes logarithmic: the two roofs, this run, and earlier runs of its ladder. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from markupsafe import Markup

from grader.render.drawing import WIDTH, line, svg, text
from grader.text import rate
from grader.verdict import Roof

LEFT, RIGHT, TOP, BOTTOM = 38, 320, 22, 216
LABEL_HEIGHT = 12
POINTS_SHOWN = 8

_DOT = Markup('<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}" class="{kind}"></circle>')
_PATH = Markup('<polyline points="{points}" class="roof"></polyline>')


@dataclass(frozen=True)
class Point:
    """An earlier run of the same ladder: its name, flop per byte, and flop per second."""

    label: str
    intensity: float
    achieved: float


@dataclass(frozen=True)
class _Scale:
    """Decades that the drawing shows, and where a value stands."""

    x_decades: tuple[int, int]
    y_decades: tuple[int, int]

    def x(self, intensity: float) -> float:
        low, high = self.x_decades
        return LEFT + (log10(intensity) - low) / (high - low) * (RIGHT - LEFT)

    def y(self, achieved: float) -> float:
        low, high = self.y_decades
        return BOTTOM - (log10(achieved) - low) / (high - low) * (BOTTOM - TOP)


def roofline_svg(roof: Roof, history: Sequence[Point], name: str) -> Markup:
    """Return the drawing; earlier points beyond POINTS_SHOWN are left out, the oldest first."""
    earlier = [p for p in history if p.intensity > 0 and p.achieved > 0][-POINTS_SHOWN:]
    scale = _scale(roof, earlier)
    body = [*_grid(scale, roof.unit), *_roofs(roof, scale), *_points(roof, earlier, scale)]
    return svg("roofline", name, BOTTOM + 34, "Roofline", _described(roof, earlier), body)


def reachable(roof: Roof) -> float:
    """Return the lower of the two roofs above the run, in operations per second."""
    return min(roof.bandwidth * roof.intensity, roof.compute)


def _described(roof: Roof, earlier: Sequence[Point]) -> str:
    bound = "memory bandwidth" if roof.bandwidth * roof.intensity < roof.compute else "arithmetic"
    told = (
        f"This run: {rate(roof.achieved, roof.unit)} at {roof.intensity:.3g} {roof.unit.lower()} per byte. "
        f"There {bound} allows {rate(reachable(roof), roof.unit)}."
    )
    return told + (
        " Earlier: " + ", ".join(f"{p.label} {rate(p.achieved, roof.unit)}" for p in earlier) if earlier else ""
    )


def _scale(roof: Roof, earlier: Sequence[Point]) -> _Scale:
    ridge = roof.compute / roof.bandwidth
    xs = [roof.intensity, ridge, *(p.intensity for p in earlier)]
    ys = [roof.achieved, roof.compute, *(p.achieved for p in earlier)]
    x_low, x_high = floor(log10(min(xs) / 2)), ceil(log10(max(xs) * 2))
    low = floor(log10(min(*ys, roof.bandwidth * 10**x_low) / 1.2))
    return _Scale((x_low, x_high), (low, ceil(log10(max(ys) * 1.1))))


def _grid(scale: _Scale, unit: str) -> Iterator[Markup]:
    for decade in range(scale.x_decades[0], scale.x_decades[1] + 1):
        x = scale.x(10.0**decade)
        yield line(x, TOP, x, BOTTOM, "grid")
        yield text(x, BOTTOM + 14, f"{10.0**decade:g}", "label middle")
    low, high = scale.y_decades
    for decade in range(low, high + 1, 2 if high - low > 6 else 1):
        y = scale.y(10.0**decade)
        yield line(LEFT, y, RIGHT, y, "grid")
        yield text(LEFT - 4, y + 4, _short(10.0**decade), "label end")
    yield text((LEFT + RIGHT) / 2, BOTTOM + 29, f"{unit.lower()} per byte", "label middle")
    yield text(LEFT, TOP - 8, f"{unit}/s", "label middle")


def _short(value: float) -> str:
    return f"{value / 1e15:g}P" if value >= 1e15 else rate(value, "").removesuffix("/s").replace(" ", "")


def _roofs(roof: Roof, scale: _Scale) -> Iterator[Markup]:
    left, right = (10.0**decade for decade in scale.x_decades)
    ridge = roof.compute / roof.bandwidth
    corners = [(left, roof.bandwidth * left), (ridge, roof.compute), (right, roof.compute)]
    yield _PATH.format(points=" ".join(f"{scale.x(x):.1f},{scale.y(y):.1f}" for x, y in corners))
    yield text(RIGHT, scale.y(roof.compute) + 14, rate(roof.compute, roof.unit), "label end")
    middle = (left * ridge) ** 0.5
    yield text(scale.x(middle) - 6, scale.y(roof.bandwidth * middle) - 4, rate(roof.bandwidth, "B"), "label end")


def _points(roof: Roof, earlier: Sequence[Point], scale: _Scale) -> Iterator[Markup]:
    """Dots with names beside them; names that would overlap make room for each other."""
    known = [*((p.label, p.intensity, p.achieved, "dot") for p in earlier),
             ("this run", roof.intensity, roof.achieved, "dot now")]  # fmt: skip
    known.sort(key=lambda point: -point[2])
    heights = _spread([scale.y(achieved) for _, _, achieved, _ in known])
    for (label, intensity, achieved, kind), at in zip(known, heights, strict=True):
        x, y = scale.x(intensity), scale.y(achieved)
        side = 1 if x < WIDTH * 0.6 else -1
        words = ("label strong" if kind == "dot now" else "label") + (" end" if side < 0 else "")
        yield line(x, y, x + 12 * side, at, "leader")
        yield _DOT.format(x=x, y=y, r=5 if kind == "dot now" else 3.5, kind=kind)
        yield text(x + 14 * side, at + 4, f"{label} {rate(achieved, roof.unit)}", words)


def _spread(heights: Sequence[float]) -> list[float]:
    """Heights of names, from the top, each at least a name's height below the one before it and above the axis."""
    placed: list[float] = []
    for height in heights:
        placed.append(max(height, placed[-1] + LABEL_HEIGHT) if placed else height)
    room = BOTTOM - 6.0
    for i in reversed(range(len(placed))):
        placed[i] = min(placed[i], room)
        room = placed[i] - LABEL_HEIGHT
    return placed
