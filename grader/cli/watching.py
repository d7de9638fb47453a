"""``grade watch``: grades at each save, and handles a few keys.

keyboard ──┐
           ├──events──▶ Watch.run: one event at a time, in the main thread
saves ─────┘

A save during a grading stops that grading: its report would be about an old text.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread
from time import strftime
from typing import Any

from grader.catalog.exercises import Catalog
from grader.cli import BROKEN_PIPE, guarded, leave
from grader.cli.course import load, missing_here, named, show_list, show_statement, to_edit
from grader.cli.grading import GradeOptions, grade_here, tasks_of
from grader.cli.practice import all_passed, give_hint, start_exercise, why_next
from grader.errors import UsageError
from grader.grading.services import Task
from grader.output import print_line, print_text, say
from grader.practice.history import next_exercise
from grader.practice.moved import old_here
from grader.practice.watch import END, Keyboard, Saves, newest_first, wake_at_saves
from grader.process.channel import Stopped, Stopper

SAVED = "saved"  # an event that is not a key
CLEAR = "\x1b[2J\x1b[H"
QUITS = frozenset({"q", END})
GONE_AFTER = 2  # checks in a row without the file; a second apart if nothing else happens
KEYS = """
  s      the statement: the task
  h      a hint for the exercise, one more each time
  n      the next exercise: its stub is copied into this folder if it is missing
  l      the list of exercises
  Enter  grade again
  ?      this list of keys
  q      quit; so do Ctrl-D and Ctrl-C"""


def watch_files(name: str | None, courses: tuple[Path, ...], **options: Any) -> int:
    """Grade an exercise's file, or without a name any exercise's file in this folder, each time it is saved."""
    catalog = load(courses)
    if name is not None:
        (current,) = tasks_of(catalog, GradeOptions((name,)))
    else:
        here = {task.path: task for task in _tasks_here(catalog)}
        if not here:
            hint = "`grade start NAME` copies a stub here, and `grade watch NAME` watches it"
            raise UsageError("this folder has no file of an exercise", code="no_submission", hint=hint)
        current = here[newest_first(here)[0]]
    return Watch(
        catalog, current, GradeOptions((), courses=courses, watched=True, **options), follows=name is None
    ).run()


def _tasks_here(catalog: Catalog) -> list[Task]:
    try:
        names = {path.name for path in Path().iterdir()}
    except OSError:  # the folder was removed; it may come back
        return []
    return [Task(entry, Path(f"{entry.name}.cu")) for entry in catalog.exercises if f"{entry.name}.cu" in names]


def _files_of(task: Task) -> tuple[Path, ...]:
    """The files to watch: the kernel, and for a host exercise the Python file."""
    if not task.entry.exercise.host:
        return (task.path,)
    return task.path, task.host or next((host for host in task.places if host.is_file()), task.places[0])


def _named_files(task: Task) -> str:
    return " and ".join(map(str, _files_of(task)))


class Watch:
    """The event loop. With ``follows`` it watches every exercise's file in this folder, and switches to a saved one."""

    def __init__(self, catalog: Catalog, current: Task, options: GradeOptions, *, follows: bool) -> None:
        self._catalog = catalog
        self._current = current
        self._options = options
        self._follows = follows
        self._events: SimpleQueue[str] = SimpleQueue()
        self._saves = Saves()
        self._grading: Stopper | None = None
        self._checks_without_file = 0
        self._keyboard = Keyboard(self._pressed)
        self._actions: Mapping[str, Callable[[], None]] = {
            "s": self._statement, "h": self._hint, "n": self._next, "l": self._list,
            "\n": self._grade, "\r": self._grade, "?": lambda: print_line(KEYS),
        }  # fmt: skip

    def run(self) -> int:
        """Grade once, then at every save, until the user quits."""
        stop = Event()
        folders = {Path.cwd(), self._current.path.absolute().parent}
        watcher = Thread(target=wake_at_saves, args=(folders, self._wake, stop), daemon=True)
        with self._keyboard:
            watcher.start()
            try:
                self._look()
                code = self._do(self._grade)
                while code != BROKEN_PIPE:
                    event = self._events.get()
                    if event in QUITS:
                        return 0
                    if event == SAVED:
                        code = self._do(self._grade) if self._look() else self._notice_missing_file()
                    elif event in self._actions:
                        code = self._do(self._actions[event])
                return code
            finally:
                stop.set()
                watcher.join()

    def _pressed(self, key: str) -> None:
        """Handle a key, in the keyboard's thread. Quitting does not wait for a grading; its children end with it."""
        if key.lower() in QUITS and self._grading is not None:
            self._keyboard.restore()
            leave(0)
        self._events.put(key.lower())

    def _wake(self) -> None:
        """A file may have been saved (in the watcher's thread): stop a grading of an old text."""
        grading = self._grading
        if grading is not None and self._saves.has_new(self._watched()):
            grading.stop()
        self._events.put(SAVED)

    def _do(self, action: Callable[[], None]) -> int:
        """Carry out an action, then print the keys; an error is one message, and watching continues."""
        code = guarded(action)
        return code if code == BROKEN_PIPE else guarded(self._print_footer)

    # -- watched files

    def _look(self) -> bool:
        """Whether a watched file was saved; the newest saved file becomes the current one."""
        owner = self._watched()
        saved = self._saves.look(owner)
        if saved:
            self._current = owner[saved[0]]
        return bool(saved)

    def _watched(self) -> dict[Path, Task]:
        """Every watched file, with the task that its save grades."""
        tasks: Iterable[Task] = _tasks_here(self._catalog) if self._follows else [self._current]
        return {file: task for task in tasks for file in _files_of(task)}

    def _notice_missing_file(self) -> int:
        """Say once that the current file is missing. Editors may rename it for a moment when they save: check twice."""
        self._checks_without_file = 0 if self._current.path.exists() else self._checks_without_file + 1
        if self._checks_without_file != GONE_AFTER:
            return 0
        message = (
            f"./{self._current.path} no longer exists: the report above is about its last version. It is graded again "
            "when it is back."
        )
        return self._do(lambda: say(f"\n{message}"))

    # -- actions

    def _grade(self) -> None:
        """Grade the current exercise; after a save during the grading, grade again."""
        while not self._graded_undisturbed():
            self._look()

    def _graded_undisturbed(self) -> bool:
        """Grade once. False if a save stopped it: then nothing is printed or recorded."""
        self._saves.look(_files_of(self._current))  # saves until now need no further grading
        file = self._current.host or self._current.path
        try:
            with Stopper() as self._grading:
                self._clear()
                print_line(f"{_named_files(self._current)}, {strftime('%H:%M:%S')}\n")
                grade_here(replace(self._options, names=(self._current.entry.name,), file=file))
        except Stopped:
            print_line("The file was saved again: grading the new version.")
            return False
        finally:
            self._grading = None
        return True

    def _statement(self) -> None:
        self._clear()
        entry = self._current.entry
        show_statement(
            entry.name, self._options.courses, full=False, no_color=self._options.no_color, paged=False
        )  # a pager would read the keys

    def _hint(self) -> None:
        print_line("")
        give_hint(self._current.entry, no_color=self._options.no_color)

    def _list(self) -> None:
        self._clear()
        show_list(self._options.courses, as_json=False)

    def _next(self) -> None:
        """Go to the next exercise; its stub is copied if it is missing."""
        entry, reason = next_exercise(self._catalog)
        if entry is None or entry.name == self._current.entry.name:
            say(
                "\n"
                + (
                    f"{entry.name} is not passed yet: it is the next one."
                    if entry
                    else all_passed(self._catalog, reason)
                )
            )
            return
        self._clear()
        say(why_next(reason))
        task = Task(entry, Path(f"{entry.name}.cu"))
        edit = named(to_edit(entry))
        if missing_here(entry):
            start_exercise(entry.name, self._options.courses, force=False)
            say(f"The stub was copied to {edit}; it is graded when you save it.")
        else:
            say(f"{entry.name}: {entry.exercise.idea}.")
            say(old_here(self._catalog, entry) or f"You have {edit} here already: Enter grades it.")
        self._current = task
        self._look()  # the copy just written is not a save
        self._current = task

    # -- output

    def _clear(self) -> None:
        if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
            print_text(CLEAR)
        else:
            print_text("\n")

    def _print_footer(self) -> None:
        what = "the exercises here" if self._follows else _named_files(self._current)
        keys = "s task   h hint   n next   l list   Enter again   ? keys   q quit"
        print_line(f"\nwatching {what}")
        print_line(f"  {keys if self._keyboard.listens else 'Ctrl-C ends it'}")
