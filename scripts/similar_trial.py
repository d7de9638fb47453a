"""How well `grade class similar` finds copies: precision and recall on 300 made pairs.

python scripts/similar_trial.py [--choose] [--output docs/results/similar.md]

A copy is an answer changed as in similar_changes.py, or with a mistake of a wrong/*.diff in it. The other pairs are
answers that were written independently: those in tests/simt/corpus/variants, which all add up an array, and in
similar_answers/. The answers are divided into two halves, so that no answer is in pairs of both: `--choose` tries
numbers on the first half; the page reports the second one.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations, product
from pathlib import Path
from random import Random
from zlib import crc32

from similar_changes import CHANGES

from grader.catalog.exercises import load_catalog
from grader.classroom.similar import (
    LEAST,
    PTX,
    TOKENS,
    Kind,
    Token,
    Work,
    fingerprints,
    handed_out,
    scores,
    source_tokens,
)
from grader.classroom.similar_class import earlier_solutions, handed_out_tokens, ptx_tokens_of
from grader.dev.wrong import wrong_answers
from grader.process.kept import children_kept

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT / "tests/simt/corpus"
SEED = 2026
COPIES, EDITED, OTHERS = 18, 18, 120  # pairs: of each change, of copies with a mistake, of independent answers
SIZES = (("up to 20", 20), ("21 to 60", 60), ("more than 60", 10**9))  # fingerprints of the smaller submission


@dataclass(frozen=True)
class Task:
    """The answers to one exercise, by name, with what everybody was given."""

    name: str
    answers: Mapping[str, str]
    given: Sequence[Sequence[Token]] = field(repr=False)
    given_ptx: Sequence[Sequence[Token]] = field(repr=False)
    target: str = "sm_80"


@dataclass(frozen=True)
class Pair:
    """Two answers to a task; ``made`` says how the second was made: a change, ``edited``, or ``independent``."""

    task: str
    first: str
    second: str  # a name among the answers, if independent
    text: str
    made: str
    half: int

    @property
    def is_copy(self) -> bool:
        return self.made != "independent"


@dataclass(frozen=True)
class Score:
    """How close a pair is, for both kinds: part and evidence, and the fingerprints of the smaller one."""

    tokens: tuple[float, float]
    ptx: tuple[float, float]
    size: int

    def found(self, tokens: Kind = TOKENS, ptx: Kind = PTX) -> str:
        """By which kind the pair is found; "" if it is not."""
        for kind, (part, evidence) in ((tokens, self.tokens), (ptx, self.ptx)):
            if part >= kind.least and evidence >= kind.evidence:
                return kind.name
        return ""


# -------------------------------------------------------------------------------------------------------- the pairs


def tasks() -> dict[str, Task]:
    """The course's exercises with a solution, and the task of the corpus."""
    catalog = load_catalog()
    made = {}
    for entry in catalog.exercises:
        if entry.solution is None or entry.exercise.host or entry.exercise.requires != "sm_70":
            continue
        answers = {"solution": entry.solution.read_text()}
        answers |= {
            path.stem: path.read_text()
            for path in sorted(Path(__file__).parent.glob(f"similar_answers/{entry.name}/*.cu"))
        }
        files = [entry.stub.read_text(), *earlier_solutions(catalog, entry)]
        made[entry.name] = Task(
            entry.name,
            answers,
            handed_out_tokens(catalog, entry),
            [ptx_tokens_of(text, "sm_80", entry.header_texts) for text in files],
        )
    stub = (CORPUS / "stubs/reduce_v3.cu").read_text()
    answers = {path.stem: path.read_text() for path in sorted(CORPUS.glob("variants/*.cu"))}
    made["corpus"] = Task("corpus", answers, [source_tokens(stub)], [ptx_tokens_of(stub, "sm_80", {})])
    return made


def pairs(made: Mapping[str, Task]) -> list[Pair]:
    """The 300 pairs; fixed seeds."""
    random = Random(SEED)
    return [*_copies(made, random), *_edited(random), *_independent(made, random)]


