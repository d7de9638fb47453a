"""`grade interview`: the session with its clock and keyboard, its file, and what an interviewer reads."""

from __future__ import annotations

import json
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from grader.catalog.exercises import Catalog, load_catalog
from grader.cli.interview import chosen, read_session
from grader.cli.practice import give_hint, show_hint
from grader.cli.sitting import Sitting, TimeOver, TypedLines, graded_by, resources_of
from grader.compile.ptxas import Resources
from grader.errors import UsageError
from grader.exercise import Variant
from grader.practice.chosen import choose
from grader.practice.history import is_passed, key_of, progress
from grader.practice.interview import Interview
from grader.practice.progress import Run, now
from grader.practice.quiz import due_today
from grader.verdict import Diagnostic, LaunchRecord, StageResult, Verdict
from tests.variant_course import course_with_variant

CATALOG = load_catalog()
RIGHT = Verdict(
    "reduce_v1", "sim", "pass", 80, 80, 1, (StageResult("compiles", "passed"),),
    launches=(LaunchRecord("reduce_v1", (4096, 1, 1), (256, 1, 1), 1024, {}),),
)  # fmt: skip
WRONG = replace(
    RIGHT, verdict="wrong", score=0, next_step="Add a barrier.", launches=(),
    diagnostics=(Diagnostic("wrong", "out[0]: got 1, expected 2", hint="a barrier is missing"),),
)  # fmt: skip
NEEDS = {"reduce_v1": Resources(37, 0, 0, static_shared_bytes=512)}


class Clock:
    """Seconds since 1970, at will."""

    def __init__(self) -> None:
        self.at = 1_790_000_000.0

    def __call__(self) -> float:
        return self.at


class Typed:
    """Lines with the seconds that pass before each; after the last the input ends."""

    begins = True

    def __init__(self, clock: Clock, lines: Iterable[tuple[float, str]]) -> None:
        self.clock, self.lines, self.prompts, self.forgot = clock, list(lines), list[str](), list[int]()

    def forget(self) -> None:
        self.forgot.append(len(self.prompts))

    def ready(self, prompt: str) -> bool:
        return self.begins

    def line(self, prompt: str, seconds: float) -> str | None:
        self.prompts.append(prompt)
        if not self.lines:
            return None
        if self.lines[0][0] > seconds:
            self.lines[0] = (self.lines[0][0] - seconds, self.lines[0][1])
            self.clock.at += seconds
            raise TimeOver
        waited, line = self.lines.pop(0)
        self.clock.at += waited
        return line


