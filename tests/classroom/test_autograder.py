"""The autograder zip, unpacked and run as Gradescope does it, with another root folder."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import jsonschema
import pytest
from class_samples import SECRET
from test_platforms import GRADESCOPE

from grader import __version__
from grader.catalog.exercises import load_catalog
from grader.classroom.assignment import assignment_text
from grader.classroom.autograder import autograder_zip, digest_of, who_is_who
from grader.classroom.autograder_run import Handed, collected, other_form, read_secret, who_and_when
from grader.classroom.collect.exercises import Assigned
from grader.classroom.key import assignment_key, read_key, seed
from grader.classroom.records import AssignedExercise, Assignment, LateRule, Student
from grader.classroom.run import TaskMaker
from grader.errors import UsageError
from grader.paths import PACKAGE

DEADLINE = datetime(2026, 12, 6, 22, 59, tzinfo=UTC)
ASSIGNED = Assignment(
    "week4", "Week 4", (AssignedExercise("vector_add", 40), AssignedExercise("pinned_copy", 60)), DEADLINE,
    LateRule(percent_per_day=25, days=2), backend="sim",
)  # fmt: skip
HERE = Path(__file__).parent


def python_for_others(folder: Path) -> Path:
    """A Python with warpgrade that another user may start, too, as in a container; skips the test if there is none."""
    own, system = Path(sys.executable), Path("/usr/bin/python3")
    found = [path for path in sys.path if path and Path(path).is_dir()]
    if os.geteuid() != 0 or all(map(_others_may_enter, (own, own.resolve()))):
        return own
    version = [str(number) for number in sys.version_info[:2]]
    if not system.exists() or f"python{'.'.join(version)}" not in str(system.resolve()):
        pytest.skip("this Python is in a folder of root's, and the system's is of another version")
    if not _others_may_enter(PACKAGE):
        pytest.skip("the package is in a folder of root's")
    subprocess.run([system, "-m", "venv", "--without-pip", folder], check=True)
    (packages,) = (folder / "lib").glob("*/site-packages")
    (packages / "warpgrade.pth").write_text("\n".join(found))
    return folder / "bin" / "python"


def _others_may_enter(path: Path) -> bool:
    return all(place.stat().st_mode & 0o001 for place in (path, *path.parents))


def unpacked(root: Path, made: bytes) -> None:
    """As Gradescope does it: the zip's files with their modes, and a folder for the results."""
    (root / "submission").mkdir(parents=True)
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        for entry in archive.infolist():
            path = Path(archive.extract(entry, root / "source"))
            path.chmod((entry.external_attr >> 16) & 0o777)


def run(root: Path, *before: str, expected: int = 0) -> dict:
    """Grade; the results."""
    python = python_for_others(root / "venv")
    environment = dict(os.environ) | {
        "WARPGRADE_AUTOGRADER_ROOT": str(root), "WARPGRADE_AUTOGRADER_PYTHON": str(python)
    }  # fmt: skip
    command = [*before, str(root / "source" / "run_autograder")]
    done = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, timeout=200)
    assert done.returncode == expected, done.stderr
    if expected:
        return {"said": done.stderr}
    assert done.stderr == ""  # it says why something has no points
    document = json.loads((root / "results" / "results.json").read_text())
    jsonschema.validate(document, GRADESCOPE)
    return document


def handed_in(root: Path, files: dict[str, str], **metadata) -> None:
    for name, text in files.items():
        (root / "submission" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "submission" / name).write_text(text)
    (root / "submission_metadata.json").write_text(json.dumps(metadata))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A container's folder that other users may enter, as /autograder."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o011)
    unpacked(tmp_path / "autograder", autograder_zip(ASSIGNED, SECRET))
    return tmp_path / "autograder"


