"""The pictures of the ladders' pages: the same bytes each time, every step named, nothing on top of anything else."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from xml.etree import ElementTree

import ladder_pictures as pictures
import ladder_times
import pytest
from ladder_steps import Report, Row, Step, ceilings, step_of
from ladders import MEASURED, read_reports
from pictures import LETTER, STYLE, WIDTH, spread
from warp_paths import Warp

from grader.catalog.exercises import load_catalog
from grader.dev.ladders import ladders

REPORT = read_reports(MEASURED)
LADDERS = {name: [step_of(one, REPORT, {}) for one in steps] for name, steps in ladders(load_catalog().exercises)}
DRAWN: dict[str, Callable[[list[Step], Report], str]] = {
    "plot": lambda steps, report: pictures.plot(steps), "roofline": pictures.roofline,
    "time": lambda steps, report: ladder_times.time_picture(steps[0].entry.exercise.ladder),
}  # fmt: skip
SVG = "{http://www.w3.org/2000/svg}"

each = pytest.mark.parametrize(
    ("name", "part"), [(name, part) for name in LADDERS for part in DRAWN], ids=lambda word: word
)


def drawn(name: str, part: str) -> ElementTree.Element:
    return ElementTree.fromstring(DRAWN[part](LADDERS[name], REPORT))


def texts(picture: ElementTree.Element) -> list[tuple[float, float, float, str]]:
    """Left, right and base line of every text, with its words; the width of letters is an estimate."""
    found = []
    for one in picture.iter(f"{SVG}text"):
        words, kind = one.text or "", (one.get("class") or "").split()
        wide = LETTER * len(words)
        left = float(one.get("x")) - wide * (1 if "end" in kind else 0.5 if "middle" in kind else 0)
        found.append((left, left + wide, float(one.get("y")), words))
    return found


@each
def test_a_picture_is_the_same_file_each_time_and_names_every_measured_step(name, part):
    first, second = DRAWN[part](LADDERS[name], REPORT), DRAWN[part](LADDERS[name], REPORT)
    assert first == second
    words = " ".join(words for *_, words in texts(drawn(name, part)))
    steps = [step.name for step in LADDERS[name] if step.timed or part == "plot"]
    shown = ladder_times.STORIES[name].steps if part == "time" else steps
    assert [step for step in shown if step not in words] == []


@each
def test_no_text_of_a_picture_is_on_another_one_or_outside(name, part):
    picture = drawn(name, part)
    found = texts(picture)
    assert [one for one in found if one[0] < 0 or one[1] > WIDTH or one[2] > float(picture.get("height"))] == []
    for at, (left, right, y, words) in enumerate(found):
        beside = [other for other in found[at + 1 :] if abs(other[2] - y) < 12]
        assert [other[3] for other in beside if other[0] < right and left < other[1]] == [], words


@each
def test_a_picture_can_be_read_in_light_and_dark_and_by_those_who_do_not_see_it(name, part):
    picture = drawn(name, part)
    assert picture.find(f"{SVG}desc").text.startswith(("Fraction of ", "Roofline at ", "Stages in flight, "))
    light, dark = STYLE.split("@media (prefers-color-scheme: dark)")
    used = {kind for one in picture.iter() for kind in (one.get("class") or "").split()}
    shaped = {"end", "middle", "strong"}  # classes without a colour
    assert [kind for kind in sorted(used - shaped) if f".{kind}" not in light or f".{kind}" not in dark] == []


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_colours_differ_enough_from_the_background(scheme):
    rules = STYLE.split("@media (prefers-color-scheme: dark)")[scheme]
    back = re.search(r"\.back { fill: (#\w+) }", rules)[1]
    texts = {"plain": 4.5, "dim": 4.5, "other": 4.5}
    shapes = dict.fromkeys(("bar", "roof", "ceiling", "issue", "multiply", "stop", "rest", "flight"), 3.0)
    for kind, least in (texts | shapes).items():
        rule = next(rule for rule in re.findall(r"([^{}]+){([^{}]*)}", rules) if re.search(rf"\.{kind}\b", rule[0]))
        colours = re.findall(r"#\w{6}", rule[1])
        assert max(contrast(colour, back) for colour in colours) >= least, (kind, colours)


def contrast(one: str, other: str) -> float:
    """The ratio of WCAG 2."""
    low, high = sorted(luminance(colour) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_plot_has_the_libraries_of_the_same_peak_and_says_what_was_not_measured():
    steps = LADDERS["sgemm"]
    unknown = replace(steps[0], row=Row())
    picture = pictures.plot([*steps[1:], unknown])
    assert "cuBLAS, fp32 0.7" in picture
    assert "TF32" not in picture  # of another peak
    assert ">not yet</text>" in picture


def test_the_roofs_are_the_peaks_and_the_measured_ceilings_of_both_kinds():
    limits = pictures.roofs_of(LADDERS["sgemm"], REPORT)
    assert ([one.name for one in limits.slopes], [one.name for one in limits.flats]) == (["read_f32x4"], ["fma_f32"])
    limits = pictures.roofs_of(LADDERS["reduce"], REPORT)
    assert [one.name for one in limits.slopes] == ["read_f32x1", "read_f32x4"]
    assert limits.at(0.25) == pytest.approx(limits.bandwidth / 4)
    assert limits.at(1e6) == limits.compute
    transposed = pictures.roofs_of(LADDERS["transpose"], REPORT)
    assert (transposed.compute, transposed.flats) == (None, [])


def test_a_ceiling_is_the_highest_of_its_name():
    highest = ceilings(REPORT, "FLOP")["fma_f32"].rate
    every = [row["measured"]["ceiling"] for row in REPORT["rows"] if row["ceiling_name"] == "fma_f32"]
    assert highest == max(every)


def test_every_step_is_below_the_roof_of_its_peak():
    for steps in LADDERS.values():
        limits = pictures.roofs_of(steps, REPORT)
        assert [step.name for step in steps if step.operations_per_s > limits.at(step.intensity)] == []


def test_a_step_on_the_roofline_is_where_its_measured_rate_is():
    name, steps = "reduce", [step for step in LADDERS["reduce"] if step.timed]
    dots = [float(y) for y in re.findall(r'<circle cx="[\d.]+" cy="([\d.]+)"', pictures.roofline(steps, REPORT))]
    rates = sorted((step.operations_per_s for step in steps), reverse=True)
    assert len(dots) == len(rates), name
    assert dots == sorted(dots)


def test_every_ladder_has_a_picture_of_time_of_two_of_its_steps():
    for name, steps in LADDERS.items():
        assert {*ladder_times.STORIES[name].steps} <= {step.name for step in steps}


def test_a_picture_of_time_says_in_words_what_differs():
    assert ladder_times.time_in_words("transpose").endswith(
        "transpose_v3: at most 1 load in flight; transpose_v4: at most 8 loads in flight"
    )
    assert "sgemm_v7: 0 % of its multiply-adds while a tile is in flight; " in ladder_times.time_in_words("sgemm")


def test_all_warps_leave_a_barrier_when_the_last_one_has_come():
    warps = [Warp("oobo"), Warp("ooooboo")]
    assert ladder_times._barriers(warps) == [0, 5, 8]
    waits = [bar for bar in ladder_times._row(warps[0], [0, 5, 8]) if bar[2] == "wait"]
    assert waits == [(2, 5, "wait")]


def test_loads_that_overlap_are_one_tile_and_groups_of_copies_are_in_rows_of_their_own():
    assert ladder_times._tiles(Warp("llooww", [(0, 4), (1, 5)])) == [(0, 5)]
    assert ladder_times._tiles(Warp("lloaoa", [(0, 3), (1, 5)])) == [(0, 3), (1, 5)]
    assert ladder_times._slots([(0, 3), (1, 5), (3, 6)]) == [[(0, 3), (3, 6)], [(1, 5)]]


def test_labels_keep_their_distance_and_stay_above_the_axis():
    assert spread([10, 12, 50], 15, 100) == [10, 25, 50]
    assert spread([80, 85, 90], 15, 100) == [70, 85, 100]