@pytest.fixture(autouse=True)
def here(empty_folder, monkeypatch):
    """An empty folder to work in, nothing graded yet, and no GPU."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("grader.practice.history._gpus", lambda: 0)
    return empty_folder


@pytest.fixture
def hold(here) -> Callable[..., tuple[int, Interview, Typed]]:
    """Holds a session with typed lines and verdicts: its exit code, what its file then has, and the keyboard."""
    clock = Clock()

    def call(lines, verdicts=(), session=None, minutes=40.0, catalog=CATALOG, **fields):
        file = Path("interview-reduce_v1.json")
        session = session or Interview("reduce_v1", 2, minutes, 7, **fields)
        graded = iter(verdicts)
        typed = Typed(clock, lines)
        sitting = Sitting(catalog, session, file, typed, clock, lambda *_: (next(graded), NEEDS), no_color=True)
        return sitting.hold(), read_session(file), typed

    return call


ENDED = [(1.0, "d"), (0.0, "d")]  # without a pass it is asked for twice
DONE = [(60.0, ""), (60.0, ""), (30.0, "d")]  # two gradings, then the questions


def test_a_session_logs_every_attempt_with_its_code_and_every_answer(hold, capsys):
    code, session, _ = hold([*DONE, (10.0, "8"), *[(10.0, "-")] * 20], [WRONG, RIGHT])
    assert code == 0
    assert [(one.at_s, one.verdict) for one in session.attempts] == [(60, "wrong"), (120, "pass")]
    assert session.attempts[0].message == "out[0]: got 1, expected 2"
    assert "YOUR CODE" in session.attempts[1].files["reduce_v1.cu"]
    assert session.code_ended_s == 150
    assert session.answers
    assert session.answers[0].question.startswith("Your `reduce_v1` has 256 threads a block and 1536 bytes")
    assert "the assembler gives each thread 37 registers" in session.answers[0].question
    assert session.started is not None
    assert session.ended is not None
    assert (session.ended - session.started).total_seconds() == 150 + 10 * len(session.answers)
    out = capsys.readouterr().out
    assert "passed after 2:00, in attempt 2 of 2" in out
    assert "time line" in out


def test_there_are_no_hints_in_an_interview(hold, capsys):
    hold([(60.0, ""), (1.0, "q")], [WRONG])
    out = capsys.readouterr().out
    assert "got 1, expected 2" in out
    assert "barrier" not in out.partition("got 1, expected 2")[2]


def test_the_task_is_shown_without_the_idea(hold, capsys):
    hold([(1.0, "q")])
    out = " ".join(capsys.readouterr().out.split())
    assert "interview of 40 minutes" in out
    assert "30:00 for the code, then 10:00 for questions" in out
    assert Path("interview-reduce_v1/reduce_v1.cu").read_text() == CATALOG.find("reduce_v1").stub.read_text()


def test_where_answers_are_asked_their_report_or_profile_is_shown_with_the_task(hold, capsys):
    entry = CATALOG.find("profile_reading_3")
    hold([(1.0, "q")], session=Interview(entry.name, key_of(entry)[2], 40.0, 7))
    out = capsys.readouterr().out
    assert "What the simulated A100 serves in one clock" in out  # the table
    assert "a word of the table" in out
    assert "Before and after" not in out


def test_a_number_that_cannot_be_read_is_asked_for_again(hold, capsys):
    _, session, _ = hold([*DONE, (1.0, "a few"), (1.0, "8"), *[(1.0, "-")] * 20], [WRONG, RIGHT])
    assert (session.answers[0].typed, session.answers[0].took_s) == ("8", 2)
    assert "That is not a number. Numbers look like 128" in capsys.readouterr().out


def test_the_time_for_the_code_ends_while_nobody_types(hold):
    code, session, keyboard = hold([(31 * 60.0, "-")], [])
    assert code == 1
    assert session.code_ended_s == 30 * 60
    assert [answer.typed for answer in session.answers[:1]] == [""]
    assert keyboard.forgot[0] == 1  # what was typed before the first question is no answer to it


class Writing(Typed):
    """A candidate who writes code before the line of this number."""

    at = 0

    def line(self, prompt: str, seconds: float) -> str | None:
        if len(self.prompts) == self.at:
            Path("interview-reduce_v1/reduce_v1.cu").write_text("// mine\n")
        return super().line(prompt, seconds)


@pytest.mark.parametrize("last", [[(31 * 60.0, "-")], [(60.0, "d"), (0.0, "d")]])
def test_the_last_version_is_graded_when_the_code_ends(hold, monkeypatch, last):
    monkeypatch.setattr(f"{__name__}.Typed", Writing)
    _, session, _ = hold(last, [RIGHT])
    assert [dict(one.files) for one in session.attempts] == [{"reduce_v1.cu": "// mine\n"}]
    assert session.attempts[0].at_s == session.code_ended_s


def test_without_a_pass_the_code_does_not_end_at_the_first_d(hold, capsys):
    _, session, _ = hold([(60.0, ""), (1.0, "d"), (1.0, "t"), (1.0, "d"), (1.0, "q")], [WRONG])
    assert session.code_ended_s is None  # `t` came between
    assert "No attempt has passed yet, and 28:59 are left for the code." in capsys.readouterr().out


def test_an_empty_line_answers_no_question(hold, capsys):
    _, session, _ = hold([*ENDED, (1.0, ""), (1.0, "-"), (1.0, "?"), (1.0, "q")])
    assert [(one.typed, one.right) for one in session.answers] == [("", False)]
    assert "`-` leaves a question out" in capsys.readouterr().out


def test_nonsense_is_no_view_of_an_answer_and_no_answer_has_no_view(hold):
    numbers = [(1.0, "memory"), (1.0, "1"), (1.0, "1")]
    _, session, _ = hold([*ENDED, *numbers, (1.0, "my words"), (1.0, "5"), (1.0, ""), (1.0, "3"), *[(1.0, "-")] * 9])
    assert [(one.typed, one.judged) for one in session.answers[3:]] == [("my words", "well"), ("", ""), ("", "")]


def test_one_of_two_words_is_asked_for_again(hold, capsys):
    _, session, _ = hold([*ENDED, (1.0, "latency"), (1.0, "Memory"), (1.0, "q")])
    assert [(one.typed, one.right) for one in session.answers] == [("Memory", True)]
    assert "Type memory or computing." in capsys.readouterr().out


def test_a_pass_says_how_to_go_on(hold, capsys):
    hold([(60.0, ""), (1.0, "q")], [RIGHT])
    assert "`d` goes on to the questions" in capsys.readouterr().out


def test_a_pass_counts_as_outside_of_an_interview(hold):
    hold([(60.0, ""), (60.0, ""), (1.0, "q")], [WRONG, RIGHT])
    entry = CATALOG.find("reduce_v1")
    assert [(run.key, run.verdict) for run in progress().runs()] == [(key_of(entry), "wrong"), (key_of(entry), "pass")]
    assert is_passed(entry)


def test_a_pass_of_a_variant_counts_for_its_exercise(hold, tmp_path):
    course_with_variant(tmp_path / "course")
    catalog = load_catalog([tmp_path / "course"])
    session = Interview("scale", 1, 40.0, 7, variant="backwards")
    hold([(60.0, ""), (1.0, "q")], [RIGHT], session=session, catalog=catalog)
    assert is_passed(catalog.find("scale"))


def test_the_time_is_shown_without_grading(hold, capsys):
    _, session, _ = hold([(60.0, "t"), (60.0, "d"), (0.0, "d"), (30.0, "T"), (1.0, "memory"), (1.0, "q")])
    out = " ".join(capsys.readouterr().out.split())
    assert "29:00 for the code, then 10:00 for questions" in out
    assert "37:30 left." in out
    assert session.attempts == ()
    assert [one.typed for one in session.answers] == ["memory"]


def test_a_question_that_was_left_out_was_not_answered(hold, capsys):
    hold([*ENDED, (1.0, "memory"), *[(15.0, "-")] * 20])
    out = capsys.readouterr().out
    assert out.count("answered in") == 1
    assert "question 2       not answered" in out
    assert "answer        not answered\n" in out
    assert "1 of 1 checked answer right, 5 questions not answered" in " ".join(out.split())


def _answers(hold, *views):
    """A session without code, whose open questions are judged like this; the numbers are wrong."""
    numbers = [(1.0, "memory"), (1.0, "-1"), (1.0, "-1")]
    open_ones = [line for view in views for line in ((1.0, "my words"), (1.0, view))]
    return hold([*ENDED, *numbers, *open_ones, (1.0, "-")])[1]


def test_what_was_missed_is_due_in_the_quiz_and_the_report_says_so(hold, run, capsys):
    session = _answers(hold, "1", "3")
    assert [one.judged for one in session.answers[3:]] == ["missed", "well", ""]
    out = " ".join(capsys.readouterr().out.split("practise next")[1].split())
    assert "Questions 2, 3 and 4: `grade quiz reduce_v1` asks them again, first of all." in out
    assert due_today([CATALOG.find("reduce_v1")], progress(), lambda: session.ended) == 3
    assert "practise next" in run("interview", "--review", "interview-reduce_v1.json")[1]


def test_in_a_prepared_interview_answers_are_for_the_interviewer_alone(hold, run):
    hold([*ENDED, (1.0, "memory"), *[(1.0, "-")] * 9], prepared=True)
    assert progress().cards() == {}
    assert "practise next" not in run("interview", "--review", "interview-reduce_v1.json")[1]


def test_the_report_of_code_that_did_not_pass_says_how_to_go_on_with_it(hold, capsys):
    hold([(1.0, ""), *ENDED, (1.0, "computing"), *[(1.0, "-")] * 9], [WRONG])
    out = " ".join(capsys.readouterr().out.split("practise next")[1].split())
    assert "`grade reduce_v1 --file interview-reduce_v1/reduce_v1.cu`" in out
    assert "which you have not passed: `grade start" in out
    assert "Question 1: `grade quiz --topic intensity` has more like it." in out


def test_the_report_of_a_pass_proposes_the_next_exercise(hold, capsys):
    hold([*DONE, *[(1.0, "-")] * 20], [WRONG, RIGHT])
    assert "The next exercise is reduce_v2: `grade start reduce_v2`" in " ".join(capsys.readouterr().out.split())


def test_a_variant_has_questions(hold, tmp_path):
    """Its own files are in a course of the cache, in which it has no ladder and no numbers."""
    course = course_with_variant(tmp_path / "course")
    numbers = course.exercises / "01_first/scale/interview.toml"
    numbers.write_text('[[number]]\nask = "{n}?"\ndraw = { n = [1, 2] }\nanswer = "n"\nbecause = "So."\n')
    catalog = load_catalog([tmp_path / "course"])
    session = Interview("scale", 1, 40.0, 7, variant="backwards")
    code, session, _ = hold([*ENDED, *[(1.0, "-")] * 9], session=session, catalog=catalog)
    assert code == 1
    assert session.ended
    assert any(answer.question in ("1?", "2?") for answer in session.answers)


def test_the_resources_of_a_kernel_have_its_static_shared_memory(here):
    path = Path("reduce_v1.cu")
    path.write_text(
        'extern "C" __global__ void f(float* x) { __shared__ float t[64]; t[threadIdx.x] = *x; *x = t[5]; }'
    )
    [(name, needs)] = resources_of(CATALOG.find("reduce_v1"), path).items()
    assert (name, needs.static_shared_bytes) == ("f", 256)
    assert 0 < needs.registers < 64
    path.write_text("no C")
    assert resources_of(CATALOG.find("reduce_v1"), path) == {}


def test_ctrl_c_says_how_to_go_on(here):
    command = [sys.executable, "-m", "grader.cli", "interview", "hello_index"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        while b"for the code]" not in process.stdout.read1():
            pass
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"`grade interview interview-hello_index.json` goes on" in err


def test_questions_are_asked_until_the_time_is_over(hold, capsys):
    _, session, _ = hold([*ENDED, (39 * 60.0, "memory"), (3600.0, "never")])
    assert session.answers[0].typed == "memory"
    assert session.answers[-1].typed == ""
    assert session.ended
    out = capsys.readouterr().out
    assert "questions were not asked" in out
    assert out.count("time is over") == 1


def test_who_leaves_finds_the_session_again_and_the_clock_ran_on(hold, capsys):
    code, session, _ = hold([(60.0, ""), (60.0, "q")], [WRONG])
    assert code == 1
    assert session.ended is None
    code, session, keyboard = hold([(60.0, ""), (1.0, "d"), *[(1.0, "-")] * 20], [RIGHT], session=session)
    assert code == 0
    assert session.interruptions == (120,)
    assert [one.at_s for one in session.attempts] == [60, 180]
    assert keyboard.prompts[0].startswith("[28:00 for the code]")
    assert "interrupted 1 time; the clock ran on" in capsys.readouterr().out


def test_a_file_is_really_graded(here):
    clock = Clock()
    typed = Typed(clock, [(1.0, ""), (1.0, "q")])
    session = Interview("hello_index", 2, 10, 7)
    sitting = Sitting(CATALOG, session, Path("session.json"), typed, clock, graded_by("sim", 0), no_color=True)
    assert sitting.hold() == 1
    assert [one.verdict for one in read_session(Path("session.json")).attempts] == ["wrong"]


def test_a_terminal_waits_for_a_line_until_the_time_is_over(monkeypatch, capsys):
    ours, theirs = pty.openpty()
    with open(theirs) as terminal, open(ours, "wb", buffering=0) as keys:
        monkeypatch.setattr("sys.stdin", terminal)
        with pytest.raises(TimeOver):
            TypedLines().line("> ", 0.0)
        keys.write(b"8 blocks\n")
        assert TypedLines().line("> ", 60.0) == "8 blocks"


def test_a_session_that_is_over_only_shows_its_report(hold, capsys):
    _, session, _ = hold([*ENDED, *[(1.0, "-")] * 20])
    capsys.readouterr()
    hold([], session=session)
    assert "This interview is over." in capsys.readouterr().out


def test_an_interviewer_sees_the_model_answers_and_the_candidate_does_not(hold, run):
    _, session, _ = hold(
        [*DONE, *[(1.0, "my words"), (1.0, "8"), (1.0, "memory"), (1.0, "-")] * 5], [WRONG, RIGHT], prepared=True
    )
    assert all(answer.judged == "" for answer in session.answers)
    code, out, _ = run("interview", "--review", "interview-reduce_v1.json")
    assert code == 0
    assert "model answer" in out
    assert "my words" in out
    assert "attempt 1: reduce_v1.cu" in out
    assert "in the candidate's hands" in out


def test_a_prepared_session_is_one_file_that_nobody_overwrites(run):
    code, out, _ = run("interview", "sgemm_v1", "--prepare", "monday.json", "--minutes", "30")
    assert code == 0
    assert "`grade interview monday.json` begins it" in " ".join(out.split())
    session = read_session(Path("monday.json"))
    assert (session.exercise, session.minutes, session.prepared, session.started) == ("sgemm_v1", 30, True, None)
    assert run("interview", "sgemm_v1", "--prepare", "monday.json")[0] == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--review", "nothing.json"), "cannot read nothing.json"),
        (("nothing.json",), "cannot read nothing.json"),
        (("nothing.json", "--minutes", "3"), "has its exercise and its time"),
        (("reduce_v1", "--prepare", "file.txt"), "must end in .json"),
        (("no_such_exercise",), "there is no exercise 'no_such_exercise'"),
        (("--path", "nowhere"), "nowhere"),
    ],
)
def test_a_wrong_command_says_what_is_wrong(run, words, message):
    code, _, err = run("interview", *words)
    assert code == 2
    assert message in err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"minutes": 0}, "it has no exercise, or no time"),
        ({"minutes": "long"}, "minutes must be a number"),
        ({"schema": "other"}, 'its "schema" is not'),
        ({"started": "yesterday"}, "started must be a time"),
        ({"attempts": [{"at_s": 1}]}, "attempts[0]"),
        ({"seed": 1.5}, "seed must be a whole number"),
        ({"more": 1}, "more is not known"),
    ],
)
def test_a_file_that_is_no_session_is_refused_with_the_reason(run, change, message):
    run("interview", "reduce_v1", "--prepare", "file.json")
    document = json.loads(Path("file.json").read_text())
    Path("file.json").write_text(json.dumps({**document, **change}))
    code, _, err = run("interview", "--review", "file.json")
    assert code == 2
    assert message in err


@pytest.mark.parametrize("text", ["", "[]", "{", '{"schema": 1e999}', "[" * 100_000])
def test_a_file_that_is_not_json_is_refused(run, text):
    Path("file.json").write_text(text)
    code, _, err = run("interview", "--review", "file.json")
    assert (code, "is not an interview's file" in err) == (2, True)


def test_a_session_that_was_not_begun_says_so(run):
    run("interview", "sgemm_v1", "--prepare", "monday.json", "--minutes", "1")
    code, out, _ = run("interview", "--review", "monday.json")
    assert code == 0
    assert out.splitlines()[1:] == ["  not begun yet", "  1 minute"]


def test_a_time_that_is_no_number_is_refused_in_plain_words(run):
    assert run("interview", "--minutes", "abc")[2].splitlines() == [
        "grade: invalid value for '--minutes': 'abc' is not a number",
        "       `grade interview --help` shows its options",
    ]


def test_the_time_for_the_code_is_enough_for_the_exercise_that_is_chosen():
    for seed in range(20):
        assert (chosen(CATALOG, None, None, Random(seed), 40).entry.exercise.minutes or 0) <= 30
    choice = chosen(CATALOG, "reduce", None, Random(1), 10)
    assert choice.entry.name == "reduce_v7"  # the shortest of those whose tasks name no earlier step
    assert "you have 7:30 for the code" in choice.note
    assert chosen(CATALOG, "reduce", None, Random(1), 600).note == ""


def test_an_exercise_that_was_not_passed_is_chosen(monkeypatch):
    course, _, version = key_of(CATALOG.find("reduce_v1"))
    for name in ("sgemm_v1", "sgemm_v2", "sgemm_v3", "sgemm_v4", "sgemm_v5", "sgemm_v6", "sgemm_v8"):
        progress().record(Run(now(), course, name, "pass", 80, 80, "sim", course_version=version))
    assert chosen(CATALOG, "sgemm", None, Random(1)).entry.name == "sgemm_v7"
    progress().record(Run(now(), course, "sgemm_v7", "pass", 80, 80, "sim", course_version=version))
    again = chosen(CATALOG, "sgemm", None, Random(1))
    assert "passed" in again.note
    assert chosen(CATALOG, "2", None, Random(1)).entry.chapter == "02_memory"
    assert "interview" in chosen(CATALOG, None, "interview", Random(1)).entry.exercise.paths
    with pytest.raises(UsageError):
        chosen(CATALOG, "77", None, Random(1))


def _pass(*names):
    for name in names:
        course, _, version = key_of(CATALOG.find(name))
        progress().record(Run(now(), course, name, "pass", 80, 80, "sim", course_version=version))


def test_without_a_name_the_chosen_path_comes_first_while_some_of_it_is_open():
    choose("attention")
    _pass("hello_index", "vector_add")
    for seed in range(10):
        assert "attention" in chosen(CATALOG, None, None, Random(seed)).entry.exercise.paths
    _pass(*(entry.name for entry in CATALOG.exercises if "attention" in entry.exercise.paths))
    assert any("attention" not in chosen(CATALOG, None, None, Random(seed)).entry.exercise.paths for seed in range(10))


def test_a_task_that_leans_on_a_step_that_was_not_passed_is_not_drawn():
    """`sgemm_v2` begins with: as in sgemm_v1. A profile's questions need the table of another part of the statement."""
    seen = {chosen(CATALOG, "sgemm", None, Random(seed), 600).entry.name for seed in range(40)}
    assert "sgemm_v1" in seen
    assert "sgemm_v2" not in seen
    assert all(not chosen(CATALOG, None, None, Random(seed), 600).entry.exercise.answers for seed in range(40))
    _pass("vector_add", "coalescing_stride", "sgemm_v1")
    assert {chosen(CATALOG, "sgemm", None, Random(seed), 600).entry.name for seed in range(20)} == {"sgemm_v2"}


