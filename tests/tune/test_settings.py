"""The values that `grade tune` tries, and where they are written: digits in place of digits."""

from __future__ import annotations

import pytest

from grader.errors import UsageError
from grader.launch.source import read_integers, read_source
from grader.tune.settings import (
    MOST,
    Setting,
    changed_lines,
    combinations,
    in_words,
    is_now,
    parse_settings,
    places_of,
    rewritten,
)

FILE = """\
// #define BM 1
/* constexpr int BM = 2; */
#define BM 64 // rows of a tile: BM
  # define BN (128)  /* columns */
constexpr unsigned TM = 8u, TN = 4;
static const int STEP=16;
#define THREADS (BM / TM * BN / TN)
#define TWICE 1
#undef TWICE
#define TWICE 2
// launch k(x): grid=1 block=THREADS
__global__ void k(float* x) { constexpr int INSIDE = 3; x[0] = "BM 64"[0] + BM + INSIDE; }
"""


def places(*names: str, source: str = FILE):
    return places_of(source, "k.cu", [Setting(name, (1,)) for name in names])


def test_settings_are_names_with_values_and_each_value_once():
    assert parse_settings(["BM=64,128", " BN = 32 , 32,64"]) == (Setting("BM", (64, 128)), Setting("BN", (32, 64)))


@pytest.mark.parametrize(
    "text", ["", "BM", "BM=", "=64", "BM=64,", "BM=-1", "BM=6.5", "BM=64;x", "B M=4", "BM=0x10", "BM=٤"]
)
def test_what_names_no_whole_numbers_is_refused_with_an_example(text: str):
    with pytest.raises(UsageError) as error:
        parse_settings([text])
    assert (error.value.code, "--set BM=64,128" in error.value.hint) == ("bad_setting", True)


def test_no_setting_and_a_name_twice_are_refused():
    with pytest.raises(UsageError, match="no values to try"):
        parse_settings([])
    with pytest.raises(UsageError, match="BM is set twice"):
        parse_settings(["BM=1", "BM=2"])


def test_too_many_combinations_are_counted_and_say_what_each_name_has():
    texts = [f"A={','.join(map(str, range(20)))}", f"B={','.join(map(str, range(13)))}"]
    with pytest.raises(UsageError) as error:
        parse_settings(texts)
    assert error.value.message == f"these are 260 combinations; one run has at most {MOST}"
    assert error.value.hint == "drop some values: A has 20, B has 13"


def test_combinations_are_the_product_and_the_last_name_changes_fastest():
    found = combinations(parse_settings(["BM=64,128", "BN=8,16"]))
    assert [in_words(choice) for choice in found] == ["BM=64 BN=8", "BM=64 BN=16", "BM=128 BN=8", "BM=128 BN=16"]


def test_the_values_of_defines_and_constants_are_found_where_they_are():
    found = places("BM", "BN", "TM", "TN", "STEP")
    assert {p.name: (p.value, p.line, FILE[p.start : p.stop]) for p in found.values()} == {
        "BM": (64, 3, "64"), "BN": (128, 4, "128"), "TM": (8, 5, "8"), "TN": (4, 5, "4"), "STEP": (16, 6, "16"),
    }  # fmt: skip


def test_other_values_change_the_digits_and_nothing_else():
    found = places("BM", "BN", "TM", "STEP")
    choice = (("BM", 256), ("BN", 8), ("TM", 8), ("STEP", 1))
    text = rewritten(FILE, found, choice)
    values = read_integers(read_source(text, "k.cu")).values
    assert {name: values[name] for name, _ in choice} == dict(choice)
    assert values["THREADS"] == 256 // 8 * 8 // 4
    assert changed_lines(FILE, found, choice) == (
        (3, "#define BM 256 // rows of a tile: BM"), (4, "  # define BN (8)  /* columns */"),
        (6, "static const int STEP=1;"),
    )  # fmt: skip
    assert rewritten(text, places("BM", "BN", "STEP", source=text), (("BM", 64), ("BN", 128), ("STEP", 16))) == FILE


def test_the_values_of_the_file_are_recognised():
    found = places("BM", "TN")
    assert is_now(found, (("BM", 64), ("TN", 4)))
    assert not is_now(found, (("BM", 64), ("TN", 8)))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("BMM", "k.cu defines no integer BMM; did you mean 'BM'?"),
        ("THREADS", "k.cu defines THREADS in line 7 as '(BM / TM * BN / TN)', which is not a plain integer"),
        ("TWICE", "k.cu defines TWICE more than once, in lines 8 and 10"),
        ("INSIDE", "k.cu defines no integer INSIDE"),
        ("x", "k.cu defines no integer x"),
    ],
)
def test_a_name_that_cannot_be_set_says_why_and_which_can(name: str, words: str):
    with pytest.raises(UsageError) as error:
        places(name)
    assert error.value.message == words
    assert (
        error.value.hint
        == "it has BM = 64 (line 3), BN = 128 (line 4), TM = 8 (line 5), TN = 4 (line 5), STEP = 16 (line 6)"
    )


def test_a_file_without_integers_is_told_what_to_write():
    with pytest.raises(UsageError) as error:
        places("BM", source="__global__ void k() {}\n")
    assert "#define BM 64" in error.value.hint


@pytest.mark.parametrize("value", ["0x40", "064", "64.0f", "-64", "64 + 0", "SIZE", "64 \\\n + 1"])
def test_a_value_that_is_no_plain_number_is_not_set(value: str):
    with pytest.raises(UsageError, match="defines BM in line 1"):
        places("BM", source=f"#define BM {value}\n")


def test_windows_line_ends_stay():
    source = "#define BM 64\r\nconstexpr int BN = 8;\r\n"
    assert rewritten(source, places("BM", "BN", source=source), (("BM", 4), ("BN", 2))) == (
        "#define BM 4\r\nconstexpr int BN = 2;\r\n"
    )
