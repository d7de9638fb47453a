"""What a person sees when a command cannot go on: one message with the next step, never a traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from grader.cli import INTERRUPTED
from grader.errors import UsageError, WarpgradeError

if TYPE_CHECKING:
    import click

BROKEN_PIPE = 141


def guarded(run: Callable[[list[str]], int], words: list[str]) -> int:
    """Return the exit code of ``run(words)``; whatever it raises becomes a message and a code."""
    import click

    try:
        code = run(words)
        sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort):
        print("grade: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        return _nobody_reads()
    except click.exceptions.Exit as done:
        return done.exit_code
    except Exception as error:
        return _report(_understood(error), as_json="--json" in words)
    return code


def _understood(error: Exception) -> WarpgradeError:
    """``error`` as one of ours: click's complaints are wrong commands, anything unexpected is the grader's fault."""
    import click

    if isinstance(error, WarpgradeError):
        return error
    if isinstance(error, click.ClickException):
        message = error.format_message().rstrip(".")
        return UsageError(message[:1].lower() + message[1:], code="usage", hint=_way_out(error))
    from grader.grading.fault import as_fault

    return as_fault(error)


def _way_out(error: click.ClickException) -> str:
    """Where to look: at the names for who left out an exercise's, else at the help."""
    import click

    missing = error.param if isinstance(error, click.MissingParameter) else None
    words = error.ctx.command_path.split() if isinstance(error, click.MissingParameter) and error.ctx else []
    if missing is not None and missing.name in ("name", "names") and len(words) == 2:  # not `grade dev new`
        typed = " ".join(dict.fromkeys(words))  # the grading command's own path is `grade grade`
        return f"`grade list` shows the names; for example `{typed} vector_add`"
    return "`grade --help` shows what there is"


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


def _nobody_reads() -> int:
    """The reader of a pipe has gone (``grade list | head -1``): say nothing, now and in the flush at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return BROKEN_PIPE
