"""`grade calibrate`: lines from a bench made by hand, merged into what is there; profiles of others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from grader.bench.report import BenchReport, BenchRow
from grader.catalog.exercises import load_catalog
from grader.cli import main
from grader.cli.bench import merged, profile_lines
from grader.gpus.detect import Gpu
from grader.launch import DeviceLimits
from grader.timing import pass_lines as profiles
from grader.timing.pass_lines import PassLine, Profile, own_file, read_profile, save, to_json
from grader.verdict import Measurement

NAME = "NVIDIA GeForce RTX 4090"
GPU = Gpu(0, NAME, (8, 9), 128, 2.5e9, 10.5e9, 384, 72 << 20, 24 << 30, DeviceLimits())
MEASURED = Measurement(1e-3, (9e-4, 1.1e-3), 30, "B", 8e11, 1e12, 0.8, 8.2e11, 0.98, "none", 0.0, False)


def row(name: str, fraction: float | None = 0.8, **fields) -> BenchRow:
    measured = replace(MEASURED, fraction_of_peak=fraction)
    return BenchRow(**{"exercise": name, "size": "n = 1", "word": "unlined", "measured": measured} | fields)


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WARPGRADE_DATA", str(tmp_path / "data"))
    profiles.known_on.cache_clear()
    yield
    profiles.known_on.cache_clear()


@pytest.fixture
def measure(monkeypatch: pytest.MonkeyPatch):
    """Makes the bench answer with these rows; ``asked`` then holds the names that it was asked to time."""
    asked: list[str] = []

    def answer(*rows: BenchRow) -> list[str]:
        def bench(exercises, backend, seed, tell, *, alone):
            assert alone
            asked.extend(one.name for one in exercises)
            return BenchReport(GPU, (("driver", "580"),), "2026-02-03", rows)

        monkeypatch.setattr("grader.backends.gpu.GpuBackend", lambda device: SimpleNamespace(gpu=GPU))
        monkeypatch.setattr("grader.bench.solutions.bench", bench)
        return asked

    return answer


def own() -> Profile:
    return read_profile(own_file(NAME))


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The message of a command that must be a wrong one, on one line."""
    assert main(words) == 2
    err = capsys.readouterr().err
    assert "Traceback" not in err
    return " ".join(err.split())


# ------------------------------------------------------------------------------------------------------------ measuring


def test_lines_are_written_for_this_model_and_shown(measure, capsys):
    measure(row("vector_add", 0.9), row("softmax_v1", 0.7))
    assert main(["calibrate"]) == 0
    assert own() == Profile(
        NAME, "2026-02-03", {"driver": "580"}, {"vector_add": PassLine(0.855, 0.9), "softmax_v1": PassLine(0.665, 0.7)}
    )
    out = capsys.readouterr().out
    assert out.splitlines()[:3] == [
        "exercise    solution    line  of",
        "vector_add     0.900   0.855  peak",
        "softmax_v1     0.700   0.665  peak",
    ]
    assert NAME in " ".join(out.split())


def test_without_names_everything_that_is_timed_is_measured(measure):
    asked = measure(row("vector_add"))
    main(["calibrate"])
    targets = {one.name: one.exercise.target for one in load_catalog().exercises if one.solution}
    assert set(asked) == {name for name, target in targets.items() if target is not None and target.calibrated}


def test_a_name_replaces_its_own_line_and_keeps_the_others(measure, capsys):
    save(
        Profile(NAME, "2025-01-01", lines={"vector_add": PassLine(0.1, 0.2), "softmax_v1": PassLine(0.3, 0.4)}),
        own_file(NAME),
    )
    assert measure(row("vector_add", 0.9)) == []
    assert main(["calibrate", "vector_add"]) == 0
    assert own().lines == {"vector_add": PassLine(0.855, 0.9), "softmax_v1": PassLine(0.3, 0.4)}
    assert "softmax_v1" not in capsys.readouterr().out


def test_a_profile_may_go_to_a_file_of_ones_choice(measure, tmp_path):
    measure(row("vector_add"))
    assert main(["calibrate", "--output", str(tmp_path / "new" / "mine.json")]) == 0
    assert read_profile(tmp_path / "new" / "mine.json").gpu == NAME
    assert not own_file(NAME).exists()


def test_a_solution_that_could_not_be_measured_has_no_line_and_the_exit_code_says_so(measure, capsys):
    broken = row("softmax_v1", measured=None, problem="the arrays need 9 GiB")
    measure(row("vector_add"), broken)
    assert main(["calibrate"]) == 1
    assert list(own().lines) == ["vector_add"]
    assert "softmax_v1 has no line: the arrays need 9 GiB" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("fraction", "words"),
    [(None, "the peak of this GPU is not known"), (1.3, "which is impossible"), (float("nan"), "not known")],
)
def test_what_cannot_be_believed_makes_no_line_and_nothing_is_written(measure, capsys, fraction, words):
    measure(row("vector_add", fraction))
    assert main(["calibrate", "vector_add"]) == 1
    assert words in " ".join(capsys.readouterr().out.split())
    assert not own_file(NAME).exists()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("cuda_graph", "the line of cuda_graph is the same everywhere: 3.00 times the plain loop"),
        ("cooperative_grid", "cooperative_grid has no line: technique alone decides"),
        ("allreduce_ring", "allreduce_ring has no line: it is not measured on several GPUs yet"),
    ],
)
def test_an_exercise_whose_line_is_no_property_of_the_gpu_is_not_calibrated(name, why, measure, capsys):
    asked = measure()
    assert why in refused(["calibrate", name], capsys)
    assert asked == []


