"""Grade a made-up class once without a break and once killed on the way, and compare.

python scripts/class_trial.py [--rows 200] [--write docs/results/class.md] [-- OPTIONS of `grade class run`]

The submissions are solutions and wrong answers of the course and attacks (`scripts/attack.py`), each with the verdict
that it must get: right, slow, wrong, racing, crashing, hanging, hostile, handed in twice, badly named, and missing. The
class is graded on the simulator, two at once: first without a break; then the run is killed with SIGKILL after a third
of the results, is started again, and one of its workers is killed after two thirds. Every row must have its verdict
both times, none may be graded twice, no worker may outlive its run, and the broken run may take 20 % more processor
time than the other. Exits 1 if something is not as it must be.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import random
import resource
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
from attacks import every_attack

from grader.catalog.courses import CourseExercise
from grader.catalog.exercises import load_catalog
from grader.classroom.folder import init_class
from grader.classroom.records import AssignedExercise, Assignment
from grader.classroom.store import Store
from grader.classroom.submissions import read_submissions
from grader.dev.wrong import wrong_answers

EXERCISES = (
    "vector_add", "saxpy_grid_stride", "elementwise_pack", "coalescing_stride", "aos_to_soa", "transpose_v1",
    "bank_conflicts", "divergence", "reduce_v1", "reduce_v2", "reduce_v3", "gemv", "softmax_v1", "pinned_copy",
)  # fmt: skip
CHEAP = ("vector_add", "saxpy_grid_stride", "reduce_v1")
KINDS: Mapping[str, tuple[int, tuple[str, ...]]] = {
    "right": (62, ("pass",)),
    "slow": (24, ("technique",)),
    "wrong": (34, ("wrong",)),
    "racing": (16, ("race",)),
    "crashing": (16, ("crash", "out_of_bounds")),
    "hanging": (16, ("timeout",)),
    "hostile": (16, ()),
    "handed in twice": (5, ("pass", "wrong")),
    "badly named": (5, ("pass", "wrong")),
    "missing": (6, ()),
}
"""How many rows of each kind there are in 200, and the verdicts of their sources."""

HOSTILE = (
    "compiler as reader",
    "compiler as bomb",
    "compiler crash",
    "output forging",
    "reach of the child",
    "simulator",
)
"""The threats whose attacks stand for hostile submissions."""

SLURM = "--slurm"  # its workers' processor time is not known here
ORPHANS_S = 60.0  # for workers to notice that their run was killed: at once here, after a while in other machines
MORE = 1.2  # processor time of the broken run, at most, as a multiple of the other's


@dataclass(frozen=True)
class Source:
    """Files of one exercise with the verdict that they must get on the simulator."""

    exercise: str
    files: Mapping[str, bytes]  # by NAME.cu and NAME_host.py
    verdict: str
    what: str


@dataclass(frozen=True)
class Row:
    """One student's exercise; without a source it is missing."""

    student: str
    exercise: str
    kind: str
    source: Source | None

    @property
    def expected(self) -> str:
        return self.source.verdict if self.source else "missing"


# ------------------------------------------------------------------------------------------------------ the submissions


def sources(names: Sequence[str]) -> Iterator[Source]:
    """Solutions and wrong answers of these exercises."""
    catalog = load_catalog()
    for name in names:
        entry = catalog.find(name)
        yield Source(name, solution_of(entry), "pass", f"{name}: the solution")
        for answer in wrong_answers(entry)[0]:
            if word := answer.expectation.words.get("sim"):
                files = solution_of(entry) | {
                    _as_handed_in(entry, file): text.encode() for file, text in answer.texts.items()
                }
                yield Source(name, files, word, f"{name}: {answer.path.stem}")


def solution_of(entry: CourseExercise) -> dict[str, bytes]:
    paths = (entry.solution, entry.solution_host_file)
    return {path.name: path.read_bytes() for path in paths if path is not None}


def _as_handed_in(entry: CourseExercise, name: str) -> str:
    return f"{entry.name}_host.py" if name.endswith("_host.py") else f"{entry.name}.cu"