def _half(task: str, answer: str) -> int:
    return crc32(f"{task}/{answer}".encode()) % 2


def _copies(made: Mapping[str, Task], random: Random) -> Iterator[Pair]:
    originals = [(task, name) for task in made.values() for name in task.answers]
    for change, function in CHANGES.items():
        random.shuffle(originals)
        count = 0
        for task, name in originals:
            text = function(task.answers[name], Random(f"{SEED}/{task.name}/{name}/{change}"))
            if count < COPIES and _is_changed(change, task.answers[name], text) and _ptx(text):
                count += 1
                yield Pair(task.name, name, "copy", text, change, _half(task.name, name))


def _is_changed(change: str, original: str, text: str) -> bool:
    """Whether a change did something: one of the layout or the names leaves the tokens as they are."""
    words = [[token.text for token in _tokens(one)] for one in (original, text)]
    return text != original and (change in ("renamed", "reformatted", "other comments") or words[0] != words[1])


def _edited(random: Random) -> Iterator[Pair]:
    """Copies of the solution with a mistake in them."""
    catalog = load_catalog()
    found = []
    for entry in catalog.exercises:
        if entry.solution is None or entry.exercise.host or entry.exercise.requires != "sm_70":
            continue
        for answer in wrong_answers(entry)[0]:
            if answer.path.suffix == ".diff" and set(answer.expectation.words.values()) <= {
                "wrong",
                "race",
                "technique",
            }:
                found.append(
                    Pair(
                        entry.name,
                        "solution",
                        "copy",
                        next(iter(answer.texts.values())),
                        "edited",
                        _half(entry.name, "solution"),
                    )
                )
    yield from random.sample(found, EDITED)


def _independent(made: Mapping[str, Task], random: Random) -> Iterator[Pair]:
    """Pairs of independent answers: all of those that were written for it, and some of the corpus."""
    every = [pair for pair in all_independent(made) if pair.half >= 0]
    few = [pair for pair in every if pair.task != "corpus"]
    yield from few
    yield from random.sample([pair for pair in every if pair.task == "corpus"], OTHERS - len(few))


def all_independent(made: Mapping[str, Task]) -> Iterator[Pair]:
    """Every two independent answers to a task; half -1 if they are of different halves."""
    for task in made.values():
        for first, second in combinations(task.answers, 2):
            halves = {_half(task.name, first), _half(task.name, second)}
            half = halves.pop() if len(halves) == 1 else -1
            yield Pair(task.name, first, second, task.answers[second], "independent", half)


# ---------------------------------------------------------------------------------------------------------- scores


def score(pair: Pair, task: Task, tokens: Kind, ptx: Kind) -> Score:
    """Compare the two in a class with all other answers to the task."""
    others = {name: text for name, text in task.answers.items() if name not in (pair.first, pair.second)}
    texts = {pair.first: task.answers[pair.first], pair.second: pair.text} | others
    by_kind = []
    size = 0
    wanted = {pair.first, pair.second}
    for kind, read, given in ((tokens, _tokens, task.given), (ptx, _ptx, task.given_ptx)):
        works = [Work(name, name, read(text)) for name, text in texts.items()]
        without = _given(task.name, kind, given)
        prints = {work.key: _prints(work.tokens, kind, without) for work in works}
        if kind is tokens:
            size = min(len(prints[pair.first]), len(prints[pair.second]))
        close = ((part, shared) for a, b, part, shared in scores(works, prints) if {a.key, b.key} == wanted)
        by_kind.append(next(close, (0.0, 0.0)))
    return Score(by_kind[0], by_kind[1], size)


@cache
def _tokens(text: str) -> tuple[Token, ...]:
    return source_tokens(text)


@cache
def _ptx(text: str) -> tuple[Token, ...]:
    return ptx_tokens_of(text, "sm_80", {})


_GIVEN: dict[tuple[str, Kind], frozenset[int]] = {}


def _given(task: str, kind: Kind, given: Sequence[Sequence[Token]]) -> frozenset[int]:
    if (task, kind) not in _GIVEN:
        _GIVEN[task, kind] = handed_out(given, kind)
    return _GIVEN[task, kind]


