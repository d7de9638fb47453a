"""Pictures of pages: one SVG for light and dark, of text, lines and boxes. The same input gives the same bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from grader.text import safe

WIDTH = 720
LETTER = 6.9
"""Approximate width of a letter, because no font is measured."""
LINE = 18
"""From one line of text to the next."""

STYLE = Markup("""
  .back { fill: #ffffff }
  text { font: 13px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif }
  .plain { fill: #1f2328 }
  .dim { fill: #59636e }
  .strong { font-weight: 600 }
  .middle { text-anchor: middle }
  .end { text-anchor: end }
  .grid { stroke: #d8dee4 }
  .axis { stroke: #59636e }
  .leader { stroke: #8c959f }
  .bar, .dot { fill: #1a7f37 }
  .other { fill: #bc4c00 }
  line.other { stroke: #bc4c00; stroke-width: 1.5 }
  circle.other { fill: #ffffff; stroke: #bc4c00; stroke-width: 2 }
  .roof { fill: none; stroke: #1f2328; stroke-width: 2 }
  .ceiling { fill: none; stroke: #1f2328; stroke-width: 1.5; stroke-dasharray: 5 4 }
  .flight { fill: #b6d7f9; stroke: #0550ae }
  .issue { fill: #1f2328 }
  .multiply { fill: #1a7f37 }
  .stop, .wait { fill: #bc4c00 }
  .rest { fill: #8c959f }
  @media (prefers-color-scheme: dark) {
    .back { fill: #0d1117 }
    .plain { fill: #e6edf3 }
    .dim { fill: #9198a1 }
    .grid { stroke: #2f353d }
    .axis { stroke: #9198a1 }
    .leader { stroke: #656c76 }
    .bar, .dot { fill: #3fb950 }
    .other { fill: #f0883e }
    line.other { stroke: #f0883e }
    circle.other { fill: #0d1117; stroke: #f0883e }
    .roof, .ceiling { stroke: #e6edf3 }
    .flight { fill: #12335c; stroke: #79c0ff }
    .issue { fill: #e6edf3 }
    .multiply { fill: #3fb950 }
    .stop, .wait { fill: #f0883e }
    .rest { fill: #656c76 }
  }
""")

_PICTURE = Markup(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:g}" width="{width}" height="{height:g}" '
    'role="img" aria-labelledby="title desc">\n<title id="title">{title}</title>\n<desc id="desc">{desc}</desc>\n'
    '<style>{style}</style>\n<rect class="back" width="{width}" height="{height:g}"/>\n{body}\n</svg>\n'
)
_TEXT = Markup('<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{words}</text>')
_LINE = Markup('<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>')
_BOX = Markup('<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" class="{kind}"/>')
_DOT = Markup('<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" class="{kind}"/>')
_GROUP = Markup('<g id="{name}">{body}</g>')
_REUSE = Markup('<use href="#{name}" y="{down:.1f}"/>')
_PATH = Markup('<polyline points="{points}" class="{kind}"/>')


def picture(title: str, described: str, body: Sequence[Markup], height: float) -> str:
    """The whole file; ``described`` is for those who do not see it."""
    return str(
        _PICTURE.format(
            width=WIDTH,
            height=height,
            title=safe(title),
            desc=safe(described),
            style=STYLE,
            body=Markup("\n").join(body),
        )
    )


def text(x: float, y: float, words: str, kind: str = "plain") -> Markup:
    return _TEXT.format(x=x, y=y, words=safe(words), kind=kind)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return _LINE.format(x1=x1, y1=y1, x2=x2, y2=y2, kind=kind)


def box(x: float, y: float, w: float, h: float, kind: str) -> Markup:
    return _BOX.format(x=x, y=y, w=w, h=h, kind=kind)


def dot(x: float, y: float, kind: str = "dot") -> Markup:
    return _DOT.format(x=x, y=y, kind=kind)


def path(points: Sequence[tuple[float, float]], kind: str) -> Markup:
    return _PATH.format(points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), kind=kind)


def lines_of_text(y: float, lines: Sequence[str]) -> Iterator[Markup]:
    """Sentences below a drawing, the first one at ``y``."""
    for at, words in enumerate(lines):
        yield text(8, y + LINE * at, words, "dim")


def group(name: str, body: Sequence[Markup]) -> Markup:
    """Several parts under a name that is unique in the picture."""
    return _GROUP.format(name=name, body=Markup("").join(body))


def reuse(name: str, down: float) -> Markup:
    """A group once more, lower by so much."""
    return _REUSE.format(name=name, down=down)


def spread(heights: Sequence[float], apart: float, lowest: float) -> list[float]:
    """Heights of labels from the top, each ``apart`` or more below the one before, and none below ``lowest``."""
    placed: list[float] = []
    for height in heights:
        placed.append(max(height, placed[-1] + apart) if placed else height)
    for at in reversed(range(len(placed))):
        placed[at] = min(placed[at], lowest - apart * (len(placed) - 1 - at))
    return placed