def test_the_clock_starts_when_the_person_says_so(hold, monkeypatch, capsys):
    monkeypatch.setattr(Typed, "begins", False)
    file = Path("interview-reduce_v1.json")
    sitting = Sitting(CATALOG, Interview("reduce_v1", 2, 40.0, 7), file, Typed(Clock(), []), Clock(), lambda *_: None)
    assert sitting.hold() == 1
    assert not file.exists()
    assert not file.with_suffix("").exists()
    assert "30:00 for the code, then 10:00 for questions" in " ".join(capsys.readouterr().out.split())


def test_a_variant_is_chosen_where_everything_was_passed():
    entry = CATALOG.find("vector_add")
    varied = replace(entry, exercise=replace(entry.exercise, variants=(Variant("reversed", task="the other way"),)))
    course, name, version = key_of(entry)
    progress().record(Run(now(), course, name, "pass", 80, 80, "sim", course_version=version))
    choice = chosen(Catalog((varied,)), "vector_add", None, Random(1))
    assert (choice.entry, choice.variant) == (varied, "reversed")


def test_what_was_passed_in_an_interview_is_drawn_after_what_was_not():
    names = ("vector_add", "reduce_v1")
    entry, other = (CATALOG.find(name) for name in names)
    forms = tuple(Variant(name, task="another way") for name in ("reversed", "shifted"))
    varied = replace(entry, exercise=replace(entry.exercise, variants=forms))
    _pass(*names)
    drawn = []
    for seed in range(6):
        choice = chosen(Catalog((varied, other)), None, None, Random(seed), 600)
        drawn.append((choice.entry.name, choice.variant))
        progress().passed_in_interview(key_of(choice.entry), choice.variant)
    assert {*drawn[:2]} == {("vector_add", "reversed"), ("vector_add", "shifted")}
    assert {*drawn[2:4]} == {("vector_add", ""), ("reduce_v1", "")}


def test_an_interview_is_in_the_progress(hold):
    hold([*DONE, *[(10.0, "-")] * 20], [WRONG, RIGHT])
    assert [run.verdict for run in progress().runs()] == ["wrong", "pass"]
    assert {*progress().interviews()} == {(key_of(CATALOG.find("reduce_v1")), "")}


def test_hints_that_were_read_in_the_meantime_are_counted_also_while_it_was_left(hold, capsys):
    """Of a session that goes on, and of hints that are shown again."""
    _, session, _ = hold([(60.0, ""), (1.0, "q")], [WRONG])
    give_hint(CATALOG.find("reduce_v1"), no_color=True)
    _, session, _ = hold([(1.0, "q")], session=session)
    assert session.hints_read == 1
    show_hint("reduce_v1", [], again=True, no_color=True)
    _, session, _ = hold([*ENDED, *[(1.0, "-")] * 20], [WRONG], session=session)
    assert (session.hints_read, session.ended is not None) == (2, True)
    assert "2 hints read in the meantime" in " ".join(capsys.readouterr().out.split())
