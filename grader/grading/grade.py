"""Grading one submission: compile, run on each backend, compare, check the counters, time, judge.

    grade(request) -> Verdict

Every error of a submission becomes a verdict; only UsageError (a path that cannot be read) is raised.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from grader.compile.log import telling as telling_warnings
from grader.errors import GraderFault, SubmissionError, Unsupported, UsageError, WarpgradeError, as_fault
from grader.exercise import Forecast
from grader.gpus.models import in_words, simulable
from grader.grading import judge
from grader.grading.advice import content_of, has_given_launches, is_given_kernel, is_untouched, next_step
from grader.grading.answers import CHANGED
from grader.grading.records import BackendReport, CompiledSubmission, Request
from grader.launch import LaunchScript, parse_launches, resolve_launches
from grader.launch.checks import TOO_MANY_BLOCKS
from grader.process.background import in_background
from grader.text import listed, safe
from grader.verdict import Diagnostic, LaunchRecord, StageResult, Verdict

if TYPE_CHECKING:
    from grader.backends.base import Backend
    from grader.exercise import Exercise
    from grader.grading.cases import CaseBook
    from grader.grading.run import Job


def grade(request: Request) -> Verdict:
    """Grade one submission. Raises UsageError if its file cannot be read; any other error is a verdict."""
    started = perf_counter()
    try:
        verdict = _graded(request)
    except UsageError:
        raise
    except Exception as error:
        verdict = _cut_short(request, "compiles", as_fault(error))
    return replace(verdict, elapsed_s=perf_counter() - started)


def _graded(request: Request) -> Verdict:
    """Compile, start the backends' children and make the cases concurrently; then run and judge."""
    source = request.submission.texts.read(request.submission.path)
    if request.exercise.variants:
        require_form(request, source)
    request.tell("compiling")
    compiling = in_background(lambda: _compile(request, source))
    booking: Future[CaseBook] = Future()
    running = [
        in_background(partial(_run, request, backend, compiling, booking))
        for backend in (request.services.simulator, request.services.gpu)
        if backend is not None
    ]
    _make_cases(request, compiling, booking)
    compiled = compiling.result()
    if not running:
        return _cut_short(request, "runs", _no_backend(request))
    return _judged(request, compiled, [report.result() for report in running])


# --------------------------------------------------------------------------------------------------- compile and run


def _compile(request: Request, source: bytes) -> CompiledSubmission:
    from grader.compile import compile_source

    headers = request.submission.headers
    program = compile_source(source, request.submission.path.name, target=request.services.target, headers=headers)
    script = parse_launches(program.source, file=request.submission.path.name)
    if request.exercise.host:
        require_host_file(request)
    elif not script.starts_a_kernel:
        require_launch(request, script)
    else:
        _require_grids(script, request.exercise)
    return CompiledSubmission(program, script, _changed(request))


def _changed(request: Request) -> CompiledSubmission | None:
    """The stub with its change, if the exercise asks for a forecast of it."""
    from grader.compile import compile_source

    stub = request.submission.stub
    if stub is None or not any(isinstance(answer, Forecast) for answer in request.exercise.answers):
        return None
    source = CHANGED + (content_of(stub) or b"")
    program = compile_source(source, stub.name, target=request.services.target, headers=request.submission.headers)
    return CompiledSubmission(program, parse_launches(program.source, file=stub.name))


def require_form(request: Request, source: bytes) -> None:
    """Raise SubmissionError for a file that names another variant than the one that it is graded as."""
    from grader.catalog.variants import forms, task_of, written_in

    (name, line), exercise, path = written_in(source), request.exercise, request.submission.path
    if name in ("", exercise.variant):
        return
    if name not in forms(exercise):
        hint = f"it has {listed(forms(exercise))}; without the line, the file is graded as the exercise itself"
        message = f"{path.name}, line {line}: {exercise.name} has no variant {safe(name)!r}"
        raise SubmissionError("invalid", message, hint=hint, file=path.name, line=line)
    wanted = f"the variant {exercise.variant}: {task_of(exercise)}" if task_of(exercise) else "the exercise itself"
    message = f"{path.name} is for the variant {name} of {exercise.name}; what was asked for is {wanted}"
    hint = "solve the form that you were given: its stub and its statement say what it asks"
    raise SubmissionError("wrong", message, hint=hint, file=path.name, line=line)


def require_host_file(request: Request) -> None:
    """Raise SubmissionError (``invalid``) if there is no host file, and the error of reading it."""
    path, host_file, name = request.submission.path, request.submission.host_file, request.exercise.name
    if host_file is not None:
        request.submission.texts.read(host_file)
        return
    if path.absolute() == Path(f"{name}.cu").absolute():
        hint = f"`grade start {name}` copies the stub here, and keeps your ./{path.name}"
    else:
        hint = f"`grade start {name}` copies the stubs of both files into this folder"
    message = f"{path.name} needs its host file: there is no {name}_host.py beside it"
    raise SubmissionError("invalid", message, hint=hint)


