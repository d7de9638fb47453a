"""Which combination is the fastest, which are as fast, and what is measured when: with a timer made by hand."""

from __future__ import annotations

from collections.abc import Mapping

from grader.tune.build import TunedVariant
from grader.tune.sweep import FIRST_SAMPLES, NOT_MEASURED, RIGHT, ROUND_SAMPLES, ROUNDS, Sampled, Sweep, sweep


def variants(count: int) -> list[TunedVariant]:
    return [TunedVariant((("BM", number),), now=number == 0) for number in range(count)]


class Hand:
    """Times by the variant's number, 1 % apart within a run; ``fails`` and ``later`` give other answers."""

    def __init__(self, seconds: Mapping[int, float], fails: Mapping[int, Sampled] | None = None) -> None:
        self.seconds, self.fails = seconds, fails or {}
        self.asked: list[tuple[str, int, int]] = []
        self.later: dict[int, Sampled] = {}

    def check(self, variant: TunedVariant) -> Sampled:
        number = variant.choice[0][1]
        self.asked.append(("check", number, 0))
        return self.fails.get(number, Sampled())

    def time(self, variant: TunedVariant, samples: int) -> Sampled:
        number = variant.choice[0][1]
        self.asked.append(("time", number, samples))
        if samples != FIRST_SAMPLES and number in self.later:
            return self.later[number]
        middle = self.seconds[number]
        return Sampled(tuple(middle * (1 + 0.01 * (k / samples - 0.5)) for k in range(samples)))


def numbers(results) -> list[int]:
    return [one.choice[0][1] for one in results]


def test_the_best_three_are_timed_again_in_turns():
    hand = Hand({0: 5.0, 1: 1.0, 2: 4.0, 3: 2.0, 4: 3.0})
    found = sweep(variants(5), hand)
    assert numbers(found.ranked) == [1, 3, 4, 2, 0]
    assert [one.final for one in found.ranked] == [True, True, True, False, False]
    again = [(number, samples) for what, number, samples in hand.asked if what == "time"][5:]
    assert again == [(number, ROUND_SAMPLES) for number in (1, 3, 4)] * ROUNDS
    assert found.best is not None
    assert found.best.summary is not None
    assert found.best.summary.samples == ROUNDS * ROUND_SAMPLES


def test_intervals_that_overlap_are_ties_and_others_are_not():
    found = sweep(variants(3), Hand({0: 1.001, 1: 1.0, 2: 1.2}))
    assert numbers(found.ties) == [0]
    assert sweep(variants(2), Hand({0: 1.0, 1: 2.0})).ties == ()


def test_what_cannot_run_or_is_wrong_is_not_timed_and_keeps_its_reason():
    made = variants(3)
    made[0] = TunedVariant(made[0].choice, False, word="compile_error", reason="line 3")
    hand = Hand({2: 1.0}, fails={1: Sampled(word="wrong", reason="at n = 1")})
    found = sweep(made, hand)
    assert [(one.word, one.reason) for one in found.results] == [
        ("compile_error", "line 3"),
        ("wrong", "at n = 1"),
        (RIGHT, ""),
    ]
    assert [what for what in hand.asked if what[1] == 0] == []
    assert ("time", 1, FIRST_SAMPLES) not in hand.asked
    assert numbers(found.ranked) == [2]


def test_a_finalist_that_fails_later_is_no_longer_the_best():
    hand = Hand({0: 1.0, 1: 2.0})
    hand.later[0] = Sampled(word="wrong", reason="in sample 9")
    found = sweep(variants(2), hand)
    assert numbers(found.ranked) == [1]
    assert (found.results[0].word, found.results[0].reason) == ("wrong", "in sample 9")


class OneBadRound(Hand):
    """The first round of variant 0 is far off, on a machine that was not steady."""

    def time(self, variant: TunedVariant, samples: int) -> Sampled:
        rounds = [asked for asked in self.asked if asked == ("time", 0, ROUND_SAMPLES)]
        found = super().time(variant, samples)
        first = variant.choice[0][1] == 0 and samples == ROUND_SAMPLES and not rounds
        return Sampled((9.0,) * samples, steady=False) if first else found


def test_a_round_on_an_unsteady_machine_does_not_count():
    result = sweep(variants(2), OneBadRound({0: 1.0, 1: 1.5})).results[0]
    assert result.summary is not None
    assert result.summary.samples == (ROUNDS - 1) * ROUND_SAMPLES
    assert result.summary.median_s < 1.1


def test_where_no_round_was_steady_all_of_them_count():
    hand = Hand({0: 1.0, 1: 1.5})
    hand.later[0] = Sampled((9.0,) * ROUND_SAMPLES, steady=False)
    result = sweep(variants(2), hand).results[0]
    assert result.summary is not None
    assert (result.summary.median_s, result.summary.samples) == (9.0, ROUNDS * ROUND_SAMPLES)


def test_ctrl_c_leaves_what_was_measured_until_then():
    hand = Hand({0: 1.0, 1: 2.0, 2: 3.0})
    found = sweep(variants(3), hand, stopped=lambda: len(hand.asked) >= 4)
    assert found.interrupted
    assert [one.word for one in found.results] == [RIGHT, RIGHT, NOT_MEASURED]
    assert numbers(found.ranked) == [0, 1]
    assert not any(one.final for one in found.results)


def test_a_single_combination_is_timed_once():
    hand = Hand({0: 1.0})
    found = sweep(variants(1), hand)
    assert hand.asked == [("check", 0, 0), ("time", 0, FIRST_SAMPLES)]
    assert found.best is not None
    assert found.ties == ()


def test_without_a_gpu_nothing_is_the_best():
    found = Sweep((TunedVariant((("BM", 1),), False), TunedVariant((("BM", 2),), False, word="invalid", reason="why")))
    assert [(one.word, one.reason) for one in found.results] == [("", ""), ("invalid", "why")]
    assert (found.best, found.ties) == (None, ())