def test_an_exercise_that_is_not_timed_is_refused_before_anything_is_measured(measure, capsys):
    asked = measure()
    assert "hello_index has no timed size" in refused(["calibrate", "hello_index"], capsys)
    assert asked == []


# -------------------------------------------------------------------------------------------------------------- ladders


def test_a_step_measured_alone_is_compared_with_the_line_of_the_step_before():
    catalog = load_catalog()
    older = Profile(NAME, "2025-01-01", lines={"reduce_v1": PassLine(0.1, 0.2), "reduce_v2": PassLine(0.684, 0.72)})
    newer = Profile(NAME, "2026-01-01", lines={"reduce_v3": PassLine(0.684, 0.72)})
    lines = merged(older, newer, catalog).lines
    assert [lines[f"reduce_v{n}"].separated for n in (1, 2, 3)] == [True, True, False]


def test_a_step_is_seen_anew_when_the_step_before_it_is_measured_again():
    older = Profile(
        NAME,
        "2025-01-01",
        lines={"reduce_v1": PassLine(0.684, 0.72), "reduce_v2": PassLine(0.684, 0.72, "peak", False)},
    )
    newer = Profile(NAME, "2026-01-01", lines={"reduce_v1": PassLine(0.19, 0.2)})
    assert merged(older, newer, load_catalog()).lines["reduce_v2"].separated


def test_steps_that_time_does_not_separate_are_marked_in_the_table():
    first, second = list(profile_lines({"reduce_v1": PassLine(0.19, 0.2), "v2": PassLine(0.19, 0.2, separated=False)}))[
        1:
    ]
    assert first.endswith("peak")
    assert second.endswith("peak   no faster than the step before: only technique distinguishes them")


# ------------------------------------------------------------------------------------------------- files that are there


def test_a_damaged_profile_of_ones_own_makes_room_for_the_new_one(measure, capsys):
    own_file(NAME).parent.mkdir(parents=True)
    own_file(NAME).write_text("{")
    measure(row("vector_add"))
    assert main(["calibrate", "vector_add"]) == 0
    assert "a new one replaces it" in " ".join(capsys.readouterr().out.split())
    assert list(own().lines) == ["vector_add"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("my notes", "is no profile"),
        (to_json(Profile("NVIDIA A100", "2026-01-01")), "is the profile of an NVIDIA A100"),
    ],
)
def test_a_file_that_is_something_else_is_not_overwritten(measure, tmp_path, capsys, content, words):
    asked = measure(row("vector_add"))
    path = tmp_path / "notes.json"
    path.write_text(content)
    assert words in refused(["calibrate", "--output", str(path)], capsys)
    assert (path.read_text(), asked) == (content, [])


def test_a_folder_as_output_is_refused_before_anything_is_measured(measure, tmp_path, capsys):
    asked = measure(row("vector_add"))
    assert "is a folder" in refused(["calibrate", "--output", str(tmp_path)], capsys)
    assert asked == []


def test_a_place_that_cannot_be_written_is_told_in_words(measure, tmp_path, capsys):
    (tmp_path / "file").touch()
    measure(row("vector_add"))
    assert "cannot write" in refused(["calibrate", "--output", str(tmp_path / "file" / "x.json")], capsys)


# ----------------------------------------------------------------------------------------------------- others' profiles


def test_a_profile_of_somebody_else_is_taken_over_for_its_model(tmp_path, capsys):
    save(
        Profile(NAME, "2025-01-01", lines={"mine": PassLine(0.1, 0.2), "vector_add": PassLine(0.1, 0.2)}),
        own_file(NAME),
    )
    save(Profile(NAME, "2026-01-01", lines={"vector_add": PassLine(0.8, 0.85)}), tmp_path / "theirs.json")
    assert main(["calibrate", "--use", str(tmp_path / "theirs.json")]) == 0
    assert own().lines == {"mine": PassLine(0.1, 0.2), "vector_add": PassLine(0.8, 0.85)}
    assert capsys.readouterr().out.startswith("1 pass line for every")


@pytest.mark.parametrize(("content", "words"), [(None, "there is no file"), ("[]", "is no profile")])
def test_a_profile_that_is_none_is_refused_and_ones_own_stays(tmp_path, capsys, content, words):
    save(Profile(NAME, "2025-01-01", lines={"mine": PassLine(0.1, 0.2)}), own_file(NAME))
    path = tmp_path / "theirs.json"
    if content is not None:
        path.write_text(content)
    assert words in refused(["calibrate", "--use", str(path)], capsys)
    assert list(own().lines) == ["mine"]


def test_use_takes_no_names(tmp_path, capsys):
    save(Profile(NAME, "2026-01-01", lines={"vector_add": PassLine(0.8, 0.85)}), tmp_path / "theirs.json")
    assert "do not give NAME" in refused(["calibrate", "vector_add", "--use", str(tmp_path / "theirs.json")], capsys)


def test_without_a_gpu_the_exit_code_is_4(capsys):
    assert main(["calibrate", "--device", "99"]) == 4
    assert "Traceback" not in capsys.readouterr().err