def attacks(names: Sequence[str]) -> Iterator[Source]:
    catalog = load_catalog()
    for one in every_attack():
        if one.threat in HOSTILE and one.exercise in names and "sim" in one.expect and not one.file:
            files = solution_of(catalog.find(one.exercise))
            kernel, *host = files
            files[kernel] = one.source(files[kernel].decode()).encode()
            for name in host:
                files[name] = one.host_source(files[name].decode()).encode()
            yield Source(one.exercise, files, one.expect["sim"], one.name)


def made(rows: int, exercises: Sequence[str] = EXERCISES, seed: int = 16) -> list[Row]:
    """The rows of the class: always the same for the same numbers."""
    chance = random.Random(seed)
    course, hostile = list(sources(exercises)), list(attacks(exercises))
    total = sum(count for count, _ in KINDS.values())
    kinds = [kind for kind, (count, _) in KINDS.items() for _ in range(max(1, round(count * rows / total)))]
    while len(kinds) > rows:
        kinds.remove(Counter(kinds).most_common(1)[0][0])
    kinds += ["right"] * (rows - len(kinds))
    chance.shuffle(kinds)
    taken: Counter[str] = Counter()
    return [_row(kind, course, hostile, chance, taken) for kind in kinds]


def _row(
    kind: str, course: Sequence[Source], hostile: Sequence[Source], chance: random.Random, taken: Counter[str]
) -> Row:
    words = KINDS[kind][1]
    choice = hostile if kind == "hostile" else [one for one in course if not words or one.verdict in words]
    if kind in ("handed in twice", "badly named"):  # of two files nobody could tell what belongs together
        choice = [one for one in choice if len(one.files) == 1]
    source = chance.choice(choice)
    taken[source.exercise] += 1
    return Row(f"s{taken[source.exercise]:03d}", source.exercise, kind, None if kind == "missing" else source)


def write_class(folder: Path, rows: Sequence[Row]) -> None:
    """The class folder, with all submissions collected from a folder with a folder for each student."""
    names = sorted({row.exercise for row in rows})
    init_class(folder, Assignment("trial", "A made-up class", tuple(map(AssignedExercise, names)), backend="sim"))
    (folder / "roster.csv").write_text("\n".join(["id", *sorted({row.student for row in rows})]) + "\n")
    with TemporaryDirectory(prefix="warpgrade-class-") as inbox:
        for row in rows:
            for name, content in row.source.files.items() if row.source else ():
                _hand_in(Path(inbox) / row.student, row, name, content)
        collect = [sys.executable, "-m", "grader.cli", "class", "collect", str(folder), inbox, "--json"]
        subprocess.run(collect, check=True, stdout=subprocess.DEVNULL)


