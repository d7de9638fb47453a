"""The next step: one concrete thing to do, for every verdict."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from grader.catalog.statements import CAUSES, parts_of
from grader.exercise import Exercise
from grader.findings.kinds import RANKS, is_likely_cause, kind_of
from grader.grading.hints import EVERY_ELEMENT, NOT_CLEARED, OF_ALL_BLOCKS, SAME_WORK
from grader.grading.records import Request
from grader.text import listed, safe
from grader.verdict import EXIT_CODES, Diagnostic, StageResult

BARRIER = "Put a barrier between the two accesses. "
SAVE = "save it: `grade watch` grades it then"
THE_FILE = "the file"
COMPILER = "Begin with the compiler's warning. "
PRINTED_WARNING = ": UserWarning: "
LINES_NAMED = 5
UNWRITTEN = ("unwritten", "last_unwritten")  # causes of a wrong output
STUB_LIMIT = 1 << 20  # bytes; no stub is longer

_BY_WORD: Mapping[str, str] = {
    "wrong": "{unset}{table}{hints}",
    "slow": "{table}{hints}",
    "technique": "{table}{hints}",
    "race": "{order}{table}{hints}",
    "out_of_bounds": "Compare the index with the array's length before the access; the last block sticks out.",
    "compile_error": "Correct {place}, then {again}.",
    "invalid": "{plain}Correct {place}, then {again}.",
    "policy": "Take out what the message names; `grade show {name}` says what the exercise allows.",
    "crash": "{stopped}{hints}",
    "timeout": "Look for a loop that does not end, or a barrier that some threads never reach, at {place}.",
    "limit": "Make it smaller: docs/verdicts.md lists the limits.",
    "cheat": "If the kernel does all of the work, please report this: the message says what was measured.",
    "inconclusive": "Wait until nothing else uses this GPU, then {again}.",
    "unsupported": "`grade doctor` says what this machine has and what is missing.",
    "error": "This is the grader's fault, not yours. Run it again with WARPGRADE_DEBUG=1 and report what it prints.",
}


def next_step(
    request: Request,
    word: str,
    stages: tuple[StageResult, ...],
    diagnostics: Sequence[Diagnostic],
    printed: str = "",
    *,
    warned: bool = False,
) -> str:
    """The next step, in one or two sentences; the first of ``diagnostics`` decided the verdict.

    ``warned``: the report shows a warning of the compiler.
    """
    if word == "pass":
        return _after_pass(request, stages)
    if asked := _asked_for(request) if word == "wrong" else "":
        return asked
    found = diagnostics[0] if diagnostics else None
    if word not in EXIT_CODES and is_untouched(request):  # exit codes 3, 4 and 5 are not about the file
        return _untouched(request, word)
    graded = _graded(request, request.submission.path)
    if word == "invalid" and graded is not None and not graded.strip():
        return _write_the_stub(request)
    # Only for blocks that do not wait for each other. Other hints stay, for example on a wrong index.
    if found is not None and request.exercise.blocks_race and found.space == "global" and found.rule in OF_ALL_BLOCKS:
        return f"{request.exercise.blocks_race} {_read_hints(request)}"
    repeated = _repeated_work(word, diagnostics)
    if repeated and (word == "timeout" or (found is not None and not found.hint)):
        return repeated
    note = _begin_with_note(diagnostics)
    if word == "out_of_bounds" and (unset := _unset_index(request, diagnostics)):
        return unset
    if found is not None and found.hint and not (word == "wrong" and note):
        return _sentences(found.hint, _more_lines(word, diagnostics))
    place = _place(word, diagnostics)
    stopped_at = f"Look at {place}: that is where it stopped. " if place != THE_FILE else ""
    return _BY_WORD[word].format(
        hints=_read_hints(request), name=request.exercise.name, again=_again(request),
        place=place, table=_table(request, word), unset=_unset(diagnostics, printed, note) or COMPILER * warned,
        order=(kind_of(found.kind).next_step if found else "") or BARRIER, plain=_plain_cause(request, found),
        stopped=note or _plain_cause(request, found) or stopped_at,
    )  # fmt: skip


def _asked_for(request: Request) -> str:
    """What the variant asks for, if the wrong file does not say that it is one; "" otherwise."""
    from grader.catalog.variants import task_of, written_in

    task = task_of(request.exercise)
    if not task or written_in(_graded(request, request.submission.path) or b"")[0]:
        return ""
    return f"This was to be the variant {request.exercise.variant}, not the exercise itself: {task}."


def is_given_kernel(request: Request) -> bool:
    """Whether the .cu is the course's own and complete, so that the kernel is not at fault."""
    stub = request.submission.stub
    is_finished = b"YOUR CODE" not in (content_of(stub) or b"")
    return request.exercise.host and is_finished and _same(request, request.submission.path, stub)


