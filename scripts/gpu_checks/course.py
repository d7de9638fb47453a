"""The course on the GPU: stubs, solutions and wrong answers get their words; bad use is met as on the simulator."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpu_checks import courses, expect, item
from grader.backends.gpu import GpuBackend

if TYPE_CHECKING:
    from grader.dev.wrong import WrongAnswer

HEAD = 'extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n)\n'
HONEST = "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) c[i] = a[i] + b[i]; }\n"
TOO_FAR = "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i <= n) c[i] = a[i < n ? i : 0] + b[i < n ? i : 0]; }\n"
LAUNCH = "// launch vector_add(a, b, c, n): "
PLAIN = LAUNCH + "grid=cdiv(n, 256) block=256\n"
TIMEOUT_S = 3.0


@item
def the_course_on_the_gpu(backend: GpuBackend) -> Any:
    """Every stub fails, every solution passes, every wrong answer gets the word on its first line."""
    from grader.dev.check import ALONE
    from grader.dev.grading import CourseGrader
    from grader.dev.verdicts import one_line

    told_all, wrong = [], []
    with CourseGrader(device=backend.gpu.index) as grader:
        for name, file, word in expectations():
            start = time.perf_counter()
            one = courses()[name]
            path = file if isinstance(file, Path) else file.path
            verdict = grader.on_gpu(one, file, "auto" if word in ALONE else "gpu").result()
            spent = time.perf_counter() - start
            right = verdict.exit_code == 1 if word == "not passed" else verdict.verdict == word
            place = f"{'ok  ' if right else 'FAIL'} {spent:5.2f} s  {name}/{path.name}"
            line = f"{place}: expected {word}, {one_line(verdict)}"
            speed = verdict.stage("fast").detail
            told_all.append(line + (f" ({speed})" if speed else ""))
            print(f"    {told_all[-1]}", flush=True)
            if not right:
                wrong.append(f"{name}/{path.name}")
    expect(not wrong, wrong)
    return f"{len(told_all)} files as stated"


def expectations() -> Iterator[tuple[str, Path | WrongAnswer, str]]:
    """Every file of the course that a GPU says something about: its exercise, the file, its word."""
    from grader.backends.hostfile.case import too_few_gpus
    from grader.dev.wrong import wrong_answers
    from grader.gpus.detect import count

    for name, one in courses().items():
        if too_few_gpus(one.exercise, count()):
            continue
        yield name, one.stub, "not passed"
        if one.solution is not None:
            yield name, one.solution, "pass"
        answers, problems = wrong_answers(one)
        expect(not problems, problems)
        for answer in answers:
            word = answer.expectation.words.get("gpu")
            if word is not None:
                yield name, answer, word


def command(source: str, *options: str) -> tuple[int, dict[str, Any], str]:
    """``grade vector_add --backend gpu`` on a file: the exit code, the verdict, and what went to standard error."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "vector_add.cu"
        file.write_text(source)
        words = ["vector_add", "--file", str(file), "--backend", "gpu", "--json", *options]
        finished = subprocess.run([sys.executable, "-m", "grader.cli", *words], capture_output=True, text=True)
    try:
        verdict = json.loads(finished.stdout)["results"][0]
    except (ValueError, KeyError, IndexError):
        raise AssertionError(f"no verdict; it said {finished.stdout[-1000:]}\n{finished.stderr[-2000:]}") from None
    return finished.returncode, verdict, finished.stderr


def refused(source: str, word: str) -> str:
    """Grade a bad file, hold the answer to what a person must get, then grade an honest one as usual."""
    code, verdict, said = command(source)
    found = verdict["diagnostics"][0] if verdict["diagnostics"] else {}
    expect((code, verdict["verdict"]) == (1, word), (code, verdict["verdict"], found, said))
    expect("Traceback" not in said and found.get("message"), (found, said))
    return f"{word}: {found['message']}"


@item
def an_endless_loop_ends_at_the_deadline(_: GpuBackend) -> Any:
    source = PLAIN + HEAD + "{ if (threadIdx.x == 0) while (1); c[0] = 0; }\n"
    start = time.perf_counter()
    code, verdict, said = command(source, "--timeout", str(TIMEOUT_S))
    spent = time.perf_counter() - start
    expect((code, verdict["verdict"]) == (1, "timeout"), (code, verdict["verdict"], verdict["diagnostics"], said))
    expect(spent < TIMEOUT_S + 4.0, f"it took {spent:.1f} s")
    code, honest, said = command(PLAIN + HEAD + HONEST)
    expect((code, honest["verdict"]) == (0, "pass"), (code, honest["verdict"], honest["diagnostics"], said))
    return f"{verdict['diagnostics'][0]['message']}; {spent:.1f} s as a whole process; the next one passed"


@item
def one_element_too_far_is_named(_: GpuBackend) -> Any:
    told = refused(PLAIN + HEAD + TOO_FAR, "out_of_bounds")
    _, verdict, _ = command(PLAIN + HEAD + TOO_FAR)
    found, size = verdict["diagnostics"][0], verdict["cases"][0]["size"]["n"]
    expect((found["array"], found["index"]) == ("c", size), (found, size))
    return told


@item
def impossible_launches_are_invalid(_: GpuBackend) -> Any:
    lines = (
        "grid=cdiv(n, 2048) block=2048",
        "grid=cdiv(n, 256) block=256 shared=300*1024",
        "grid=0 block=256",
        "grid=cdiv(n, 256) block=0",
    )
    return [refused(f"{LAUNCH}{line}\n{HEAD}{HONEST}", "invalid") for line in lines]
