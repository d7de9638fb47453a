"""`class.key`: the secret of a class, and the secrets that are derived from it.

    class key ──assignment's name──▶ assignment key ──exercise──▶ seed of the hidden inputs, the same for all students
                                          └──student, exercise──▶ seed of the student's variant

Each arrow is HMAC-SHA256: who has a derived secret, as an autograder has its assignment's key, learns nothing about
what is to its left, or about other assignments.
"""

from __future__ import annotations

import hmac
import os
import secrets
import stat
from pathlib import Path

from grader.errors import UsageError
from grader.verdict import SEED_BITS

FILE = "class.key"
KEY_BYTES = 32


def new_key() -> bytes:
    return secrets.token_bytes(KEY_BYTES)


def write_key(path: Path, key: bytes) -> None:
    """Write a key to a new file that only its owner can read. Raises FileExistsError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="ascii") as file:
        file.write(key.hex() + "\n")


def read_key(folder: Path) -> bytes:
    """The key of a class folder. Raises UsageError if it is missing, no key, or readable by others."""
    path = folder / FILE
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            text = file.read(1000)
    except FileNotFoundError:
        hint = "copy it from where the class was made: with another key the hidden inputs are others"
        raise UsageError(f"there is no {path}", code="no_key", hint=hint) from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", code="unreadable") from None
    if os.name == "posix" and mode & 0o077:
        message = f"others on this machine may read {path} (mode {mode:04o}), and so learn the hidden inputs"
        raise UsageError(message, code="exposed_key", hint=f"`chmod 600 {path}`")
    try:
        key = bytes.fromhex(text.decode("ascii"))
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        hint = f"it is one line of {2 * KEY_BYTES} hexadecimal digits; restore it from a backup"
        raise UsageError(f"{path} does not contain a key", code="bad_key", hint=hint)
    return key


def assignment_key(class_key: bytes, assignment: str) -> bytes:
    """The secret of one assignment: all that an autograder gets."""
    return _derived(class_key, "assignment", assignment)


def seed(assignment_key: bytes, exercise: str) -> int:
    """The seed of an exercise's hidden inputs, which is the same for all students."""
    return _number(_derived(assignment_key, "seed", exercise))


def variant_seed(assignment_key: bytes, student: str, exercise: str) -> int:
    """The seed of a student's variant of an exercise."""
    return _number(_derived(assignment_key, "variant", student, exercise))


def _derived(key: bytes, *words: str) -> bytes:
    """HMAC-SHA256 of words; each word's length is before it, so that no two lists of words are the same message."""
    encoded = [word.encode("utf-8") for word in words]
    return hmac.digest(key, b"".join(len(word).to_bytes(4, "big") + word for word in encoded), "sha256")


def _number(digest: bytes) -> int:
    return int.from_bytes(digest[:8], "big") >> (64 - SEED_BITS)
