"""The drawings of the teacher's page: points as a histogram, verdicts as bars. Pure."""

from __future__ import annotations

from markupsafe import Markup

from grader.render.classroom.figures import BINS, ExerciseFigures
from grader.render.drawing import WIDTH, line, rect, svg, text
from grader.text import counted

LEFT, RIGHT, TOP, BOTTOM = 6, WIDTH - 2, 18, 118
ROW = 19
LABEL_WIDTH = 104
TONES = {"pass": "met", "slow": "missed", "technique": "missed", "inconclusive": "track", "error": "track"}


def histogram(figures: ExerciseFigures, name: str) -> Markup:
    """How many students have so many tenths of the points."""
    most = max((*figures.bins, 1))
    width = (RIGHT - LEFT) / BINS
    body = [line(LEFT, BOTTOM, RIGHT, BOTTOM, "grid")]
    for at, count in enumerate(figures.bins):
        x, high = LEFT + at * width, (BOTTOM - TOP) * count / most
        if count:
            fill = "fill met" if at == BINS - 1 else "fill part"
            body.append(rect(x + 1.5, BOTTOM - high, width - 3, high, fill))
            body.append(text(x + width / 2, BOTTOM - high - 4, str(count), "label strong middle"))
        if at % 2 == 0:
            body.append(text(x, BOTTOM + 13, f"{10 * at} %", "label middle" if at else "label"))
    body.append(text(RIGHT, BOTTOM + 13, "100 %", "label end"))
    tenths = (f"{counted(n, 'student')} at {10 * at} to {10 * at + 10} %" for at, n in enumerate(figures.bins) if n)
    return svg("histogram", name, BOTTOM + 18, f"Points of {figures.name}", "; ".join(tenths) or "no points yet", body)


def verdict_bars(figures: ExerciseFigures, name: str) -> Markup:
    """How many submissions have each verdict."""
    most = max((count for _, count in figures.verdicts), default=1)
    body, y = [], 2.0
    for word, count in figures.verdicts:
        wide = (WIDTH - LABEL_WIDTH - 34) * count / most
        body.append(text(LABEL_WIDTH - 6, y + 12, word.replace("_", " "), "label end"))
        body.append(rect(LABEL_WIDTH, y, max(wide, 2), 15, f"fill {TONES.get(word, 'bad')}"))
        body.append(text(LABEL_WIDTH + max(wide, 2) + 5, y + 12, str(count), "label strong"))
        y += ROW
    described = ", ".join(f"{word.replace('_', ' ')}: {count}" for word, count in figures.verdicts)
    return svg("verdicts", name, y + 2, f"Verdicts of {figures.name}", described or "no verdicts yet", body)