_LAUNCHED = re.compile(rb"^[ \t]*(?:/{2,}[ \t]*(?:launch|scratch|passes)|#[ \t]*define)\b.*+", re.MULTILINE)


def has_given_launches(request: Request) -> bool:
    """Whether launch lines and definitions are the stub's: then they are the solution's, too, and not at fault."""
    own, given = _graded(request, request.submission.path), content_of(request.submission.stub)
    return bool(own and given) and _LAUNCHED.findall(own or b"") == _LAUNCHED.findall(given or b"")


def _plain_cause(request: Request, found: Diagnostic | None) -> str:
    """The next step for an exception of the host file whose message shows the cause; "" for others."""
    if found is None or not request.exercise.host or request.submission.host_file is None:
        return ""
    source = request.submission.texts.shown(request.submission.host_file)
    return advice_for(found.message, request.exercise, safe(request.submission.host_file.name), source)


def is_untouched(request: Request) -> bool:
    """Whether the graded file is still the stub, byte for byte; for a host exercise both files."""
    pairs: list[tuple[Path | None, Path | None]] = [(request.submission.path, request.submission.stub)]
    if request.exercise.host and request.submission.host_stub is not None:
        pairs.append((request.submission.host_file, request.submission.host_stub))
    return all(_same(request, path, stub) for path, stub in pairs)


def _same(request: Request, path: Path | None, stub: Path | None) -> bool:
    content = content_of(stub)
    return path is not None and content is not None and _graded(request, path) == content


def _graded(request: Request, path: Path) -> bytes | None:
    """The content of a graded file when grading began; None if unknown."""
    return request.submission.texts.contents[path] if path in request.submission.texts.contents else content_of(path)


def content_of(path: Path | None) -> bytes | None:
    """The bytes of a regular file of at most `STUB_LIMIT`; None for anything else, such as an endless pipe."""
    try:
        return path.read_bytes() if path is not None and path.is_file() and path.stat().st_size <= STUB_LIMIT else None
    except OSError:
        return None


def _write_the_stub(request: Request) -> str:
    name = request.exercise.name
    if request.submission.path == request.submission.stub:  # nothing is left to copy
        return f"`git checkout {shown(request.submission.path)}` brings the stub back."
    if request.submission.path.resolve() == Path(f"{name}.cu").resolve():
        if request.exercise.host:  # --force would overwrite the host file too
            return f"Delete ./{name}.cu, and `grade start {name}` puts its stub here; your host file stays."
        return f"`grade start {name} --force` writes the stub again."
    return f"`grade start {name}` copies the stub into this folder, as {name}.cu."


def _untouched(request: Request, word: str) -> str:
    name = request.exercise.name
    graded = [path for path in (request.submission.path, request.submission.host_file) if path is not None]
    unfinished = [path for path in graded if b"YOUR CODE" in (_graded(request, path) or b"")]
    files = listed(map(shown, unfinished or graded))  # a host exercise may lack something in either file, or in both
    if request.submission.stub is not None and request.submission.path.resolve() == request.submission.stub.resolve():
        where = f"open {files}, or copy the stub here with `grade start {name}`,"
    else:
        where = f"open {files}"
    grading = SAVE if request.watched else f"run `{_command(request)}`"
    untouched = f"This is still the untouched stub: {where} and"
    if word in ("technique", "slow") or request.exercise.answers:  # a stub that works: the statement says what to add
        return f"{untouched} do what `grade show {name}` asks; then {grading}."
    task = "write what is missing where it says YOUR CODE" if request.exercise.host else "write the kernel"
    return f"{untouched} {task}; then {grading}. `grade show {name}` explains the task."


