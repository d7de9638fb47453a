"""From a student's files to submissions: what belongs together, in which order, and what is new.

    uploads of a student and an exercise ──together──▶ Sighting (.cu and host file) ──merged──▶ numbered submissions

- A submission is named by its contents, so that collecting it again adds nothing. If it is handed in again unchanged,
  its first time is kept, unless another version came in between.
- Without times the order is that of the LMS's numbers, then of the numbers that mark copies, then of the sources.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import PurePosixPath

from grader.classroom.collect.entries import Skipped
from grader.classroom.collect.exercises import HOST, Named
from grader.classroom.collect.forms import Claim
from grader.classroom.folder import safe_name
from grader.classroom.records import ClassSubmission, SubmittedFile
from grader.frozen import dataclass

FOLDER = "submissions"
EARLIEST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Upload:
    """A file of a student that is, or may be, of an exercise. ``source`` counts the sources of this collecting."""

    student: str
    named: Named
    claim: Claim
    source: int
    found: int

    @property
    def order(self) -> tuple[int, int, int, int]:
        return self.source, self.claim.order, self.named.copy, self.found

    @property
    def when(self) -> datetime:
        return self.claim.submitted or EARLIEST


@dataclass(frozen=True)
class Sighting:
    """A submission as it was found now: its contents by their paths below the class folder."""

    submission: ClassSubmission
    contents: dict[str, bytes]
    order: tuple[int, ...]
    from_stub: str = ""  # the file of a host exercise that was not submitted: the handout's is used


def sure_uploads(uploads: Sequence[Upload]) -> tuple[list[Upload], list[Upload], list[Skipped]]:
    """The uploads that count; those of them whose name does not say the exercise; and those that are left out."""
    sure = [upload for upload in uploads if upload.named.is_sure]
    others = [upload for upload in uploads if not upload.named.is_sure]
    if not others:
        return sure, [], []
    if not sure and len(others) == 1:
        return others, others, []
    exercise = others[0].named.exercise
    reason = (
        f"another file of this student is {exercise}.cu" if sure else f"several files may be {exercise}.cu: rename one"
    )
    return sure, [], [Skipped(upload.claim.entry.origin, reason) for upload in others]


def together(uploads: Sequence[Upload], stubs: dict[str, bytes]) -> list[Sighting]:
    """The submissions of one student and exercise, earliest first. ``stubs`` are the handout's files, by name."""
    exercise = uploads[0].named.exercise
    kernels = sorted((one for one in uploads if not one.named.is_host), key=lambda one: (one.when, one.order))
    hosts = sorted((one for one in uploads if one.named.is_host), key=lambda one: (one.when, one.order))
    if len(stubs) == 1:
        return [_sighting([kernel], exercise, {}) for kernel in kernels]
    pairs = [[kernel, *_partner(kernel, hosts)] for kernel in kernels]
    paired = [host for _, *rest in pairs for host in rest]
    pairs += [[*_partner(host, kernels), host] for host in hosts if host not in paired]
    return sorted((_sighting(pair, exercise, stubs) for pair in pairs), key=_sighting_order)


def _partner(upload: Upload, others: Sequence[Upload]) -> list[Upload]:
    """The file that belongs to another: of the same folder and copy number, else the nearest to that, else the last."""

    def nearness(other: Upload) -> tuple[bool, bool, bool, tuple[int, ...]]:
        same_source = other.source == upload.source
        same_folder = same_source and other.claim.entry.parts[:-1] == upload.claim.entry.parts[:-1]
        return same_folder, other.named.copy == upload.named.copy, same_source, other.order

    return [max(others, key=nearness)] if others else []


def _sighting(pair: Sequence[Upload], exercise: str, stubs: dict[str, bytes]) -> Sighting:
    """One submission; what a host exercise lacks is taken from the stubs."""
    last = max(pair, key=lambda one: (one.when, one.order))
    given = {exercise + (f"{HOST}.py" if one.named.is_host else ".cu"): one.claim.entry.content for one in pair}
    missing = [name for name in stubs if name not in given]
    contents = {name: given.get(name, stubs.get(name, b"")) for name in sorted({*given, *stubs}, key=_kernel_first)}
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    version = hashlib.sha256("".join(hashes.values()).encode()).hexdigest()[:12]
    folder = PurePosixPath(FOLDER, safe_name(last.student), exercise, version)
    files = tuple(SubmittedFile(str(folder / name), digest) for name, digest in hashes.items())
    claim = last.claim
    submission = ClassSubmission(
        student=last.student,
        exercise=exercise,
        number=0,
        files=files,
        submitted=claim.submitted,
        time_from=claim.time_from,
        origin=claim.entry.origin,
        marked_late=any(one.claim.late for one in pair),
    )
    written = {str(folder / name): content for name, content in contents.items()}
    return Sighting(submission, written, last.order, missing[0] if missing else "")


def _kernel_first(name: str) -> tuple[bool, str]:
    return not name.endswith(".cu"), name


def _sighting_order(sighting: Sighting) -> tuple[datetime, tuple[int, ...]]:
    return sighting.submission.submitted or EARLIEST, sighting.order


# --------------------------------------------------------------------------------------------------- old and new ones


def merged(
    existing: Iterable[ClassSubmission], found: Sequence[Sighting], *, first_counts: bool
) -> list[ClassSubmission]:
    """The submissions of one student and exercise, numbered by time; of each content one."""
    told = {one.submission.key for one in found if one.submission.time_from == "csv"}
    known = [
        replace(one, submitted=None, time_from="") if one.key in told and one.time_from != "csv" else one
        for one in existing
    ]
    before = {one.key for one in known}
    seen = [one.submission for one in found if one.submission.submitted or one.submission.key not in before]
    events = [((one.submitted or EARLIEST), (0, one.number), one) for one in known]
    events += [((one.submitted or EARLIEST), (1, number), one) for number, one in enumerate(seen)]
    runs: list[ClassSubmission] = []
    for _, _, one in sorted(events, key=lambda event: event[:2]):
        if runs and runs[-1].key == one.key:
            runs[-1] = _with_time(runs[-1], one)
        else:
            runs.append(one)
    keys = [one.key for one in runs]
    others = [keys[:at] if first_counts else keys[at + 1 :] for at in range(len(keys))]
    kept = [one for one, elsewhere in zip(runs, others, strict=True) if one.key not in elsewhere]
    return [replace(one, number=number) for number, one in enumerate(kept, start=1)]


def _with_time(one: ClassSubmission, same: ClassSubmission) -> ClassSubmission:
    """A submission with the time of its second sighting, if it has none."""
    if one.submitted is None and same.submitted is not None:
        return replace(one, submitted=same.submitted, time_from=same.time_from)
    return one


def by_exercise(uploads: Iterable[Upload]) -> dict[tuple[str, str], list[Upload]]:
    grouped: dict[tuple[str, str], list[Upload]] = defaultdict(list)
    for upload in uploads:
        grouped[upload.student, upload.named.exercise].append(upload)
    return grouped
