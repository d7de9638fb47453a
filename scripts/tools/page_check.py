"""Whether the pages of --html hold in a browser: html-validate, axe-core, no sideways scrolling on a phone, their size.

    python scripts/tools/page_check.py [--modules DIR] [--output DIR] [--pictures DIR] [PAGE…]

Without PAGE, sample verdicts of every kind are made into pages, and the ladders' pictures are looked at, too: whether
their texts touch one another, in light and dark. DIR is where `npm install axe-core html-validate puppeteer-core` was
run; Chromium and Node are those on the path. Exit code 1: problems; 2: something is not installed.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PACKAGES = ("axe-core", "html-validate", "puppeteer-core")
LARGEST = 1_000_000


def main() -> int:
    """Make the pages, check them, print what is wrong."""
    arguments = argparse.ArgumentParser(description="Check the pages of --html in Chromium.")
    arguments.add_argument("pages", nargs="*", type=Path, help="pages to check instead of the samples")
    arguments.add_argument("--modules", type=Path, default=Path.cwd(), help="the folder with node_modules")
    arguments.add_argument("--pictures", type=Path, help="keep a screenshot of each page here, for each screen")
    arguments.add_argument("--output", type=Path, help="keep the sample pages here")
    given = arguments.parse_args()
    if missing := not_installed(given.modules):
        print(f"not installed: {', '.join(missing)}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as temporary:
        pages = given.pages or [*written(given.output or Path(temporary)), *sorted(ROOT.glob("exercises/*/*.svg"))]
        problems = [*too_large(pages), *in_the_browser(pages, given.modules, given.pictures)]
    print("\n".join(problems) if problems else f"{len(pages)} pages, no problem")
    return 1 if problems else 0


def not_installed(modules: Path) -> list[str]:
    """What this check needs and does not find."""
    programs = [] if any(map(shutil.which, BROWSERS)) else ["chromium"]
    programs += [] if shutil.which("node") else ["node"]
    return programs + [name for name in PACKAGES if not (modules / "node_modules" / name).is_dir()]


def written(folder: Path) -> list[Path]:
    """The sample pages as files."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, page in sample_pages().items():
        paths.append(folder.resolve() / f"{name}.html")
        paths[-1].write_text(page, encoding="utf-8")
    return paths


def sample_pages() -> Mapping[str, str]:
    """A page for each kind of verdict, a long source, many submissions."""
    sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "render")]
    samples = importlib.import_module("verdict_samples")
    from grader.render.drawing import Point
    from grader.render.html import GradedPage, to_html
    from grader.verdict import VERDICTS

    race, source, wasteful = samples.RACY, samples.SOURCE, samples.WASTEFUL
    ladder = tuple(Point(f"reduce_v{i}", 1 / 12, i * 2e10) for i in range(1, 6))
    wide = "// " + "a very long line of the source " * 40 + "\n"
    pages = {
        "technique": [GradedPage(wasteful, source, "one thread, one element", ladder)],
        "passed": [GradedPage(samples.PASSED, source)],
        "race": [GradedPage(race, source)],
        "hostile": [GradedPage(samples.HOSTILE, source)],
        "long": [GradedPage(wasteful, source + wide * 3000)],
        "nothing": [GradedPage(replace(race, cases=(), diagnostics=(), next_step="", file=None, seed=None))],
        "missing_wait": [GradedPage(samples.WAITLESS, source, beside={samples.MISSING_WAIT.file: samples.HOST_SOURCE})],
        "timeline": [GradedPage(one, source) for one in (samples.OVERLAPPED, samples.MANY_NODES)],
        "several": [GradedPage(one, source) for one in (wasteful, samples.PASSED, race, samples.HOSTILE, race)],
        "many": [GradedPage(samples.plainly(race, word), source * 20) for word in VERDICTS] * 6,
    }
    return {**{name: to_html(graded, versions={"warpgrade": "0"}) for name, graded in pages.items()}, **class_pages()}


def class_pages() -> Mapping[str, str]:
    """The pages of a class of 30: the teacher's, the leaderboard, and a student's of each kind."""
    sys.path[:0] = [str(ROOT / "tests" / "classroom")]
    samples = importlib.import_module("class_samples")
    pages: Mapping[str, str] = samples.pages_of(samples.class_of_30())
    students = [name for name in pages if name.startswith("student")]
    return {f"class_{name}": pages[name] for name in ("index", "leaderboard", *students[:9], *students[-2:])}


def too_large(pages: Sequence[Path]) -> Iterator[str]:
    """The pages over the limit."""
    for page in pages:
        if page.stat().st_size > LARGEST:
            yield f"{page}: {page.stat().st_size} bytes"


def in_the_browser(pages: Sequence[Path], modules: Path, pictures: Path | None = None) -> list[str]:
    """What html-validate, axe-core and a narrow window say; what must be in the first screen of a class's pages."""
    if pictures is not None:
        pictures.mkdir(parents=True, exist_ok=True)
    browser = next(filter(None, map(shutil.which, BROWSERS)))
    script, shots = Path(__file__).with_suffix(".cjs"), str(pictures.resolve()) if pictures else ""
    found = subprocess.run(
        ["node", str(script), browser, shots, *(str(page.resolve()) for page in pages)],
        env=os.environ | {"NODE_PATH": str(modules.resolve() / "node_modules")}, capture_output=True, text=True,
    )  # fmt: skip
    return found.stdout.splitlines() + ([f"node: {found.stderr[-2000:]}"] if found.returncode else [])


if __name__ == "__main__":
    sys.exit(main())