COPY = (
    "copy the stub's launch lines, and put them above your kernel. They name the kernel, the arguments in its order, "
    "the blocks of the grid, the threads of a block, and with shared= the bytes of its shared memory{constants}:"
)


def require_launch(request: Request, script: LaunchScript) -> None:
    """Raise SubmissionError (``invalid``) for a file without launch lines; its hint shows the line of the stub.

    A line that is nearly a launch line is reported first.
    """
    try:
        resolve_launches(script, request.exercise, request.exercise.simulated)
    except SubmissionError as error:
        try:
            content = content_of(request.submission.stub) or b""
            stub = parse_launches(content.decode("utf-8", "replace"), file=f"{request.exercise.name}.cu")
        except SubmissionError:
            raise error from None
        if not stub.starts_a_kernel or error.diagnostics[0].line is not None:
            raise
        lines = tuple(dict.fromkeys(line.at.source.strip() for line in stub.lines))
        used = {word for line in lines for word in re.findall(r"\w+", line)}
        constants = ", ".join(f"{name} is {value}" for name, value in stub.integers.values.items() if name in used)
        hint = COPY.format(constants=f" (in the stub, {constants})" if constants else "")
        hint = "\n".join([hint, *lines])
        found = tuple(replace(diagnostic, hint=hint) for diagnostic in error.diagnostics)
        raise SubmissionError(error.verdict, error.message, diagnostics=found, hint=hint) from None


def _require_grids(script: LaunchScript, exercise: Exercise) -> None:
    """Raise SubmissionError (``invalid``) for a grid that no GPU has at the timed size, which only GPUs run."""
    if exercise.timed is None:
        return
    try:
        resolve_launches(script, exercise, exercise.timed)
    except SubmissionError as error:  # other limits are those of the GPU for which the size is
        if any(one.cause == TOO_MANY_BLOCKS for one in error.diagnostics):
            raise


def _make_cases(request: Request, compiling: Future[CompiledSubmission], booking: Future[CaseBook]) -> None:
    """Provide the cases' data, and make as many cases as there is time for while NVRTC works."""
    from grader.grading.cases import CaseBook, small_cases

    try:
        services = request.services
        book = (services.book or CaseBook)(request.exercise, services.oracle(), request.seed)
    except BaseException as error:
        booking.set_exception(error)
        raise
    booking.set_result(book)
    for case in small_cases(request.exercise, request.seed):
        if compiling.done():
            return
        book.data(case)


def _run(
    request: Request, backend: Backend, compiling: Future[CompiledSubmission], booking: Future[CaseBook]
) -> BackendReport:
    """One backend's report. Its child is started at once, in the thread that uses it: it ends with the thread."""
    from grader.grading.run import run_job

    try:
        backend.start()
        return run_job(_job(request, backend, compiling.result(), booking.result()))
    except UsageError:
        raise
    except Exception as error:
        return BackendReport(backend.name, stop=as_fault(error))
    finally:
        backend.close()  # a child that was not used


def _job(request: Request, backend: Backend, compiled: CompiledSubmission, book: CaseBook) -> Job:
    """The job of a backend: the simulator also runs the counted size, and without a GPU cases of many blocks."""
    from grader.grading.cases import simulated_case, small_cases
    from grader.grading.large import large_case
    from grader.grading.many_blocks import cases_of_many_blocks
    from grader.grading.run import Job

    simulated = backend is request.services.simulator
    counted = (simulated_case(request.exercise),) if simulated else ()
    timer = request.services.timer if backend is request.services.gpu else None
    exercise = backend.sized(request.exercise)
    many = () if request.services.gpu else cases_of_many_blocks(exercise, compiled, backend.device_limits, request.seed)
    cases = (*small_cases(exercise, request.seed), *many, *counted)
    where = ""
    if request.services.simulator is not None and request.services.gpu is not None:
        where = " on the simulator" if backend is request.services.simulator else " on the GPU"
    return Job(
        request.exercise, compiled, book, cases, backend, request.services.limits, timer,
        large_case(exercise) if simulated else None, is_given_kernel(request), has_given_launches(request),
        tell=lambda words: request.tell(words + where),
    )  # fmt: skip


