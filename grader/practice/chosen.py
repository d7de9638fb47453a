"""The path that the user has chosen with ``grade next --path NAME``: one line in the folder of the user's data."""

from __future__ import annotations

from grader.catalog.exercises import Catalog
from grader.catalog.paths import CoursePath, path_in
from grader.paths import data_folder

FILE = "path"


def chosen_name() -> str:
    """The name of the chosen path; "" if there is none, or if it cannot be read."""
    try:
        return data_folder(FILE).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeError):
        return ""


def chosen_path(catalog: Catalog) -> CoursePath | None:
    """The chosen path; None if there is none in these courses."""
    name = chosen_name()
    return path_in(catalog, name) if name else None


def choose(name: str) -> None:
    """Remember the path; "" means none. Raises OSError."""
    file = data_folder(FILE)
    if not name:
        file.unlink(missing_ok=True)
        return
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.write_text(f"{name}\n", encoding="utf-8")