@pytest.mark.slow
def test_a_late_solution_gets_its_points_and_what_is_missing_says_so(root):
    solution = load_catalog([]).find("vector_add").solution
    late = (DEADLINE + timedelta(hours=1)).isoformat()
    handed_in(root, {"work/vector_add.cu": solution.read_text()}, created_at=late, users=[{"email": "a@x.org"}])
    results = run(root)
    first, second = results["tests"]
    assert first["output"].splitlines() == ["Verdict: pass", "−10: 1 day late: 25 % of 40 points."]
    assert (results["score"], first["score"], first["max_score"], first["status"]) == (30, 30, 40, "passed")
    assert first["output"].splitlines() == ["Verdict: pass", "−10: 1 day late: 25 % of 40 points."]
    assert second["output"] == "Nothing was submitted."
    assert results["extra_data"]["sandbox"] in ("landlock", "none")


LOOKS = """
import os
seen = []
def look(path):
    try:
        with open(path, "rb") as file:
            seen.append(path + " was read: " + repr(file.read(200)))
    except OSError as error:
        seen.append(type(error).__name__)
for path in {paths!r} + ["/proc/%d/environ" % os.getppid(), "/proc/%d/mem" % os.getppid()]:
    look(path)
try:
    open({results!r}, "w").write("{{}}")
    seen.append("results were written")
except OSError as error:
    seen.append(type(error).__name__)
raise RuntimeError("user %d: " % os.getuid() + " ".join(seen))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="a container's grader is root; another user cannot change users")
def test_without_landlock_the_key_stays_secret_and_the_result_says_that_there_is_no_sandbox(root):
    key, results = str(root / "source" / "assignment.key"), str(root / "results" / "results.json")
    host = LOOKS.format(paths=[key, str(root / "source" / "assignment.toml"), "/etc/shadow"], results=results)
    kernel = load_catalog([]).find("pinned_copy").solution.read_text()
    handed_in(
        root,
        {
            "vector_add.cu": f'#include "{key}"\n#include <{key}>\n',
            "pinned_copy_host.py": host,
            "pinned_copy.cu": kernel,
        },
    )
    document = run(root, sys.executable, str(HERE / "without_landlock.py"))
    outputs = [test["output"] for test in document["tests"]]
    assert document["extra_data"]["sandbox"] == "none"
    assert "cannot open source file" in outputs[0], outputs[0]
    assert outputs[1].count("PermissionError") == 6
    assert "was read" not in outputs[1]
    assert "user 0" not in outputs[1]
    for exercise in ("vector_add", "pinned_copy"):
        assert str(seed(SECRET, exercise)) not in json.dumps(document)
    assert SECRET.hex() not in json.dumps(document)


def test_a_missing_key_writes_no_results_and_says_why(root):
    (root / "source" / "assignment.key").write_text("not a key")
    assert "is no key" in run(root, expected=2)["said"]
    assert not (root / "results" / "results.json").exists()


# ------------------------------------------------------------------------------------------------------------- the zip


def names_and_modes(made: bytes) -> dict[str, int]:
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        return {entry.filename: (entry.external_attr >> 16) & 0o777 for entry in archive.infolist()}


def test_the_zip_has_its_scripts_at_its_root_and_the_key_for_root_alone(tmp_path):
    course = tmp_path / "course"
    (course / "exercises").mkdir(parents=True)
    (course / "exercises" / "a.py").write_text("")
    (course / "link").symlink_to("/etc/passwd")
    wheel = tmp_path / "warpgrade-1-py3-none-any.whl"
    wheel.write_bytes(b"PK")
    made = autograder_zip(ASSIGNED, SECRET, wheel=wheel, courses=[course])
    assert names_and_modes(made) == {
        "setup.sh": 0o755, "run_autograder": 0o755, "assignment.toml": 0o644, "assignment.key": 0o600,
        wheel.name: 0o644, "courses/0/exercises/a.py": 0o644,
    }  # fmt: skip
    assert made == autograder_zip(ASSIGNED, SECRET, wheel=wheel, courses=[course])
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        assert b'install --no-cache-dir "./warpgrade-1-py3-none-any.whl[cuda12]"' in archive.read("setup.sh")


def test_setup_and_run_are_bash_and_the_user_is_made_once(tmp_path):
    with zipfile.ZipFile(io.BytesIO(autograder_zip(ASSIGNED, SECRET, extra="cuda13"))) as archive:
        archive.extractall(tmp_path)
    for name in ("setup.sh", "run_autograder"):
        subprocess.run(["bash", "-n", tmp_path / name], check=True)
    setup = (tmp_path / "setup.sh").read_text()
    assert "[cuda13]==" in setup
    assert "useradd --system --no-create-home" in setup


FAKE_PYTHON = """#!/bin/bash
[ "$1" = -c ] && exit 0
[ "$1" = -m ] && mkdir -p "$3/bin" && printf '#!/bin/bash\\necho "pip $*"\\n' > "$3/bin/pip" && chmod +x "$3/bin/pip"
"""


def test_setup_makes_the_user_and_an_environment_and_closes_the_folder(root, tmp_path):
    programs = tmp_path / "programs"
    programs.mkdir()
    nobody = {"getent": "#!/bin/bash\nexit 2\n", "useradd": "#!/bin/bash\necho useradd $*\n"}
    for name, text in ({"python3.14": FAKE_PYTHON} | nobody).items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    environment = {"PATH": f"{programs}:{os.environ['PATH']}", "WARPGRADE_AUTOGRADER_ROOT": str(root)}
    (root / "source" / "assignment.key").chmod(0o644)
    done = subprocess.run([root / "source" / "setup.sh"], env=environment, capture_output=True, text=True, check=True)
    assert "--shell /usr/sbin/nologin warpgrade-submission" in done.stdout
    assert f"pip install --no-cache-dir warpgrade[cuda12]=={__version__}" in done.stdout
    modes = [(root / name).stat().st_mode & 0o777 for name in ("source", "source/assignment.key")]
    assert modes == [0o700, 0o600]


def test_the_command_writes_a_zip_with_the_derived_key_and_not_that_of_the_class(folder, run, tmp_path):
    assert run("class", "autograder", folder, "--output", tmp_path / "a.zip")[0] == 0
    assert (tmp_path / "a.zip").stat().st_mode & 0o077 == 0
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        content = b"".join(archive.read(name) for name in archive.namelist())
    key = read_key(folder)
    assert assignment_key(key, "week4").hex().encode() in content
    assert key.hex().encode() not in content


def test_with_variants_the_roster_must_name_students_as_the_platform_does(folder, run, tmp_path):
    varied = replace(ASSIGNED, exercises=(AssignedExercise("saxpy_grid_stride"),), variants=True)
    (folder / "assignment.toml").write_text(assignment_text(varied))
    (folder / "roster.csv").write_text("id,name\nada,Ada\nbob,Bob\n")
    words = ("class", "autograder", folder, "--output", tmp_path / "a.zip")
    code, _, err = run(*words)
    assert (code, (tmp_path / "a.zip").exists()) == (2, False)
    assert "has no email address: Gradescope would not know which form of saxpy_grid_stride" in " ".join(err.split())
    (folder / "roster.csv").write_text("id,name,email\nada,Ada,ada@x.org\nbob,Bob,\n")
    code, out, _ = run(*words)
    assert code == 0
    assert "Warning: bob may get another form than that of the handout" in " ".join(out.split())
    assert "--wheel" in out


# ----------------------------------------------------------------------------------------------------- before grading


def test_who_submitted_when_and_until_when_comes_from_the_platform(tmp_path):
    students, metadata = tmp_path / "students.json", tmp_path / "m.json"
    students.write_text(json.dumps(who_is_who(SECRET, [Student("s17", "Ada", "Ada@X.org"), Student("s18")])))
    user = {"email": "ada@x.ORG", "id": 5, "name": "Ada L", "assignment": {"due_date": "2026-12-08T00:00:00-08:00"}}
    metadata.write_text(json.dumps({"created_at": "2026-12-01T10:00:00.5-08:00", "users": [user]}))
    handed = who_and_when(metadata, SECRET, students)
    assert handed.student == Student("s17", "Ada L")
    assert (handed.submitted, handed.due) == (
        datetime(2026, 12, 1, 18, 0, 0, 500000, UTC), datetime(2026, 12, 8, 8, tzinfo=UTC)
    )  # fmt: skip
    assert digest_of(SECRET, "ada@x.org ") in json.loads(students.read_text())
    for text in ("", "[]", '{"users": [3], "created_at": "soon"}', '{"users": null}'):
        metadata.write_text(text)
        assert who_and_when(metadata, SECRET, students) == Handed(Student("student"), is_known=False)


def test_an_id_that_is_an_address_is_known_and_who_is_not_on_the_list_is_told(tmp_path, capsys):
    students, metadata = tmp_path / "students.json", tmp_path / "m.json"
    students.write_text(json.dumps(who_is_who(SECRET, [Student("Ada@x.org")])))
    metadata.write_text(json.dumps({"users": [{"email": "ada@X.org"}]}))
    maker = TaskMaker(tmp_path, ASSIGNED, SECRET, {"saxpy_grid_stride": ("plain", "reversed")})
    known = who_and_when(metadata, SECRET, students)
    assert (known.student.id, list(other_form(known, maker))) == ("Ada@x.org", [])
    metadata.write_text(json.dumps({"users": [{"email": "bob@x.org"}]}))
    (remark,) = other_form(who_and_when(metadata, SECRET, students), maker)
    assert "you may have been given another form of saxpy_grid_stride" in remark
    assert "bob@x.org is not in students.json" in capsys.readouterr().err


def found_in(place: Path, assignment: Assignment, copies: Path):
    copies.mkdir(exist_ok=True)
    return collected(place, Assigned(assignment, load_catalog([])), Handed(Student("ada")), copies)


def test_files_are_found_in_folders_and_links_and_large_files_are_not(tmp_path):
    place, copies = tmp_path / "submission", tmp_path / "copies"
    (place / "deep").mkdir(parents=True)
    (place / "deep" / "vector_add.cu").write_text("deep")
    (place / "pinned_copy_host.py").symlink_to("/etc/passwd")
    (place / "pinned_copy.cu").write_bytes(bytes(2 << 20))
    (found,) = found_in(place, ASSIGNED, copies).submissions
    assert (found.exercise, (copies / "vector_add.cu").read_text()) == ("vector_add", "deep")
    (place / "Vector-Add (1).cu").write_text("a copy")
    (place / "notes.cu").write_text("?")
    remarks = found_in(place, ASSIGNED, copies).remarks
    assert (copies / "vector_add.cu").read_text() == "deep"
    assert [remark[:30] for remark in remarks] == ["Not graded: notes.cu: it is no", "Not graded: Vector-Add (1).cu:"]


def test_the_only_kernel_of_an_assignment_of_one_exercise_may_have_any_name(tmp_path):
    place = tmp_path / "submission"
    place.mkdir()
    (place / "my work.cu").write_text("x")
    one = replace(ASSIGNED, exercises=ASSIGNED.exercises[:1])
    assert [s.exercise for s in found_in(place, one, tmp_path / "copies").submissions] == ["vector_add"]
    assert found_in(place, ASSIGNED, tmp_path / "copies").submissions == ()


@pytest.mark.gpu
@pytest.mark.skipif(os.geteuid() != 0, reason="a container's grader is root")
def test_with_a_gpu_a_kernel_and_a_host_file_are_timed_as_another_user(tmp_path, root):
    place = tmp_path / "gpu"
    unpacked(place, autograder_zip(replace(ASSIGNED, backend="auto"), SECRET))
    catalog = load_catalog([])
    both = catalog.find("pinned_copy")
    files = {"vector_add.cu": catalog.find("vector_add").solution, "pinned_copy.cu": both.solution}
    files["pinned_copy_host.py"] = both.solution_host_file
    handed_in(place, {name: path.read_text() for name, path in files.items()})
    for before in ((), (sys.executable, str(HERE / "without_landlock.py"))):
        results = run(place, *before)
        assert [(test["tags"], test["status"]) for test in results["tests"]] == [(["pass"], "passed")] * 2
    assert results["extra_data"]["sandbox"] == "none"


def test_a_key_that_others_may_read_is_refused(tmp_path):
    (tmp_path / "assignment.key").write_text(SECRET.hex())
    (tmp_path / "assignment.key").chmod(0o644)
    with pytest.raises(UsageError, match="others may read"):
        read_secret(tmp_path)
