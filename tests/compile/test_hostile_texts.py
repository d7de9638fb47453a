"""Whatever reads a submission's text outside a child takes time in proportion to it.

Only the parsing child may take longer: its limits end it. tests/cli/test_deadline.py is about readers that hang all the
same.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from grader.compile.inspect import inspect_ptx
from grader.compile.log import read_log
from grader.compile.nvrtc import LOG_BYTES
from grader.compile.ptxas import read_resources
from grader.compile.source import checked_source
from grader.errors import SubmissionError, UsageError
from grader.grading.hints import rules
from grader.grading.source_view import LONGEST, UNREAD, SourceView, parsed
from grader.launch import parse_launches
from grader.launch.source import parameter_names
from grader.process.kept import children_kept
from grader.render.source import excerpt, listing
from grader.tune.settings import Setting, places_of

SIZE = 32 << 10
CPU_S = 2.0
"""Far more than a linear reader needs for SIZE (0.1 s at most), far less than a quadratic one."""

FRAGMENTS = (
    "asm(", 'asm("', 'asm("}") ', "asm volatile ", "/*", "*/", "//", "// ", "// launch ", "// launch k(a): grid=",
    "// launch k(\n", "//launc a=\n", 'R"(', 'R"x(', '"', "'", '""', '"inline asm" ', "\\", "\\\n", "(", "()", "[", "]",
    "[]", "{", "}", "{}", "extern{", "namespace a{", 'extern "C" {', "<", "<<<", "T<(a)", "#define", "#define A 1\n",
    "#if 0\n", "#ifdef a\n", "#else\n", "#elif 1\n", "#if ", "#if !defined ( ", "#if 0\n#endif\n", "#if a || b && ",
    "#include <", "#include <vector>\n", "#line ", "%:", "__global__ ", "__global__ k(", "template __global__ k(",
    "template ", "k(", "k (", "__syncthreads(", "__syncthreads;\n", "return;\n", "const ", "const int a=",
    "const float *a", "int main(", "cudaA(", "std::", "for(;;)\n", " ", "\t", "\n", ";", "a", "1", "1.", "a[",
    "x[i] ? ", "if (", "cp.async.wait_group ", "__pipeline_wait_prior(", "=", ",", "float a, ", "at line 1 of ",
    "error: ", "x.cu(1): ", " ^", 'cannot open source file "', "9" * 5000, f"k.cu({'9' * 5000}): error: a\n",
    f"#define A {'9' * 5000}\n",
)  # fmt: skip

NUMBERED = {
    "definitions": "#define a{} 1\n",
    "definitions without a value": "#define a{} b{}\n",
    "kernels": "__global__ void k{}(int a){{}}\n",
    "templates": "template <int> __global__ void k{}(int a);\n",
    "nested": "k{}(",
}
"""Texts in which every piece has a name of its own."""

TEXTS = {
    **{repr(piece): piece * (SIZE // len(piece)) for piece in FRAGMENTS},
    **{
        name: "".join(piece.replace("{}", str(i)) for i in range(SIZE // len(piece)))
        for name, piece in NUMBERED.items()
    },
    "loops in loops": "".join(" " * i + "for(;;)\n" for i in range(250)) + (" " * 251 + ";\n") * 100 + ";\n",
    "blocks, then launches": ";{}" * (SIZE // 4) + "\n<<<" * 250,
    "statements, then asm": ";" * (SIZE // 2) + "asm(" * (SIZE // 8),
}

PTX_FRAGMENTS = (
    ".visible .entry k(", ".entry k()\n{\n}\n", ".func ", ".extern .func (.param .b32 r) vprintf (", ".visible ",
    ".global .align 4 .b8 a[", ".global .b8 a[4];", ".param .b64 p,", ".shared .b8 x[", ".const .b8 c[", "= {1,", "[9]",
    "// ", "// begin inline asm\n", "// begin inline asm\n// end inline asm\n", "{", "}", ";", "ret;\n", '"', "_Z1av",
    '.file 1 "a"\n', ".loc 1 1 1\n", ".weak ", "call.uni (a), f, (b);\n", "@%p bra L;\n", ".section .debug {",
    ".align 4 ", ".attribute(", "k ", f".global .b8 a[{'9' * 5000}];", f".shared .align 4 .b8 x[{'8' * 4400}];\n",
    f".param .align 8 .b8 p[{'7' * 5000}],", f".const .b32 c[{'9' * 5000}];\n", f"_Z{'9' * 5000}",
    "ptxas info    : Compiling entry function 'k' for 'sm_80'\n", "ptxas info    : Used 1 registers",
    f"Used {'9' * 4000} registers", "0 bytes spill stores, ", f"[{'9' * 18}]",
)  # fmt: skip
PTX_TEXTS = {
    **{repr(piece): piece * (SIZE // len(piece)) for piece in PTX_FRAGMENTS},
    "an array of many dimensions": f".global .b8 a{'[9]' * (SIZE // 3)};",
    "an array in a kernel of many dimensions": f".visible .entry k()\n{{\n.shared .b8 a{'[9]' * (SIZE // 3)};\n}}",
}

NAMES = [f"k{i}" for i in range(100)]
ASSIGNED = "a[1] = b[2] = c[3] = d[4] = 1;\n"
ERROR = "k.cu(1): error: expression must be a modifiable lvalue\n  a[1] = b[2] = c[3] = d[4] = 1;\n    ^\n"


def inspected(text: str) -> None:
    """PTX whose hundred kernels have C++ names."""
    kernels = "".join(f".visible .entry _Z{len(name)}{name}v()\n{{\nret;\n}}\n" for name in NAMES)
    inspect_ptx(f".version 8.0\n.target sm_80\n{kernels}", "k.cu", text)


HEADER = ".version 8.0\n.target sm_80\n"


def ptx(text: str) -> None:
    """As a whole, beside a kernel, in its body, and as its parameters."""
    kernel = ".visible .entry k({})\n{{\n{}\n}}\n"
    for whole in (text, kernel.format("", "ret;") + text, kernel.format("", text), kernel.format(text, "ret;")):
        with contextlib.suppress(SubmissionError):
            inspect_ptx(HEADER + whole, "k.cu", "k")


def look(text: str) -> None:
    """Every rule of advice, about its example's finding at the last line of the text."""
    last = text.count("\n") + 1
    source = SourceView(text)
    for rule in rules():
        found = rule.example
        places = tuple(replace(place, line=last if at else min(251, last)) for at, place in enumerate(found.places))
        rule.speaks(replace(found, line=last, places=places), replace(rule.seen, source=source))