def _after_pass(request: Request, stages: tuple[StageResult, ...]) -> str:
    fast = next(stage for stage in stages if stage.name == "fast")
    speed = ""
    if fast.status == "not_graded" and request.exercise.target is not None and request.services.gpu is None:
        gpus = "an NVIDIA GPU" if request.exercise.gpus == 1 else f"{request.exercise.gpus} NVIDIA GPUs"
        speed = f"On a machine with {gpus}, `grade` also measures how fast it is. "
    following = "That was the last exercise."
    name, finished_path = request.next_exercise()
    if name:
        following = f"Next exercise: `grade start {name}`, or what `grade next` proposes."
    elif finished_path:
        following = (
            f"You have passed all of the path {safe(finished_path)} that this machine can grade. `grade "
            "interview` practises an interview, an exercise against the clock; `grade next` says what could follow."
        )
    elif request.services.gpu is None:
        following = "That was the last exercise that needs no GPU; `grade list` marks those that need one."
    return speed + following


def _read_hints(request: Request) -> str:
    if request.submission.hints is not None and request.submission.hints.is_file():
        return f"`grade hint {request.exercise.name}` gives a hint."
    return f"`grade show {request.exercise.name}` explains the task."


def _again(request: Request) -> str:
    return SAVE if request.watched else f"run `{_command(request)}` again"


def _command(request: Request) -> str:
    default = Path(f"{request.exercise.name}.cu")
    same = request.submission.path == default or request.submission.path == request.submission.stub
    return f"grade {request.exercise.name}" + ("" if same else f" --file {shown(request.submission.path)}")


def _place(word: str, diagnostics: Sequence[Diagnostic]) -> str:
    """``line 4``; of a compiler's errors all lines: ``lines 4, 9 and 12``; of a host file with its name."""
    lines = _wrong_lines(diagnostics if word == "compile_error" else diagnostics[:1])
    file = diagnostics[0].file if diagnostics else None
    beside = f" of {safe(Path(file).name)}" if file is not None and file.endswith(".py") else ""
    return f"line{'s' * (len(lines) > 1)} {listed(map(str, lines))}{beside}" if lines else THE_FILE


def _more_lines(word: str, diagnostics: Sequence[Diagnostic]) -> str:
    lines = _wrong_lines(diagnostics)[1:] if word == "compile_error" else []
    one = len(lines) == 1
    which = f"{'Line' if one else 'Lines'} {listed(map(str, lines))} {'has an error' if one else 'have errors'} too"
    return f"{which}." if lines else ""


def _wrong_lines(diagnostics: Sequence[Diagnostic]) -> list[int]:
    """The lines with errors: the first error's line first."""
    lines = (found.line for found in diagnostics if found.severity == "error" and found.line is not None)
    return list(dict.fromkeys(lines))[:LINES_NAMED]


def _unset(diagnostics: Sequence[Diagnostic], printed: str, note: str) -> str:
    """The next step if an uninitialised read is the likely cause, or a warning of CuPy, which comes first."""
    if PRINTED_WARNING in printed:
        return "Begin with the warning that was printed. "
    if note:
        return note
    read = next((found for found in diagnostics if found.kind == "uninitialised_read" and found.line), None)
    if read is None:
        return ""
    says = "" if read.rule in ("", EVERY_ELEMENT) else f" {_sentence(read.hint)}"
    array = safe(read.names[-1] if read.names else read.array or "")
    what = f"an element of {array} that" if array.isidentifier() else "what"
    return f"Begin with the warning: line {read.line} reads {what} nothing has written.{says} "


_INDEX_OF_AN_ELEMENT = re.compile(r"\[[^][]*+\[")


