"""The autograder zip: what Gradescope's containers need to grade an assignment by themselves.

    setup.sh            installs Python and warpgrade, and makes the user as which submissions run
    run_autograder      starts grader.classroom.autograder_run
    assignment.toml     what is graded
    assignment.key      the assignment's key: not the class's, so that it says nothing about other assignments
    students.json       only with variants: who of Gradescope is which student
    courses/N/          the class's own courses, if it has some

Root grades, and the submission's children run as another user. The folder of these files is closed to that user, and so
are the course's solutions. Landlock is used where the container's kernel has it; the result says if not.
"""

from __future__ import annotations

import hmac
import io
import json
import stat
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from grader import __version__
from grader.classroom.assignment import assignment_text
from grader.classroom.records import Assignment, Student
from grader.errors import UsageError

USER = "warpgrade-submission"
KEY, ASSIGNMENT, STUDENTS, COURSES = "assignment.key", "assignment.toml", "students.json", "courses"
LARGEST = 64 << 20  # of a course
_DATE = (1980, 1, 1, 0, 0, 0)  # so that the same class gives the same bytes

SETUP = r"""#!/usr/bin/env bash
# Written by `grade class autograder`: prepares a container (Debian or Ubuntu) as root. Edit it if your image differs.
set -euo pipefail
umask 022
cd "$(dirname "$0")"
export DEBIAN_FRONTEND=noninteractive

python=""
find_python() {{
    for name in python3.14 python3.13 python3.12 python3.11 python3; do
        if "$name" -c 'import sys, venv, ensurepip; assert sys.version_info >= (3, 11)' 2> /dev/null
        then python="$name"; return 0; fi
    done
    return 1
}}
if ! find_python; then
    apt-get update
    apt-get install -y --no-install-recommends python3 python3-venv
    find_python || apt-get install -y --no-install-recommends python3.12 python3.12-venv \
        || apt-get install -y --no-install-recommends python3.11 python3.11-venv
    find_python || {{ echo "Python 3.11 or later is needed: choose an image that has it" >&2; exit 1; }}
fi

# The submissions' user: it owns nothing, and cannot log in.
getent passwd {user} > /dev/null || useradd --system --no-create-home --shell /usr/sbin/nologin {user}

"$python" -m venv "${{WARPGRADE_AUTOGRADER_ROOT:-/autograder}}/venv"
"${{WARPGRADE_AUTOGRADER_ROOT:-/autograder}}/venv/bin/pip" install --no-cache-dir {requirement}

chmod 700 .
chmod 600 {key}
"""

RUN = r"""#!/usr/bin/env bash
# Written by `grade class autograder`: grades one submission as Gradescope asks for it.
set -euo pipefail
umask 022
root="${{WARPGRADE_AUTOGRADER_ROOT:-/autograder}}"
python="${{WARPGRADE_AUTOGRADER_PYTHON:-$root/venv/bin/python}}"
chmod 700 "$root/source"
chmod 600 "$root/source/{key}"
mkdir -p "$root/results"
exec "$python" -I -m grader.classroom.autograder_run "$root"
"""


def autograder_zip(
    assignment: Assignment,
    secret: bytes,
    *,
    extra: str = "cuda12",
    wheel: Path | None = None,
    courses: Sequence[Path] = (),
    roster: Sequence[Student] = (),
) -> bytes:
    """Return the zip. ``secret`` is the assignment's key; ``extra`` and ``wheel`` say how warpgrade is installed."""
    source = f"./{wheel.name}" if wheel is not None else "warpgrade"
    requirement = f'"{source}[{extra}]{"" if wheel is not None else f"=={__version__}"}"'
    files = {
        "setup.sh": (SETUP.format(user=USER, requirement=requirement, key=KEY).encode(), 0o755),
        "run_autograder": (RUN.format(key=KEY).encode(), 0o755),
        ASSIGNMENT: (assignment_text(assignment).encode(), 0o644),
        KEY: (f"{secret.hex()}\n".encode(), 0o600),
    }
    if assignment.variants:
        files[STUDENTS] = (json.dumps(who_is_who(secret, roster)).encode(), 0o600)
    if wheel is not None:
        files[wheel.name] = (_content(wheel), 0o644)
    for number, course in enumerate(courses):
        files |= {name: (content, 0o644) for name, content in _course_files(course, f"{COURSES}/{number}")}
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (content, mode) in files.items():
            entry = zipfile.ZipInfo(name, _DATE)
            entry.external_attr = (stat.S_IFREG | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return made.getvalue()


def who_is_who(secret: bytes, roster: Sequence[Student]) -> dict[str, str]:
    """Student ids by a digest of their address: an id decides which variant a student has."""
    return {digest_of(secret, address): student.id for student in roster if (address := address_of(student))}


def address_of(student: Student) -> str:
    """The mail address by which the platform names a student; "" if the roster has none."""
    return student.email.strip() or (student.id if "@" in student.id else "")


def digest_of(secret: bytes, email: str) -> str:
    return hmac.digest(secret, b"email\0" + email.strip().casefold().encode(), "sha256").hex()


def _course_files(course: Path, below: str) -> Iterator[tuple[str, bytes]]:
    """The regular files of a course. Raises UsageError if they are too large."""
    total = 0
    for path in sorted(course.rglob("*")):
        if path.is_symlink() or not path.is_file() or any(part.startswith((".", "__")) for part in path.parts[-3:-1]):
            continue
        content = _content(path)
        total += len(content)
        if total > LARGEST:
            raise UsageError(
                f"{course} is larger than {LARGEST >> 20} MiB", code="too_large", hint="move data elsewhere"
            )
        yield f"{below}/{path.relative_to(course).as_posix()}", content


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", code="unreadable") from None
