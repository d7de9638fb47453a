from __future__ import annotations

import pytest
from samples import COUNTED, WASTEFUL, verdict

from grader.dev.claims import claim_problems

VERDICTS = {
    "stub": verdict("wrong"),
    "solution": verdict("pass", launch=COUNTED),
    "wrong/strided.cu": verdict("technique", launch=WASTEFUL),
}


def problems(one, *claims: str) -> list[str]:
    one.statement.write_text("# scale\n\n" + "\n".join(f"Text. <!-- {claim} -->" for claim in claims))
    return [str(problem) for problem in claim_problems(one, VERDICTS)]


@pytest.mark.parametrize(
    "claim",
    ["claim: solution sectors = 1024", "claim: solution sectors per n = 1/4", "claim: solution launches = 1",
     "claim: wrong/strided.cu sectors per cdiv(n, 32) >= 64", "claim: wrong/strided.cu sector_efficiency <= 0.125",
     "claim: solution sectors per\n  n = 0.25", "nothing is claimed"],
)  # fmt: skip
def test_a_claim_that_holds_is_no_problem(scale, claim):
    assert problems(scale, claim) == []


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("claim: solution sectors = 1000", "it is 1024"),
        ("claim: solution sectors per n >= 0.26", "it is 0.25"),
        ("claim: wrong/strided.cu sector_efficiency <= 0.12", "it is 0.125"),
        ("claim: wrong/copy.cu sectors = 1", "there is no wrong/copy.cu"),
        ("claim: stub sectors = 1", "it is wrong, so nothing was counted"),
        ("claim: solution sectors per m = 1", "m"),
        ("claim: solution electrons = 1", "electrons"),
        ("claim: solution sectors = many", "'many' is no number"),
        ("claim: solution is good", "not a claim that can be read"),
    ],
)
def test_a_claim_that_does_not_hold_is_a_problem_that_says_what_is_so(scale, claim, words):
    (found,) = problems(scale, claim)
    assert found.startswith("README.md: ")
    assert words in found


def test_every_claim_is_looked_at(scale):
    assert len(problems(scale, "claim: solution sectors = 1", "claim: solution sectors = 1024", "claim: x")) == 2