def _unset_index(request: Request, diagnostics: Sequence[Diagnostic]) -> str:
    """The next step after an access outside an array with an index that was loaded, where what was loaded is unset."""
    found, *others = diagnostics
    text = (_graded(request, request.submission.path) or b"").decode(errors="replace")
    lines = text.splitlines()
    if not found.line or found.line > len(lines) or not (found.file or "").endswith(request.submission.path.name):
        return ""
    reads = [one for one in others if one.kind == "uninitialised_read" and one.line]
    # A counter that begins with garbage numbers things, by whatever way.
    here = any(
        one.rule == NOT_CLEARED or (one.line == found.line and _is_in_the_index(one, found, text)) for one in reads
    )
    unset = here or _INDEX_OF_AN_ELEMENT.search(lines[found.line - 1])
    return f"{_unset(reads, '', '').strip()} The index may be made of such values." if reads and unset else ""


def _is_in_the_index(read: Diagnostic, found: Diagnostic, text: str) -> bool:
    """Whether a value that a line reads may be in the index of its access outside; also if the index is not clear."""
    from grader.grading.hints.indices import made_of
    from grader.grading.source_view import SourceView

    source, line = SourceView(text), found.line or 0
    names, own = {*read.names, read.array}, (*found.names, found.array)
    indices = [index for one in source.elements(line) if one.name in own for index in one.texts]
    return not indices or "" in indices or any(names & made_of(index, source, line) for index in indices)


def _repeated_work(word: str, diagnostics: Sequence[Diagnostic]) -> str:
    """The next step if two threads store the same value, and so other elements are unwritten or the time is too long.

    For wrong outputs the warning must be about the same array.
    """
    first = diagnostics[0] if diagnostics else None
    arrays = [first.array] if first and word == "wrong" and first.cause in UNWRITTEN else []
    twice = (found for found in diagnostics if found.rule == SAME_WORK and found.line)
    found = next((found for found in twice if found.array in arrays or word == "timeout"), None)
    if found is None:
        return ""
    stored = f"two threads store to the same element of {safe(found.array or 'an array')}"
    return f"Begin with the warning on line {found.line}: {stored}, and {safe(found.hint)}."


def _begin_with_note(diagnostics: Sequence[Diagnostic]) -> str:
    notes = [found for found in diagnostics if is_likely_cause(found.kind) and found.line and found.hint]
    first = min(notes, key=lambda found: RANKS[found.kind], default=None)
    return "" if first is None else f"Begin with the note on line {first.line}: {safe(first.hint)}. "


def _table(request: Request, word: str) -> str:
    """A reference to the statement's row for the verdict word; "" if there is none."""
    stub = request.submission.stub
    statement = (content_of(stub and stub.parent / "README.md") or b"").decode(errors="replace")
    if f"\n| `{word}`" not in parts_of(statement)[1]:
        return ""
    return f'`grade show {request.exercise.name} --full` lists causes of `{word}` under "{CAUSES}". '


def _sentence(text: str) -> str:
    first = text.split(" ", 1)[0].rstrip(",:")
    is_word = first == "a" or (first.isalpha() and first[1:].islower())
    begun = text[:1].upper() + text[1:] if is_word else text  # a name or an expression stays as it is
    shows_code = text.rpartition("\n")[2].startswith("//")
    return begun + ("" if shows_code or text.endswith((".", "!", "?", "`")) else ".")


def _sentences(hint: str, more: str) -> str:
    first = _sentence(hint)
    return f"{first}{'.' * first.endswith('`')} {more}" if more else first


def shown(path: Path) -> str:
    """The path as a person would type it: relative if that is not longer."""
    try:
        near = os.path.relpath(path)
    except ValueError:  # another drive
        return str(path)
    return str(path) if Path(near).parts[:2] == ("..", "..") else near


# ------------------------------------------------------------------------------------- exceptions of a host file The
# advice is chosen by the exception's message. The message is from the submission, and hostile: it is never shown here.