def _hand_in(folder: Path, row: Row, name: str, content: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if row.kind != "hostile":  # each file is another one, so that nothing is compiled once for several
        content += f"\n{'#' if name.endswith('.py') else '//'} {row.student}\n".encode()
    stem, _, suffix = name.rpartition(".")
    names = {
        "handed in twice": [name, f"{stem} (1).{suffix}"],
        "badly named": [f"{stem.title().replace('_', '-')} (2).{suffix}"],
    }
    for handed_in in names.get(row.kind, [name]):
        (folder / handed_in).write_bytes(content)


# ------------------------------------------------------------------------------------------------------------ the runs


@dataclass
class Trial:
    """One grading of the class folder: its times, and what went wrong."""

    folder: Path
    options: Sequence[str] = ()
    cache: Path | None = None  # the person's if None
    wall_s: float = 0.0
    cpu_s: float = 0.0
    in_flight_s: float = 0.0  # processor time of what was in flight when something was killed
    kills: list[str] = field(default_factory=list)
    orphans: list[psutil.Process] = field(default_factory=list)  # workers that outlived the killed run

    def whole(self) -> None:
        """Grade without a break."""
        self.start().wait()

    def broken(self) -> None:
        """Kill the run after a third of the results and a worker of the next run after two thirds."""
        total = len({submission.key for submission in read_submissions(self.folder)})
        first = self.start()
        self._until(lambda: self.stored() >= total // 3, first)
        self._note("the run, with SIGKILL", total, self._workers(first))
        orphans = self._workers(first)
        first.kill()
        first.wait()
        self.orphans = psutil.wait_procs(orphans, ORPHANS_S)[1]
        second = self.start()
        self._until(lambda: self.stored() >= 2 * total // 3 and bool(self._workers(second)), second)
        victims = self._workers(second)[:1]
        self._note("a worker of dask, with SIGKILL" if self.options else "a worker, with SIGKILL", total, victims)
        for victim in victims:
            with suppress(psutil.Error):
                (victim.parent() if self.options else victim).kill()
        second.wait()

    def stored(self) -> int:
        with Store.open(self.folder, make=False) as store:
            return len(store.graded())

    def start(self) -> subprocess.Popen[bytes]:
        options = self.options or ["--jobs", "2"]
        command = [sys.executable, "-m", "grader.cli", "class", "run", str(self.folder), *options]
        environment = os.environ | ({"WARPGRADE_CACHE": str(self.cache)} if self.cache else {})
        return subprocess.Popen(command, stdout=sys.stderr, env=environment)

    def _workers(self, run: subprocess.Popen[bytes]) -> list[psutil.Process]:
        """The workers that grade now. Those of Slurm are not below the run, but they work in its cache."""
        with suppress(psutil.Error):
            below = psutil.Process(run.pid).children(recursive=True)
            known = [one for one in psutil.process_iter() if self.cache and _folder(one).is_relative_to(self.cache)]
            return [one for one in {*below, *known} if "grader.classroom.worker" in _command(one)]
        return []

    def _until(self, there: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
        while not there():
            if process.poll() is not None:
                raise SystemExit(f"the run has ended with {process.returncode} before it could be killed")
            time.sleep(0.05)

    def _note(self, what: str, total: int, ending: Sequence[psutil.Process]) -> None:
        self.kills.append(f"{what}, with {self.stored()} of {total} results stored")
        for worker in ending:
            with suppress(psutil.Error):
                times = [one.cpu_times() for one in (worker, *worker.children(recursive=True))]
                self.in_flight_s += sum(one.user + one.system for one in times)


@contextmanager
def timed(trial: Trial) -> Iterator[None]:
    """Adds wall time and the processor time of all that is started, also of what loses its parent."""
    ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER: who loses its parent becomes this process's child
    began, used_s = time.monotonic(), _children_s()
    yield
    with suppress(ChildProcessError):
        while True:
            os.wait()
    trial.wall_s, trial.cpu_s = time.monotonic() - began, _children_s() - used_s


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _folder(process: psutil.Process) -> Path:
    with suppress(psutil.Error):
        return Path(process.cwd())
    return Path("/")


def _command(process: psutil.Process) -> Sequence[str]:
    with suppress(psutil.Error):
        return list(map(str, process.cmdline()))
    return ()


# ----------------------------------------------------------------------------------------------------- what must hold


def faults(folder: Path, rows: Sequence[Row]) -> Iterator[str]:
    """What is not as it must be: a row without its verdict, or one that was graded twice."""
    keys: dict[tuple[str, str], set[str]] = {}
    for one in read_submissions(folder):
        keys.setdefault((one.student, one.exercise), set()).add(one.key)
    with Store.open(folder, make=False) as store:
        got = {result.submission: result.verdict for result in store.results()}
        for row in rows:
            mine = keys.get((row.student, row.exercise), set())
            verdicts = {got.get(key, "waiting") for key in mine} or {"missing"}
            if verdicts != {row.expected}:
                yield f"{row.student} {row.exercise}, {row.kind}: {verdicts}, not {row.expected} ({row.source})"[:300]
            yield from (f"{key} has {len(past)} results" for key in mine if len(past := store.history(key)) != 1)


def verdicts_of(folder: Path) -> dict[str, str]:
    with Store.open(folder, make=False) as store:
        return {result.submission: result.verdict for result in store.results()}


def main() -> int:
    arguments = argparse.ArgumentParser(description="Grade a made-up class, and again with kills on the way.")
    arguments.add_argument("--rows", type=int, default=200)
    arguments.add_argument("--cheap", action="store_true", help="only the exercises that take least time")
    arguments.add_argument("--write", type=Path, metavar="FILE", help="write the result as a page")
    arguments.add_argument("options", nargs="*", help="options of `grade class run`, after --")
    given = arguments.parse_args()
    rows = made(given.rows, CHEAP if given.cheap else EXERCISES)
    with TemporaryDirectory(prefix="warpgrade-class-") as folder:
        trials = []
        for name in ("whole", "broken"):
            write_class(Path(folder) / name, rows)
            trials.append(Trial(Path(folder) / name, given.options, Path(folder) / f"cache-{name}"))
        shutil.copyfile(trials[0].folder / "class.key", trials[1].folder / "class.key")  # the same hidden inputs
        with timed(trials[0]):
            trials[0].whole()
        with timed(trials[1]):
            trials[1].broken()
        wrong = [fault for trial in trials for fault in faults(trial.folder, rows)]
        wrong += [f"{orphan} outlived the run" for orphan in trials[1].orphans]
        if verdicts_of(trials[0].folder) != verdicts_of(trials[1].folder):
            wrong.append("the two runs differ")
        allowed_s = MORE * trials[0].cpu_s + trials[1].in_flight_s
        if SLURM not in given.options and trials[1].cpu_s > allowed_s:
            wrong.append(f"the broken run took {trials[1].cpu_s:.0f} s of processor time, more than {allowed_s:.0f} s")
        report = page(rows, trials, wrong, given)
    print(report)
    if given.write:
        given.write.write_text(report, encoding="utf-8")
    return int(bool(wrong))


def page(rows: Sequence[Row], trials: Sequence[Trial], wrong: Sequence[str], given: argparse.Namespace) -> str:
    """The page of results."""
    whole, broken = trials
    words = [
        "--rows",
        str(given.rows),
        *["--cheap"] * given.cheap,
        *(["--write", str(given.write)] * bool(given.write)),
    ]
    slurm = SLURM in given.options  # whose script makes the options
    command = ["scripts/class_slurm" if slurm else "python scripts/class_trial.py", *words]
    command += ["--", *given.options] if given.options and not slurm else []
    lines = [
        "# A class, killed on the way",
        "",
        f"`{' '.join(command)}` wrote this.",
        "The submissions are the course's solutions and wrong answers, and attacks; each row must get its verdict.",
        "",
        "| kind | rows | verdicts |",
        "|---|---:|---|",
    ]
    for kind in KINDS:
        mine = [row for row in rows if row.kind == kind]
        counts = sorted(Counter(row.expected for row in mine).items())
        lines.append(f"| {kind} | {len(mine)} | {', '.join(f'{count} {word}' for word, count in counts)} |")
    lines += [
        "",
        "| run | wall time | processor time | processor time ÷ 2 |",
        "|---|---:|---:|---:|",
        *(f"| {name} | {one.wall_s:.0f} s | {one.cpu_s:.0f} s | {one.cpu_s / 2:.0f} s |"
          for name, one in (("without a break", whole), ("killed and started again", broken))),
        "",
        *(f"- Killed: {kill}." for kill in broken.kills),
        f"- In flight when killed: {broken.in_flight_s:.1f} s of processor time.",
        "- The processor time of Slurm's jobs is not in the table." if SLURM in given.options else
        f"- The broken run took {broken.cpu_s / whole.cpu_s:.2f} times the processor time of the other.",
        "" if wrong else "- Every row has its verdict in both runs, and none was graded twice.",
        *(f"- NOT AS IT MUST BE: {fault}" for fault in wrong),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