READERS: dict[str, Callable[[str], object]] = {
    "what may be compiled": lambda text: checked_source(text.encode(), "k.cu"),
    "host code": lambda text: checked_source(f"{text}\n<<<".encode(), "k.cu"),
    "kernels without extern C": inspected,
    "the compiler's log": lambda text: read_log(f"k.cu(1): error: {text}\n  {text}\n  ^\n{text}", "k.cu", text),
    "advice on errors": lambda text: read_log(ERROR * (LOG_BYTES // len(ERROR)), "k.cu", f"{ASSIGNED}{text}"),
    "launch lines": lambda text: parse_launches(text, file="k.cu"),
    "names of parameters": lambda text: [parameter_names(text, name) for name in ("k", *NAMES)],
    "constants to tune": lambda text: places_of(text, "k.cu", (Setting("missing", (1,)),)),
    "hints": look,
    "excerpt": lambda text: excerpt(text, {1: "here", 2: "there"}, caret=(1, 5), names=("a", "k")),
    "page": lambda text: listing(text, (), {1: "here"}),
}


LARGE = 512 << 10
COSTLY = {
    "advice on errors": "const " * (LARGE // 6),
    "constants to tune": "".join(f"#define a{i} 1\n" for i in range(LARGE // 16)),
    "host code": ";{}" * (LARGE // 3) + "\n<<<\nstd::cout\nint main(\ncudaA(\n" * 200,
    "launch lines": "".join(f"#define {'a' * 20}{i} 1\n" for i in range(500))
    + "".join(f"#define b{i} {'a' * 20}x{i}\n" for i in range(500)),
}  # fmt: skip
"""Texts that cost a reader much for each of a limited number of its steps."""


class TooSlow(Exception):
    """Raised when a reader has used its CPU time up."""


@contextlib.contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """End what runs inside after so much CPU time of this process, however busy the machine is."""

    def end(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@pytest.mark.parametrize("reader", READERS)
def test_hostile_text_is_read_in_time_in_proportion_to_its_length(reader: str) -> None:
    slow = []
    with children_kept():  # starting a parsing child for each text would take longer than reading all of them
        for name, text in TEXTS.items():
            try:
                with cpu_limit(CPU_S), contextlib.suppress(SubmissionError, UsageError):
                    READERS[reader](text)
            except TooSlow:
                slow.append(name)
    assert not slow


@pytest.mark.parametrize("read", [ptx, read_resources])
def test_hostile_ptx_and_what_its_assembler_prints_are_read_in_time_in_proportion_to_their_length(
    read: Callable[[str], object],
) -> None:
    slow = []
    for name, text in PTX_TEXTS.items():
        try:
            with cpu_limit(CPU_S):
                read(text)
        except TooSlow:
            slow.append(name)
    assert not slow


@pytest.mark.parametrize("reader", COSTLY)
def test_a_large_text_that_is_made_for_a_reader_is_read_at_once(reader: str) -> None:
    with cpu_limit(2 * CPU_S), contextlib.suppress(SubmissionError, UsageError):
        READERS[reader](COSTLY[reader])


@pytest.mark.parametrize(
    "text",
    [
        "T<(a)" * (48 << 10),  # 7 s and 2 GB in a parser without limits
        "".join(f"for (;;) a[{i}] = 1;\n" for i in range(11 << 10)),
        "x" * (LONGEST + 1),
    ],
)  # fmt: skip
def test_nothing_is_known_of_a_source_that_is_beyond_the_limits_of_the_parsing_child(text: str) -> None:
    assert parsed(text) == UNREAD


def test_each_assembly_statement_is_checked_although_another_one_stands_inside_it() -> None:
    for source in ('asm("ret;" asm(".entry x"));', 'asm("ret;"); F(asm(".entry x"))', 'asm(".entry x" asm('):
        with pytest.raises(SubmissionError, match=r"uses \.entry"):
            checked_source(source.encode(), "k.cu")