@cache
def _prints(tokens: tuple[Token, ...], kind: Kind, given: frozenset[int]) -> frozenset[int]:
    return fingerprints(tokens, kind, given)


# ------------------------------------------------------------------------------------------------------ the numbers


def rates(scored: Iterable[tuple[Pair, Score]], tokens: Kind = TOKENS, ptx: Kind = PTX) -> tuple[float, float]:
    """Precision and recall."""
    found = [(pair.is_copy, bool(one.found(tokens, ptx))) for pair, one in scored]
    right = sum(is_copy and shown for is_copy, shown in found)
    shown, copies = sum(shown for _, shown in found), sum(is_copy for is_copy, _ in found)
    return (right / shown if shown else 1.0), right / copies


def choose(all_pairs: Sequence[Pair], made: Mapping[str, Task]) -> None:
    """Try numbers on the first half, and print the best."""
    copies = [pair for pair in all_pairs if pair.half == 0 and pair.is_copy]
    first = [*copies, *(pair for pair in all_independent(made) if pair.half == 0)]
    results = []
    for gram, window, gram_ptx in product((7, 9, 11), (3, 4), (4, 5, 6)):
        tokens, ptx = replace(TOKENS, gram=gram, window=window), replace(PTX, gram=gram_ptx, window=window)
        scored = [(pair, score(pair, made[pair.task], tokens, ptx)) for pair in first]
        grid = product((0.5, 0.6, 0.65, 0.7, 0.75, 0.8), (9, 12, 16), (0.6, 0.7, 0.75, 0.8, 0.85, 0.9), (9, 12, 16))
        for least, evidence, least_ptx, evidence_ptx in grid:
            kinds = (
                replace(tokens, least=least, evidence=evidence),
                replace(ptx, least=least_ptx, evidence=evidence_ptx),
            )
            results.append((*rates(scored, *kinds), kinds))
    for precision, recall, kinds in sorted(results, key=_worth, reverse=True)[:8]:
        print(f"precision {precision:.3f} recall {recall:.3f}", *kinds)


def _worth(result: tuple[float, float, tuple[Kind, Kind]]) -> tuple[float, ...]:
    """Recall, if nearly all of those that are shown are copies; of equal ones the most careful numbers."""
    precision, recall, (tokens, ptx) = result
    return (precision >= 0.98, recall, precision, tokens.evidence, ptx.evidence, tokens.least, ptx.least)


def page(scored: Sequence[tuple[Pair, Score]], independent: Sequence[tuple[Pair, Score]]) -> str:
    """docs/results/similar.md: the second half."""
    second = [one for one in scored if one[0].half == 1]
    copies = [one for one in second if one[0].is_copy]
    precision, recall = rates(second)
    others = [score for pair, score in independent if pair.half != 0]
    shown = sum(bool(score.found()) for score in others)
    closest = max(others, key=lambda score: max(score.tokens[0], score.ptx[0]))
    by_change = {change: [one for one in copies if one[0].made == change] for change in (*CHANGES, "edited")}
    sizes = {name: [one for one in copies if _size_name(one[1].size) == name] for name, _ in SIZES}
    return PAGE.format(
        pairs=len(scored), first=len(scored) - len(second), second=len(second), copies=len(copies),
        independent=len(second) - len(copies), precision=precision, recall=recall,
        others=len(others), shown=shown, closest_tokens=closest.tokens[0], closest_ptx=closest.ptx[0],
        changes=_rows(by_change), sizes=_rows(sizes), least=LEAST, tokens=TOKENS, ptx=PTX,
        missed="\n".join(_missed(pair, score) for pair, score in copies if not score.found()),
    )  # fmt: skip


def _size_name(size: int) -> str:
    return next(name for name, most in SIZES if size <= most)


def _rows(groups: Mapping[str, Sequence[tuple[Pair, Score]]]) -> str:
    rows = []
    for name, group in groups.items():
        by = Counter(score.found() for _, score in group)
        recall = f"{1 - by[''] / len(group):.2f}" if group else "–"
        rows.append(f"| {name} | {len(group)} | {by['tokens']} | {by['ptx']} | {by['']} | {recall} |")
    return "\n".join(rows)


