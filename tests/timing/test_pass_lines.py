"""Pass lines: drawn from what solutions reach, chosen by GPU model, shared as files."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.catalog.exercises import load_catalog
from grader.catalog.versions import CourseVersions, Move
from grader.errors import UsageError
from grader.exercise import Array, Exercise, Target
from grader.timing import pass_lines as profiles
from grader.timing.pass_lines import (
    PassLine,
    Profile,
    line_below,
    read_profile,
    rounded_down,
    save,
    separated,
    to_json,
    with_line,
)

OURS = "NVIDIA GeForce RTX 4090"


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A data folder for each test, and no line remembered from another."""
    monkeypatch.setenv("WARPGRADE_DATA", str(tmp_path))
    profiles.known_on.cache_clear()
    yield tmp_path
    profiles.known_on.cache_clear()


def exercise(name: str, fraction: float = 0.5) -> Exercise:
    return Exercise(
        name=name, order=101, idea="a test", oracle="a:b", small=({"n": 1},), simulated={"n": 1},
        arrays=(Array("x", "float32", "n"), Array("out", "float32", "n", role="out")),
        target=Target(unit="bandwidth", fraction=fraction),
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------------------- drawing


def test_a_line_lies_five_percent_below_the_solution():
    assert line_below(0.72) == PassLine(0.684, 0.72)


@pytest.mark.parametrize(("value", "line"), [(0.8455, 0.845), (0.02651, 0.0265), (0.5, 0.5), (0.9999, 0.999), (0, 0)])
def test_a_line_is_rounded_down_to_three_digits(value, line):
    assert rounded_down(value) == line


@pytest.mark.parametrize(("before", "apart"), [(0.184, True), (0.66, True), (0.675, False), (0.75, False)])
def test_a_step_is_separated_where_the_one_before_would_be_slow_on_it(before, apart):
    lines = separated({"v1": line_below(before), "v2": line_below(0.72)}, {"v2": "v1"})
    assert (lines["v1"].separated, lines["v2"].separated) == (True, apart)


def test_fractions_of_different_things_are_not_compared():
    lines = separated({"v1": line_below(0.9, of="ceiling"), "v2": line_below(0.7)}, {"v2": "v1"})
    assert lines["v2"].separated


# ------------------------------------------------------------------------------------------------------------ choosing


def test_a_gpu_without_a_profile_gets_the_references_line(monkeypatch):
    monkeypatch.setattr(profiles, "REFERENCE", OURS)
    save(Profile(OURS, "2026-01-01", lines={"k": PassLine(0.6, 0.65)}), profiles.own_file(OURS))
    target = with_line(exercise("k"), "NVIDIA Whatever").target
    assert target is not None
    assert (target.fraction, target.gpu) == (0.6, OURS)


def test_a_profile_of_ones_own_goes_before_the_references_line():
    save(Profile(OURS, "2026-01-01", lines={"vector_add": PassLine(0.9, 0.95)}), profiles.own_file(OURS))
    target = with_line(exercise("vector_add"), OURS).target
    assert target is not None
    assert (target.fraction, target.gpu) == (0.9, OURS)


def test_an_exercise_that_no_profile_knows_keeps_its_own_line():
    assert with_line(exercise("nobody_knows"), OURS) == exercise("nobody_knows")


def test_a_line_of_something_else_is_not_used():
    save(Profile(OURS, "2026-01-01", lines={"k": PassLine(0.9, 0.95, of="ceiling")}), profiles.own_file(OURS))
    assert with_line(exercise("k"), OURS) == exercise("k")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "is no profile"),
        ("\0" * (2 << 20), "more than"),
        (to_json(Profile("NVIDIA A100", "2026-01-01", lines={"vector_add": PassLine(0.1, 0.2)})), "of an NVIDIA A100"),
    ],
)
def test_a_damaged_profile_of_ones_own_leaves_the_shipped_lines_and_says_why(content, words):
    shipped = profiles.lines_on(profiles.REFERENCE)
    path = profiles.own_file(profiles.REFERENCE)
    path.parent.mkdir(parents=True)
    path.write_text(content)
    profiles.known_on.cache_clear()
    known = profiles.known_on(profiles.REFERENCE)
    assert known.lines == shipped != {}
    assert words in known.trouble
    assert "not used" in known.trouble


def test_grading_goes_on_with_a_damaged_profile_and_tells_it_once(monkeypatch, capsys):
    from grader.gpus.detect import Gpu
    from grader.grading.services import Hardware
    from grader.launch import DeviceLimits

    path = profiles.own_file(profiles.REFERENCE)
    path.parent.mkdir(parents=True)
    path.write_text("{")
    gpu = Gpu(0, profiles.REFERENCE, (9, 0), 132, 1.98e9, 3.2e9, 6016, 60 << 20, 141 << 30, DeviceLimits())
    hardware = Hardware("auto", gpu, "")
    lined = [hardware.with_line(load_catalog().find("vector_add")).exercise.target for _ in range(2)]
    assert lined[0] is not None
    assert lined[0].fraction > 0
    err = capsys.readouterr().err
    assert err.startswith(f"grade: {path} is no profile")
    assert err.count("\n") == 1


def test_a_folder_where_the_profile_should_be_is_no_profile():
    profiles.own_file(OURS).mkdir(parents=True)
    assert profiles.known_on(OURS).lines == {}


