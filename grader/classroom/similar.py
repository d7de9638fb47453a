"""Submissions of one exercise that are close after renaming and reformatting. It points, it does not accuse.

    source ──tokens without names, numbers, comments, braces──┐
    PTX ──instructions without registers and labels───────────┴─▶ k-grams − handed out ──winnowing──▶ fingerprints
    fingerprints of all students ──rare ones weigh more──▶ pairs ──the runs of equal tokens──▶ shared lines

Winnowing (Schleimer, Wilkerson, Aiken 2003) keeps of each window of k-grams the least hash: a shared run of
``gram + window - 1`` tokens always leaves a shared fingerprint. What stub, statement, hints and solutions of earlier
steps contain is removed first. A fingerprint that many students have says little: it weighs ``log((students +
`PRIOR`) / students that have it)``. A pair is shown if enough of the smaller submission is in the other (`Kind.least`)
and if that is enough evidence (`Kind.evidence`); `scripts/similar_trial.py` chose both numbers, and
docs/results/similar.md says what they find and miss. PTX sees through macros, order and forms of loops, but different
people's short kernels compile to the same PTX, so it asks for more.

All functions are pure and linear in the text, but for the comparison of all pairs of students.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import combinations
from math import log
from typing import Literal

from grader.classroom.records import SharedLines, SimilarPair
from grader.compile.lexical import Lines, without_comments
from grader.frozen import dataclass

MOST_TOKENS = 6_000  # of a submission; the rest is not compared. The longest solution of the course has 1700
WITH_LINES = 200  # closest pairs of an exercise whose shared lines are looked for
MOST_PLACES = 8  # of one k-gram in a file, when shared lines are looked for
LEAST = 10  # fingerprints of a submission; with fewer it is too small to compare
PRIOR = 10  # students who are assumed beside those of the class, so that a class of three has rare fingerprints, too


@dataclass(frozen=True)
class Kind:
    """What is compared, and from where on a pair is shown. ``gram`` and ``window`` count tokens or instructions."""

    name: Literal["tokens", "ptx"]
    gram: int
    window: int
    least: float  # part of the smaller submission's weight
    evidence: float  # weight of what both have


TOKENS = Kind("tokens", gram=7, window=3, least=0.7, evidence=16.0)
PTX = Kind("ptx", gram=6, window=3, least=0.9, evidence=16.0)


@dataclass(frozen=True)
class Token:
    """A normalised word of a source, or an instruction, with its line in the source, from 1 (0: not known)."""

    text: str
    line: int


@dataclass(frozen=True)
class Work:
    """What one student submitted for an exercise, as tokens of one kind; ``key`` is `ClassSubmission.key`."""

    student: str
    key: str
    tokens: tuple[Token, ...]


# ------------------------------------------------------------------------------------------------------------- tokens

_TOKEN = re.compile(
    r"""(?P<built>(?:threadIdx|blockIdx|blockDim|gridDim)\s*\.\s*[xyz]) | (?P<name>[A-Za-z_]\w*)
      | (?P<number>\.?\d(?:[eEpP][+-]|[\w.'])*) | (?P<string>"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)
      | (?P<mark><<=|>>=|->|\+\+|--|[-+*/%&|^<>=!]=|&&|\|\||<<|>>|::|[^\s{}\\])""",
    re.VERBOSE,
)
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(?:include|pragma|ifndef|ifdef|if|endif|undef)\b(?:\\\n|[^\n])*", re.MULTILINE)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define\b", re.MULTILINE)
_PYTHON_COMMENT = re.compile(r"#[^\n]*")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_KEPT = _words("""
    if else for while do return break continue switch case default goto sizeof template struct union true false asm
    float double bool void float2 float4 int4 uint4 half2 reinterpret_cast warpSize
    min max fminf fmaxf fmaf fma expf exp logf log sqrtf rsqrtf atomicAdd atomicMax atomicCAS atomicExch
    define
""")
_PYTHON = _words("""
    if elif else for while with def class lambda return yield break continue pass try except finally raise import from
    as in not and or is None True False range
""")
_INTEGERS = _words("int unsigned signed long short auto size_t ptrdiff_t int32_t uint32_t int64_t uint64_t")
_LEFT_OUT = _words("""
    const constexpr static inline extern volatile restrict __restrict__ __forceinline__ __noinline__ __device__ __host__
    typename register
""")


def source_tokens(source: str, *, python: bool = False) -> tuple[Token, ...]:
    """The tokens of a CUDA C source or a host file, with one name and one number for all, and no comments or braces."""
    plain = _PYTHON_COMMENT.sub("", source) if python else without_comments(source)
    code = plain if python else _DEFINE.sub("define", _DIRECTIVE.sub(_blanked, plain))
    lines, tokens = Lines(code), list[Token]()
    for match in _TOKEN.finditer(code):
        text = _normal(match, _PYTHON if python else _KEPT)
        if text and not (text == "int" and tokens and tokens[-1].text == "int"):  # `unsigned long long` is one type
            tokens.append(Token(text, lines.of(match.start())))
        if len(tokens) == MOST_TOKENS:
            break
    return tuple(tokens)


def _blanked(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n")


def _normal(match: re.Match[str], kept: frozenset[str]) -> str:
    """The normal form of a token; "" if it is left out. ``kept`` are the words that stay as they are."""
    kind, text = match.lastgroup, match[0]
    if kind == "built":
        return "".join(text.split())
    if kind == "name":
        if text in _LEFT_OUT:
            return ""
        return "int" if text in _INTEGERS else text if text in kept or text.startswith("__") else "v"
    return {"number": "0", "string": "s"}.get(kind or "", text)


_INSTRUCTION = re.compile(r"^(?:\{[ \t]*)?(@!?%\w+[ \t]+)?([a-z][\w.:]*)([^;\n]*);", re.MULTILINE)
_LOC = re.compile(r"^\.loc[ \t]+(\d+)[ \t]+(\d+)")
_FILE = re.compile(r'^[ \t]*\.file[ \t]+(\d+)[ \t]+"([^"]*)"', re.MULTILINE)
_OPERAND = re.compile(r"%(?:tid|ntid|ctaid|nctaid|laneid|warpid)[\w.]*|%[a-z]+\d+|%?[A-Za-z_$][\w$]*|[-+]?\d[\w.]*")


def ptx_tokens(ptx: str, name: str) -> tuple[Token, ...]:
    """The instructions of PTX: opcode and kinds of operands. Lines are those of the file ``name``."""
    own = {number for number, path in _FILE.findall(ptx) if path.rsplit("/", 1)[-1] == name}
    tokens, line = list[Token](), 0
    for text in ptx.split("\n"):
        text = text.strip()
        if loc := _LOC.match(text):
            line = int(loc[2]) if loc[1] in own else line
        elif instruction := _INSTRUCTION.match(text):
            guard, opcode, operands = instruction.groups()
            kinds = ",".join(_operand(operand) for operand in _OPERAND.findall(operands))
            tokens.append(Token(f"{'@' if guard else ''}{opcode} {kinds}", line))
        if len(tokens) == MOST_TOKENS:
            break
    return tuple(tokens)


def _operand(text: str) -> str:
    if text.startswith("%"):
        return text.rstrip("0123456789")  # a special register, or the class of a register
    return "0" if text[0] in "+-0123456789" else "m"


# ------------------------------------------------------------------------------------------------------- fingerprints


def grams(tokens: Sequence[Token], size: int) -> list[int]:
    """The hash of every run of ``size`` tokens, in order."""
    words = [token.text for token in tokens]
    runs = ("\0".join(words[at : at + size]) for at in range(len(words) - size + 1))
    return [int.from_bytes(blake2b(run.encode(), digest_size=8).digest(), "big") for run in runs]


def fingerprints(tokens: Sequence[Token], kind: Kind, given: frozenset[int] = frozenset()) -> frozenset[int]:
    """Winnowing: of each window of k-grams that were not handed out the least hash."""
    own = [gram for gram in grams(tokens, kind.gram) if gram not in given]
    windows = range(max(1, len(own) - kind.window + 1)) if own else range(0)
    return frozenset(min(own[at : at + kind.window]) for at in windows)


def handed_out(texts: Iterable[Sequence[Token]], kind: Kind) -> frozenset[int]:
    """All k-grams of what every student has."""
    return frozenset(gram for tokens in texts for gram in grams(tokens, kind.gram))


# -------------------------------------------------------------------------------------------------------------- pairs


@dataclass(frozen=True)
class Compared:
    """The similar pairs of one exercise, the closest first, and the keys of submissions that are too small."""

    pairs: tuple[SimilarPair, ...]
    too_small: tuple[str, ...]


def compared(exercise: str, works: Sequence[Work], given: frozenset[int], kind: Kind) -> Compared:
    """Compare every two submissions of different students; of two students' pairs the closest is kept."""
    prints = {work.key: fingerprints(work.tokens, kind, given) for work in works}
    close: dict[frozenset[str], tuple[float, Work, Work]] = {}
    for a, b, part, shared in scores(works, prints):
        both = frozenset((a.student, b.student))
        if part >= kind.least and shared >= kind.evidence and (both not in close or part > close[both][0]):
            close[both] = part, a, b
    pairs: list[SimilarPair] = []
    for part, a, b in sorted(close.values(), key=lambda one: -one[0]):
        lines = shared_lines(a.tokens, b.tokens, given, kind) if len(pairs) < WITH_LINES else ()
        pairs.append(SimilarPair(exercise, a.key, b.key, round(part, 4), lines, kind.name))
    return Compared(tuple(pairs), tuple(work.key for work in works if len(prints[work.key]) < LEAST))


def scores(works: Sequence[Work], prints: Mapping[str, frozenset[int]]) -> Iterator[tuple[Work, Work, float, float]]:
    """Of every two students' works that are large enough: the part of the smaller that both have, and its weight."""
    large = [work for work in works if len(prints[work.key]) >= LEAST]
    weights = weights_of(large, prints)
    totals = {work.key: sum(weights[one] for one in prints[work.key]) for work in large}
    for a, b in combinations(large, 2):
        if a.student != b.student:
            shared = sum(weights[one] for one in prints[a.key] & prints[b.key])
            yield a, b, shared / min(totals[a.key], totals[b.key]), shared


def weights_of(works: Sequence[Work], prints: Mapping[str, frozenset[int]]) -> Mapping[int, float]:
    """The weight of each fingerprint: the fewer students have it, the more."""
    owners = {(work.student, one) for work in works for one in prints[work.key]}
    count = len({work.student for work in works}) + PRIOR
    return {one: log(count / students) for one, students in Counter(one for _, one in owners).items()}


def closest(pairs: Iterable[SimilarPair], student_of: Mapping[str, str]) -> tuple[SimilarPair, ...]:
    """Of all pairs of the same two students in the same exercise the closest; the closest of all first."""
    best: dict[tuple[str, frozenset[str]], SimilarPair] = {}
    for pair in pairs:
        at = (pair.exercise, frozenset((student_of[pair.first], student_of[pair.second])))
        if at not in best or _rank(pair) > _rank(best[at]):
            best[at] = pair
    return tuple(sorted(best.values(), key=lambda pair: (pair.exercise, -pair.similarity, pair.first, pair.second)))


def _rank(pair: SimilarPair) -> tuple[float, bool]:
    return pair.similarity, pair.by == "tokens"  # whose lines are more exact


# ------------------------------------------------------------------------------------------------------- shared lines


def shared_lines(a: Sequence[Token], b: Sequence[Token], given: frozenset[int], kind: Kind) -> tuple[SharedLines, ...]:
    """The lines of the runs of tokens that both have and nobody was given, the longest runs first; in a's order."""
    runs = sorted(_runs(grams(a, kind.gram), grams(b, kind.gram), given), key=lambda run: (-run[2], run))
    taken_a, taken_b = bytearray(len(a)), bytearray(len(b))
    found: list[SharedLines] = []
    for at, to, count in runs:
        length = count + kind.gram - 1
        if any(taken_a[at : at + length]) or any(taken_b[to : to + length]):
            continue
        taken_a[at : at + length] = taken_b[to : to + length] = b"\1" * length
        lines = (_lines(a[at : at + length]), _lines(b[to : to + length]))
        if all(lines[0]) and all(lines[1]):
            found.append(SharedLines(*lines))
    return _merged(sorted(found, key=lambda one: (one.first, one.second)))


def _runs(a: Sequence[int], b: Sequence[int], given: frozenset[int]) -> Iterator[tuple[int, int, int]]:
    """Runs of equal k-grams: where they begin in both, and how many they are."""
    places: dict[int, list[int]] = defaultdict(list)
    for to, gram in enumerate(b):
        if gram not in given and len(places[gram]) < MOST_PLACES:
            places[gram].append(to)
    ending: dict[int, int] = {}  # by the place in b: how many equal k-grams end there and at the last one of a
    for at, gram in enumerate([*a, -1]):
        now = {to: ending.get(to - 1, 0) + 1 for to in places.get(gram, ())}
        for to, count in ending.items():
            if to + 1 not in now:
                yield at - count, to - count + 1, count
        ending = now


def _lines(tokens: Sequence[Token]) -> tuple[int, int]:
    known = [token.line for token in tokens if token.line]
    return (min(known, default=0), max(known, default=0))


def _merged(found: Sequence[SharedLines]) -> tuple[SharedLines, ...]:
    """Runs that touch or overlap in both files, as one."""
    out: list[SharedLines] = []
    for one in found:
        last = out[-1] if out else None
        if last and all(
            before[0] <= now[0] <= before[1] + 1 for before, now in ((last.first, one.first), (last.second, one.second))
        ):
            out[-1] = SharedLines(
                (last.first[0], max(last.first[1], one.first[1])), (last.second[0], max(last.second[1], one.second[1]))
            )
        else:
            out.append(one)
    return tuple(out)