Row = Callable[[Exercise, str, str], str]
"""The advice for an exercise, by its host file's name and text."""

EITHER_CALL = "setup() is called for each case, and run() twice in each, all in one process"
CUDA = "^(CUDARuntimeError: )?"  # on a GPU the exception's name comes first


def advice_for(message: str, exercise: Exercise, file: str, source: str) -> str:
    """The advice for an exception with this message; "" if its cause is unknown."""
    found = next((row for pattern, row in CRASHES.items() if re.search(pattern, message)), "")
    return found if isinstance(found, str) else found(exercise, file, source)


def _signature(exercise: Exercise, file: str, source: str) -> str:
    """The signatures of the host file's functions, and the lines of their definitions."""
    arrays = (array.name for array in exercise.arrays)
    wanted = {"setup": f"def setup({', '.join(['module', *arrays])})", "run": "def run()"}
    functions = []
    for name, text in wanted.items():
        found = re.search(rf"^(?:async +)?def +{name}\b", source, re.MULTILINE)
        line = f" (line {source.count(chr(10), 0, found.start()) + 1})" if found else ""
        functions.append(f"`{text}`{line}")
    return f"{file} must have {' and '.join(functions)}: with these parameters, in this order. "


def _arguments(exercise: Exercise, file: str, source: str) -> str:
    return f"Pass what the kernel's parameters in {exercise.name}.cu say: as many, and in the same order. "


def _host_array(exercise: Exercise, file: str, source: str) -> str:
    """What to pass to a kernel instead of a NumPy array: some steps are about exactly this."""
    return f"{exercise.numpy_argument} " if exercise.numpy_argument else _A_COPY


_A_COPY = (
    "A kernel gets arrays of the device: make one (`dx = cupy.empty(x.size, x.dtype)`), copy the data there "
    "(`dx.set(x)`) and pass dx. "
)

CRASHES: Mapping[str, str | Row] = {
    r"so [HD]2[HD] transfers are disallowed": "`set` and `get` refuse while a stream is being captured. There, queue "
    "the copy with `cupy.cuda.runtime.memcpyAsync(target, source, bytes, kind, stream.ptr)`. ",
    rf"{CUDA}cudaErrorStreamCaptureUnjoined": "Bring the other stream back: record an event behind its last operation, "
    "and let the captured stream wait for it before end_capture. ",
    rf"{CUDA}cudaErrorStreamCapture": "A capture only records what is to be done: wait and allocate before "
    "begin_capture or behind end_capture, and pin the host's side of every copy in between, in setup(). ",
    rf"{CUDA}cudaErrorPeerAccessAlreadyEnabled": f"{EITHER_CALL}: what is enabled stays enabled. Catch this error "
    "(`except cupy.cuda.runtime.CUDARuntimeError`), and go on. ",
    rf"{CUDA}cudaErrorHostMemoryAlreadyRegistered": f"{EITHER_CALL}: register an array once, in setup(). ",
    r"bytes of .{1,60} that are copied are pinned": "Pin all of it, in setup(): what hostRegister gets after the "
    "address counts bytes (`x.nbytes`), not elements. ",
    r"^TypeError: (setup|run)\(\) (takes|missing|got)|defines no function (setup|run)\(\)": _signature,
    r"has \d+ parameters?, and \d+ arguments? (is|are) given": _arguments,
    r"^TypeError: You are trying to pass a numpy\.ndarray of shape": _host_array,
    r"^(PermissionError|OSError):": "A host file's process may write no files, and read only Python's own: keep what "
    "run() needs in a variable. ",
    r"^(bdb\.)?BdbQuit": "Take breakpoint() out: nobody can type there. What the host file prints is in the report. ",
    r"^EOFError": "Take input() out: nobody can type there. ",
    r"^(ModuleNotFoundError|ImportError):": "Is the name right? A host file has Python's own modules, NumPy and CuPy, "
    "and no others. ",
    r"^SystemExit": "Let setup() and run() return: remove the statement that ends the process. ",
}  # fmt: skip
"""Patterns of messages, and what to do."""
