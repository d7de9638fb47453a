from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.compile.lexical import assembly, blocks, strings, without_comments, without_directives, without_strings


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        ("a // main()\nb", "a          \nb"),
        ("a /* x\ny */ b", "a     \n     b"),
        ("a // x \\\n main()\nb", "a       \n       \nb"),
        ('a "// x" b', 'a        b'),
        (r'a "\" main()" b', "a             b"),
        ("a '\"' b", "a     b"),
        ("n = 1'000'000; // x", "n = 1'000'000;     "),
        ('a R"(x " // )" b', "a              b"),
        ('a R"q(x )" main() )q" b', "a                     b"),
        ("a /* never closed\nb", "a                \n "),
        ('a "never closed\nb', "a              \nb"),
    ],
)  # fmt: skip
def test_comments_and_strings_become_blanks_of_the_same_shape(source: str, kept: str) -> None:
    assert without_strings(source) == kept


def test_strings_stay_where_only_comments_are_removed() -> None:
    assert without_comments('x = "/* no */"; /* yes */') == 'x = "/* no */";          '


@given(st.text(alphabet="ab\"'/*\\\nR()#{};", max_size=60))
def test_no_view_ever_moves_a_line_or_a_column(source: str) -> None:
    for view in (without_comments(source), without_strings(source)):
        assert [len(line) for line in view.split("\n")] == [len(line) for line in source.split("\n")]
        assert all(a in (b, " ") for a, b in zip(view, source, strict=True))


def test_neighbouring_strings_are_one() -> None:
    assert list(strings('f("in" /* c */ "line",\n  "asm" // d\n  "x");\n"y"')) == [
        (1, "inline"), (2, "asmx"), (4, "y"),
    ]  # fmt: skip


def test_escapes_in_strings_are_read() -> None:
    assert list(strings(r'"\x2e" "entry \056func \"q\" \n"')) == [(1, '.entry .func "q" \n')]


def test_assembly_is_found_with_its_line() -> None:
    source = '\n  asm volatile("add.s32 %0, %0, 1;" "\\n" : "+r"(x));\n__asm__("ret;");\n// asm("no")\n"asm(no)"'
    assert [(line, text.split("\n")[0], whole) for line, text, whole in assembly(source)] == [
        (2, "add.s32 %0, %0, 1;", True), (3, "ret;", True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "source", ['asm("{" REST : "=r"(x));', 'asm(\n#if A\n"{"\n#else\n"{ {"\n#endif\n"}");', "asm(F(a));"]
)
def test_assembly_that_macros_or_conditions_make_is_not_whole(source: str) -> None:
    assert [whole for _, _, whole in assembly(source)] == [False]


def test_top_level_blocks_know_their_lines_through_namespaces_and_extern_c() -> None:
    source = (
        'extern "C" {\nvoid f(int a)\n{\n  if (a) { }\n}\n}\nnamespace n {\nint main() { }\n}\nint x;\nstruct s { };\n'
    )
    assert [(b.first_line, b.last_line, b.head) for b in blocks(without_directives(source))[0]] == [
        (2, 5, "void f(int a)"), (8, 8, "int main()"), (11, 11, "struct s"),
    ]  # fmt: skip


@given(st.text(alphabet='{};n"\n #', max_size=60))
def test_blocks_of_any_text_are_found_without_trouble(source: str) -> None:
    for block in blocks(without_directives(source))[0]:
        assert 1 <= block.first_line <= block.last_line