def _missed(pair: Pair, score: Score) -> str:
    why = f"{score.tokens[0]:.2f} by tokens, {score.ptx[0]:.2f} by PTX"
    if score.size < LEAST and not any(score.ptx):
        why = f"too small: {score.size} fingerprints"
    answer = pair.task if pair.first == "solution" else f"{pair.task}/{pair.first}"
    return f"| `{answer}` | {pair.made} | {why} |"


PAGE = """\
# Similar submissions: what is found

How well `grade class similar` finds copies. `python scripts/similar_trial.py --output docs/results/similar.md` makes
this page.

{pairs} pairs of answers to the same exercise were made with fixed seeds. The copies are solutions of the course,
kernels of `tests/simt/corpus/variants` and answers of `scripts/similar_answers`, each changed in one of ten ways; all
compile. The others are answers that were written independently. The numbers that decide were chosen on the first
half, {first} pairs today; everything below is about the
other {second}, which share no answer with them: {copies} copies, {independent}
independent pairs.

**Precision {precision:.2f}, recall {recall:.2f}**: the share of copies among the pairs that are shown, and the share of
copies that are shown. Each pair is compared in a class with all other answers to the exercise.

Not only the drawn independent pairs were compared: of all {others} that were not used to choose (of some, one answer
was), {shown} are shown. The closest of them shares {closest_tokens:.2f} by tokens and {closest_ptx:.2f} by PTX. A class
of 180 has 16 110 pairs for each exercise, so that a rate of one in a thousand is 16 wrong hints: expect some, and read
both files.

## By kind of change

| change | copies | found by tokens | by PTX alone | missed | recall |
|---|---|---|---|---|---|
{changes}

*edited* is the solution with one of the course's wrong answers edited in; *everything* is the six changes of names,
order, loops, arithmetic, macros and layout at once.

## By size

The size is the number of fingerprints of the smaller answer that are not in what was handed out.

| fingerprints | copies | found by tokens | by PTX alone | missed | recall |
|---|---|---|---|---|---|
{sizes}

## What is missed

| answer | change | closeness |
|---|---|---|
{missed}

- **Short answers.** With fewer than {least} fingerprints left, by tokens and by PTX, a submission is not compared: what
  is left of a stub's ten lines looks alike in everybody's file. The command names these exercises.
- **Answers that are mostly earlier steps.** The solutions of a ladder's earlier steps count as handed out.
- **A long kernel with everything changed**, when other loops also unroll differently: then the PTX differs, too.
- **What is not in the trial**: an answer rewritten by hand from another one, the same idea told by a friend, an answer
  of a language model. No comparison of texts shows these.

## How it decides

| | k-gram | window | shared part at least | shared weight at least |
|---|---|---|---|---|
| tokens | {tokens.gram} | {tokens.window} | {tokens.least} | {tokens.evidence:g} |
| PTX | {ptx.gram} | {ptx.window} | {ptx.least} | {ptx.evidence:g} |

`--choose` tries these on the first half: first no independent pair is to be shown, then as many copies as possible,
then the most careful numbers. They were chosen once, when the course had fewer answers; several combinations are within
two copies of one another. The corpus's answers all add up an array, and many are built on the same tree of
additions. That makes them a hard test of precision, and a narrow one: one task, one author.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--choose", action="store_true", help="try numbers on the first half")
    parser.add_argument("--output", type=Path, help="write the page here")
    options = parser.parse_args()
    with children_kept():
        made = tasks()
        all_pairs = pairs(made)
        if options.choose:
            return choose(all_pairs, made)
        scored = [(pair, score(pair, made[pair.task], TOKENS, PTX)) for pair in all_pairs]
        independent = [(pair, score(pair, made[pair.task], TOKENS, PTX)) for pair in all_independent(made)]
    text = page(scored, independent)
    if options.output:
        options.output.write_text(text)
    return print(text)


if __name__ == "__main__":
    main()