def _judged(request: Request, compiled: CompiledSubmission, reports: Sequence[BackendReport]) -> Verdict:
    kernels = ", ".join(entry.name for entry in compiled.program.entries)
    code = () if request.services.simulator is not None else _launches_in_code(request, compiled)
    found = judge.judge_stages(request, reports, f"{kernels} for {compiled.program.target}", code)
    word, stages = judge.settle(found)
    if word == "error":
        stages = judge.cut_short(request, "runs", word, next(stage.detail for stage in found if stage.word == "error"))
    diagnostics = [*judge.ordered(found, reports, word), *judge.beside(request, reports, word)]
    shown = judge.with_source(diagnostics, compiled.program, request.submission.host_file, request.submission.texts)
    speeds = [report.speed for report in reports if report.speed is not None]
    outcomes = [outcome for report in reports for outcome in report.outcomes]
    verdict = replace(
        _verdict(request, word, stages, shown),
        cases=tuple(outcome.result for outcome in outcomes),
        failing=judge.failing(outcomes, diagnostics),
    )
    stub = (content_of(request.submission.stub) or b"").decode(errors="replace")
    log, telling = telling_warnings(compiled.program.log.strip(), stub)
    printed, printed_case = judge.printed(outcomes, verdict.failing_case)
    return replace(
        verdict,
        next_step=next_step(request, word, stages, verdict.diagnostics, printed, warned=telling),
        launches=judge.counted_launches(reports),
        timeline=judge.timeline(word, reports, verdict.failing_case),
        host_counters=judge.host_counters(reports),
        answers=tuple(one.result for one in judge.answers_of(request, reports) if one.result is not None),
        measured=speeds[0].measured if speeds else None,
        printed=printed,
        printed_case=printed_case,
        # Warnings about unused variables in a stub are not useful.
        notes=(*verdict.notes, *((f"the compiler says: {log}",) if log and not is_untouched(request) else ())),
        sandbox=max(report.sandbox for report in reports),  # "none" sorts after "landlock"
    )


def _launches_in_code(request: Request, compiled: CompiledSubmission) -> tuple[LaunchRecord, ...]:
    """The launches on the GPU, with the counters of the kernels' code."""
    from grader.grading.technique import Shaped, launches_in_code

    gpu, exercise = request.services.gpu, request.exercise
    if gpu is None:
        return ()
    return launches_in_code(Shaped(exercise, compiled, exercise.simulated, gpu.device_limits))


def _cut_short(request: Request, stage: str, error: WarpgradeError) -> Verdict:
    word, found = judge.trouble(error)
    return _verdict(request, word, judge.cut_short(request, stage, word, error.message), found)


def not_graded(request: Request, reason: str) -> Verdict:
    """The verdict on a file whose grading ended the process, or had to be ended with it."""
    what = f"the process that graded {request.submission.path.name} {reason}"
    return _cut_short(request, "compiles", GraderFault(what, hint=ENDED_HINT))


ENDED_HINT = (
    "this is the grader's fault: it should read any text, and in a time that its length limits. Please report it, with "
    "the file. What you can do: undo the last change of the file, and grade it again"
)


def _verdict(
    request: Request, word: str, stages: tuple[StageResult, ...], diagnostics: tuple[Diagnostic, ...]
) -> Verdict:
    points, maximum = judge.score(request.exercise.points, stages)
    return Verdict(
        exercise=request.exercise.name,
        backend=request.backend,
        verdict=word,
        score=0 if is_untouched(request) else points,  # the unchanged stub earns no points
        max_score=maximum,
        seed=request.seed,
        stages=stages,
        device=request.services.device,
        diagnostics=diagnostics,
        file=str(request.submission.path),
        next_step=next_step(request, word, stages, diagnostics),
        notes=changed_headers(request),
    )


def changed_headers(request: Request) -> tuple[str, ...]:
    """A sentence for each header beside the file that is not the course's, which is compiled in its place."""
    folder, exercise = request.submission.path.parent, request.exercise.name
    own = {name: content_of(folder / name) for name in request.submission.headers}
    return tuple(
        f"your {name} differs from the course's, which was compiled: the graded code is {request.submission.path.name} "
        f"alone. Without your copy, `grade start {exercise}` copies the course's"
        for name, text in request.submission.headers.items()
        if own[name] not in (None, text.encode())
    )


def _no_backend(request: Request) -> Unsupported:
    """The error if no backend can run the exercise: it needs a GPU, or only a GPU was requested, and there is none."""
    exercise = request.exercise
    if simulable(exercise.requires):
        hint = "leave --backend out to grade on the simulator; `grade doctor` says what a GPU needs"
        return Unsupported(f"--backend gpu cannot be used: {request.services.why_no_gpu}", hint=hint)
    needs = f"needs {exercise.requires}, newer than the simulated sm_80"
    where = in_words(exercise.requires)
    return Unsupported(
        f"{exercise.name} {needs}, so it runs on a GPU only: {request.services.why_no_gpu}",
        hint=f"it compiled; grade it on a machine with {where}: `grade doctor` says what is missing here",
    )
