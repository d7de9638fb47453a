"""The command ``grade`` (also ``warpgrade``): from the words of a command line to an exit code.

0 pass   1 not passed   2 a wrong command or path   3 inconclusive   4 unsupported   5 an error of the grader
130 ended with Ctrl-C; for several names, the largest
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, NoReturn

from grader.process.standard import collect_rarely, compute_on_one_thread, open_closed_streams

if TYPE_CHECKING:
    import click

    from grader.errors import WarpgradeError

FAULT, INTERRUPTED, BROKEN_PIPE = 5, 130, 141
leave = os._exit  # for the grader itself: `_no_other_way_out` replaces the one of `os`
ENDED = "a file of the course ends the program"
ENDED_HINT = "look for exit() in its oracles and exercise.py files"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; errors become exit codes only here."""
    open_closed_streams()
    collect_rarely()
    compute_on_one_thread()
    words = list(sys.argv[1:] if arguments is None else arguments)
    with ctrl_c_ends_at_once(), _no_other_way_out():
        return guarded(lambda: _run(words), as_json="--json" in words)


def _run(words: list[str]) -> int:
    from grader.cli.commands import cli

    code = cli.main(args=words, prog_name="grade", standalone_mode=False)
    return code if isinstance(code, int) else 0


@contextmanager
def ctrl_c_ends_at_once(message: str = "grade: interrupted") -> Iterator[None]:
    """End the process on Ctrl-C with one line.

    An exception instead could arrive in the middle of an import that another thread waits for. The kernel ends the
    children with their parent (`grader.process.sandbox.die_with_parent`).
    """
    if current_thread() is not main_thread():
        yield
        return

    def interrupted(number: int, frame: object) -> NoReturn:
        os.write(2, (b"\n" if os.isatty(2) else b"") + message.encode("utf-8", "backslashreplace") + b"\n")
        os._exit(INTERRUPTED)

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _no_other_way_out() -> Iterator[None]:
    """End with the code of the grader's fault where a course's code leaves, or becomes another program.

    Its exit code would be taken for a pass. A course has the person's rights: this is for mistakes, not for malice.
    """

    def left(status: int) -> NoReturn:
        if status == 0:
            os.write(2, f"grade: {ENDED}\n".encode())
        leave(status or FAULT)

    ends = {"_exit": left, "execv": lambda *_: left(0), "execve": lambda *_: left(0)}
    places = [(module, name, getattr(module, name)) for module in (os, sys.modules[os.name]) for name in ends]
    for module, name, _ in places:
        setattr(module, name, ends[name])
    try:
        yield
    finally:
        for module, name, before in places:
            setattr(module, name, before)


def guarded(run: Callable[[], int | None], *, as_json: bool = False) -> int:
    """Return the exit code that ``run`` returns, 0 for None; an exception becomes a message and a code."""
    import click

    try:
        code = run() or 0
        sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort):
        print("grade: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # nobody reads (``grade list | head -1``): print nothing, also in the flush at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except click.exceptions.Exit as done:
        return done.exit_code
    except SystemExit as end:
        from grader.cli.routing import VARIABLE
        from grader.errors import GraderFault

        if end.code or VARIABLE in os.environ:  # click's own: where the reader has gone, and at a completion's end
            raise
        return _report(GraderFault(ENDED, hint=ENDED_HINT), as_json=as_json)
    except Exception as error:
        return _report(_as_warpgrade_error(error), as_json=as_json)
    return code


def _as_warpgrade_error(error: Exception) -> WarpgradeError:
    """``error`` as an error of this package: click's errors are wrong commands, others the grader's fault."""
    import click

    from grader.errors import UsageError, WarpgradeError, as_fault

    if isinstance(error, WarpgradeError):
        return error
    if isinstance(error, click.ClickException):
        return UsageError(_in_words(error.format_message()), code="usage", hint=_usage_hint(error))
    return as_fault(error)


def _in_words(message: str) -> str:
    """Click's message without its names of types: "'abc' is not a number"."""
    import re

    kinds = {"float": "a number", "integer": "a whole number"}
    message = re.sub(r"is not a valid (float|integer)( range)?\b", lambda kind: f"is not {kinds[kind[1]]}", message)
    return message[:1].lower() + message[1:].rstrip(".")


def _usage_hint(error: click.ClickException) -> str:
    """Where to look: at the list of exercises if the name is missing, else at the command's help."""
    import click

    from grader.cli.routing import DEFAULT

    if isinstance(error, click.MissingParameter) and error.param is not None and error.param.name in ("name", "names"):
        words = error.ctx.command_path.split() if error.ctx else []
        if len(words) == 2:  # not `grade dev new`
            typed = " ".join(dict.fromkeys(words))  # the grading command's own path is `grade grade`
            return f"`grade list` shows the names; for example `{typed} vector_add`"
    context = getattr(error, "ctx", None)
    if context is not None and context.command_path.count(" ") and context.info_name != DEFAULT:
        return f"`{context.command_path} --help` shows its options"
    return "`grade --help` shows all commands and options"


def _report(error: WarpgradeError, *, as_json: bool) -> int:
    from grader.output import print_json, print_line

    code = getattr(error, "code", "") or {4: "unsupported", 5: "error"}.get(error.exit_code, "error")
    if as_json:
        from grader.render.json import error_document

        print_json(error_document(code, error.message, error.hint))
    else:
        print_line(f"grade: {error.message}", to_stderr=True)
        if error.hint:
            print_line(f"       {error.hint}", to_stderr=True)
    return error.exit_code
