"""The Python API: `grader.grade("reduce_v3", "my_reduce.cu")` returns a `Verdict`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Literal

from grader.errors import UsageError
from grader.verdict import BACKENDS, MAX_SEED, Verdict

FilePath = str | PathLike[str]


def grade(
    name: str | int,
    file: FilePath | None = None,
    *,
    source: str | None = None,
    backend: Literal["auto", "gpu", "sim"] = "auto",
    device: int = 0,
    seed: int | None = None,
    timeout_s: float | None = None,
    predict: Mapping[str, float | str] = MappingProxyType({}),
    courses: FilePath | Sequence[FilePath] = (),
    record: bool = False,
) -> Verdict:
    """Grade one file, or a text given as ``source``, and return the verdict.

    name:     an exercise, its number, or a unique part of its name
    file:     the file to grade; default: ./NAME.cu
    backend:  as the option --backend of the command
    predict:  values by counters, {"sectors_per_request": 4}: `verdict.predictions` has them beside the counts
    courses:  a folder with further exercises, or several
    record:   whether the run counts for `grade progress`

    Raises UsageError for an unknown name, a missing file, or an invalid course or number. Errors of a submission raise
    nothing: they are verdicts.

    >>> verdict = grade("vector_add", source="not CUDA", backend="sim")  # doctest: +SKIP
    >>> verdict.verdict, verdict.passed
    ('compile_error', False)
    """
    from grader.catalog.exercises import load_catalog
    from grader.grading.grade import grade as graded
    from grader.grading.predictions import compared, read_predictions
    from grader.grading.services import Hardware, Task
    from grader.practice.history import next_after, recorder
    from grader.practice.moved import old_step, refuse_old
    from grader.process.standard import open_closed_streams

    open_closed_streams()
    faults = (  # for the command, click checks these
        (backend not in BACKENDS, f"the backend must be one of {', '.join(BACKENDS)}, not {backend!r}"),
        (device < 0, f"the number of a GPU must be 0 or more, not {device}"),
        (seed is not None and not 0 <= seed <= MAX_SEED, f"the seed must be from 0 to 2^53 - 1, not {seed}"),
        (
            timeout_s is not None and not 0 < timeout_s < inf,
            f"a timeout must be a positive number of seconds, not {timeout_s}",
        ),
    )
    if message := next((message for is_wrong, message in faults if is_wrong), ""):
        raise UsageError(message, code="bad_option")
    if file is not None and source is not None:
        raise UsageError("file and source cannot be used together", code="file_and_source", hint="use one of them")
    folders = (courses,) if isinstance(courses, str | PathLike) else courses
    catalog = load_catalog([Path(course) for course in folders])
    entry = catalog.find(str(name))
    predictions = read_predictions(((counter, str(value)) for counter, value in predict.items()), entry)

    def recorded(task: Task) -> Verdict:
        keep = recorder(entry, task.path) if record else lambda verdict: None
        request = Hardware.found(backend, device).request(
            task, seed=seed, timeout_s=timeout_s, next_exercise=partial(next_after, catalog, entry)
        )
        verdict = graded(request)
        verdict = replace(verdict, predictions=compared(predictions, entry, verdict))
        keep(verdict)
        return verdict

    if source is None:
        task = Task(entry, Path(file or f"{entry.name}.cu"))
        refuse_old(catalog, entry, task.path, task.host_file)
        return recorded(task)
    with TemporaryDirectory(prefix="warpgrade-") as folder:
        path = Path(folder) / f"{entry.name}.cu"
        try:
            path.write_text(source, encoding="utf-8", newline="")
        except UnicodeEncodeError as error:
            message = f"the source cannot be written as UTF-8: {error.reason}"
            raise UsageError(message, code="not_text") from None
        if old := old_step(catalog, entry, path):
            hint = f"grade it as {old.now}" if old.now else ""
            raise UsageError(f"the source {old.message}", code="moved_exercise", hint=hint)
        return replace(recorded(Task(entry, path)), file=path.name)