def test_the_shipped_profile_has_a_line_for_every_timed_exercise_that_is_measured():
    """One that no run of `grade bench` has measured says so on its page; its own line holds, with a note on it."""
    timed = {
        one.name: one for one in load_catalog().exercises if one.exercise.target and one.exercise.target.calibrated
    }
    lined = set(profiles.lines_on(profiles.REFERENCE))
    assert lined
    assert "cuda_graph" not in timed
    assert lined <= set(timed)
    for name in set(timed) - lined:
        target = timed[name].exercise.target
        assert target is not None
        assert f"| `{name}` | to be measured |" in timed[name].statement.read_text(), name
        assert target.fraction, name
        assert target.note, name


# --------------------------------------------------------------------------------------------------------------- files


def test_a_profile_comes_back_from_its_file_as_it_was(tmp_path: Path):
    profile = Profile(
        OURS, "2026-01-01", {"driver": "580"}, {"a": PassLine(0.1, 0.2), "b": PassLine(0.3, 0.4, "ceiling", False)}
    )
    save(profile, tmp_path / "deep" / "mine.json")
    assert read_profile(tmp_path / "deep" / "mine.json") == profile


SECOND = CourseVersions(2, (Move(1, "sum_v2", "sum_v3"), Move(1, "sum_v3", "sum_v4"), Move(1, "sum_v4", None)))


def test_lines_of_an_older_version_of_the_course_go_with_their_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    lines = {
        name: PassLine(0.1 * number, 0.2) for number, name in enumerate(("sum_v1", "sum_v2", "sum_v3", "sum_v4"), 1)
    }
    monkeypatch.setattr(profiles, "_course", CourseVersions)
    save(Profile(OURS, "2026-01-01", lines=lines), tmp_path / "p.json")
    monkeypatch.setattr(profiles, "_course", lambda: SECOND)
    moved = {"sum_v1": lines["sum_v1"], "sum_v3": lines["sum_v2"], "sum_v4": lines["sum_v3"]}
    assert read_profile(tmp_path / "p.json").lines == moved
    # Written again it is of the second version, and its names stay.
    save(read_profile(tmp_path / "p.json"), tmp_path / "p.json")
    assert read_profile(tmp_path / "p.json").lines == moved


def test_profile_of_a_later_version_of_the_course_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with monkeypatch.context() as later:
        later.setattr(profiles, "_course", lambda: SECOND)
        save(Profile(OURS, "2026-01-01", lines={"sum_v3": PassLine(0.9, 0.95)}), tmp_path / "p.json")
    monkeypatch.setattr(profiles, "_course", CourseVersions)
    with pytest.raises(UsageError, match="it is for version 2 of the course, and this is version 1"):
        read_profile(tmp_path / "p.json")


def test_a_newer_profile_replaces_only_what_it_has_measured():
    old = Profile(OURS, "2025-01-01", lines={"a": PassLine(0.1, 0.2), "b": PassLine(0.3, 0.4)})
    merged = old.with_lines(Profile(OURS, "2026-01-01", lines={"b": PassLine(0.5, 0.6)}))
    assert (merged.date, merged.lines) == ("2026-01-01", {"a": PassLine(0.1, 0.2), "b": PassLine(0.5, 0.6)})


GOOD = to_json(Profile(OURS, "2026-01-01", lines={"a": PassLine(0.1, 0.2)}))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Expecting value"),
        ("[]", "warpgrade/profile/1"),
        (GOOD.replace("profile/1", "profile/9"), "warpgrade/profile/1"),
        (GOOD.replace('"gpu"', '"gup"'), "'gpu' is missing"),
        (GOOD.replace("0.1", '"x"'), "the line of a"),
        (GOOD.replace("0.1", "7"), "the line of a is 7"),
        (GOOD.replace('"solution"', '"evil"'), "evil"),
        (GOOD.replace("0.1", "NaN"), "the line of a is nan"),
        (GOOD.replace("0.1", "true"), "the line of a is True"),
        (GOOD.replace("0.2", '"x"'), "of a solution at 'x'"),
        (GOOD.replace("0.2", "Infinity"), "of a solution at inf"),
        (GOOD.replace('"peak"', '"moon"'), "of 'moon'"),
        (GOOD.replace("true", "7"), "separated 7"),
        (GOOD.replace('"lines": {', '"lines": 5, "x": {'), "must map exercises"),
        (GOOD.replace('{"fraction"', '5, "y": {"fraction"'), "the line of a is 5"),
        ("[" * 100_000, "no profile"),
        ("\xff", "no profile"),
    ],
)
def test_a_file_that_is_no_profile_is_refused_with_its_reason(tmp_path: Path, text: str, words: str):
    path = tmp_path / "bad.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError, match=words):
        read_profile(path)


def test_a_file_that_cannot_be_written_is_told_and_the_old_one_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "mine.json"
    path.write_text(GOOD)

    def full(self: Path, *_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(UsageError, match=r"cannot write .*: No space left on device"):
        save(Profile(OURS, "2026-01-01", lines={"a": PassLine(0.3, 0.4)}), path)
    assert path.read_text() == GOOD
    assert list(tmp_path.iterdir()) == [path]


def test_a_name_of_any_kind_comes_back_from_its_file(tmp_path: Path):
    profile = Profile('a "GPU"\n', "2026-01-01", lines={'a"b\\': PassLine(0.1, 0.2)})
    save(profile, tmp_path / "odd.json")
    assert read_profile(tmp_path / "odd.json") == profile
