"""Ways in which a copied kernel is changed so that it looks like another one; each keeps what the kernel does.

    CHANGES["renamed"](source, random) -> source

Text in, text out: regular expressions that know the style of this course's files, no parser. `scripts/similar_trial.py`
compiles each result, and leaves out those that do not compile.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

Change = Callable[[str, Random], str]

_TYPES = r"(?:int|unsigned|float|double|half|__half|half2|float4|float2|uint4|size_t|long long|bool|auto)"
_DECLARED = re.compile(rf"\b{_TYPES}\s*[*&]?\s*(?:__restrict__\s+)?([A-Za-z_]\w*)\s*(?=[=;,\[)(:])")
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)|\bconstexpr int (\w+)", re.MULTILINE)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_LEFT = ("threadIdx", "blockIdx", "blockDim", "gridDim", "x", "y", "z", "w")
_WORDS = ("base", "chunk", "data", "elem", "first", "hold", "lim", "mine", "own", "pos", "res", "spot", "temp", "upto")


def _code(source: str, change: Callable[[str], str]) -> str:
    """Change what is neither a comment nor a directive, line by line of the rest; those lines stay."""
    parts = re.split(r"(^[ \t]*#(?:\\\n|[^\n])*\n|//[^\n]*\n|/\*.*?\*/)", source, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if at % 2 else change(part) for at, part in enumerate(parts))


def uncommented(source: str) -> str:
    """Without comments, but for launch lines and their like above the first kernel."""
    lines = source.splitlines()
    kept = [line for line in lines if re.match(r"// (?:launch|scratch|passes|zero|constant)\b", line)]
    return "\n".join([*kept, _COMMENT.sub("", source)]) + "\n"


def renamed(source: str, random: Random) -> str:
    """Every variable, parameter, helper and constant has another name; launch lines name arrays, which stay."""
    names = {name for match in _DECLARED.finditer(_COMMENT.sub("", source)) for name in match.groups()}
    constants = {name for match in _MACRO.finditer(source) for name in match.groups() if name}
    members = set(re.findall(r"(?:\.|->)\s*([A-Za-z_]\w*)", source))
    kernels = set(re.findall(r"__global__\s+void\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?(\w+)", source))
    lines = source.splitlines()
    for name in sorted((names | constants) - {*_LEFT, "operator"} - members - kernels):
        new = f"{random.choice(_WORDS)}{random.choice(_WORDS).title()}{random.randrange(10)}"
        word = re.compile(rf"(?<![.\w\"]){name}\b(?!\"|\s*::)")
        lines = [word.sub(new, line) if name in constants or line[:2] != "//" else line for line in lines]
    return "\n".join(lines) + "\n"


def reformatted(source: str, random: Random) -> str:
    """Another layout: each statement on a line or all on few, other braces, no comments."""
    few = random.random() < 0.5

    def change(text: str) -> str:
        text = " ".join(text.split())
        text = re.sub(r"\s*([=+*<>])\s*(?![=+<>])", r"\1", text) if few else text
        text = re.sub(r";\s*", "; " if few else ";\n\t", text)
        return re.sub(r"\s*\{\s*", " {\n" if few else "\n{\n\t", re.sub(r"\s*\}\s*", "\n}\n", text)) + "\n"

    return _code(uncommented(source), change)


def commented(source: str, random: Random) -> str:
    """Other comments."""

    def change(text: str) -> str:
        return re.sub(r";\n", lambda _: f";  // {' '.join(random.choices(_WORDS, k=4))}\n", text)

    return _code(uncommented(source), change)


def reordered(source: str, random: Random) -> str:
    """Neighbouring declarations that do not need each other have changed places."""
    simple = re.compile(rf"^[ \t]*(?:const )?{_TYPES} \**(\w+)(?:\[\w+\])? = ([^;{{}}]*);[ \t]*$")
    lines = [line for line in uncommented(source).splitlines() if line.strip()]
    for at in range(len(lines) - 1):
        a, b = simple.match(lines[at]), simple.match(lines[at + 1])
        if a and b and not re.search(rf"\b{a[1]}\b", b[2]) and not re.search(rf"\b{b[1]}\b", a[2]):
            lines[at : at + 2] = [lines[at + 1], lines[at]]
    return "\n".join(_swapped_stores(lines)) + "\n"


def _swapped_stores(lines: list[str]) -> list[str]:
    """Neighbouring assignments to elements of arrays have changed places, if neither reads what the other writes."""
    store = re.compile(r"^[ \t]*(\w+)(\[[^=;]*\]) = ([^;]*);[ \t]*$")
    for at in range(0, len(lines) - 1, 2):
        a, b = store.match(lines[at]), store.match(lines[at + 1])
        if a and b and a[1] not in b[3] and b[1] not in a[3] and (a[1], a[2]) != (b[1], b[2]):
            lines[at : at + 2] = [lines[at + 1], lines[at]]
    return lines


def other_loops(source: str, random: Random) -> str:
    """Every `for` is a `while`, and the other way round where it is easy; no unrolling."""
    text = re.sub(r"^[ \t]*#pragma unroll[^\n]*\n", "", uncommented(source), flags=re.MULTILINE)
    at = 0
    while (match := re.compile(r"\bfor \(").search(text, at)) is not None:
        head_end = _closing(text, match.end() - 1)
        head = _split(text[match.end() : head_end])
        begin = head_end + 1
        end = _statement_end(text, begin)
        body = text[begin:end]
        at = match.start() + 1
        if len(head) != 3 or re.search(r"\bcontinue\b", body):
            continue
        start, condition, step = (part.strip() for part in head)
        loop = f"{{ {start}; while ({condition or 'true'}) {{ {body.strip()} {step}; }} }}"
        text = text[: match.start()] + loop + text[end:]
    return text


def _closing(text: str, at: int) -> int:
    """The place of the bracket that closes the one at ``at``."""
    depth = 0
    for place in range(at, len(text)):
        depth += (text[place] in "([{") - (text[place] in ")]}")
        if not depth:
            return place
    return len(text)


def _split(head: str) -> list[str]:
    parts, depth = [""], 0
    for character in head:
        depth += (character in "([{") - (character in ")]}")
        if character == ";" and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _statement_end(text: str, at: int) -> int:
    """The place after the statement that begins at ``at``."""
    rest = re.compile(r"\s*").match(text, at)
    at = rest.end() if rest else at
    if text[at] == "{":
        return _closing(text, at) + 1
    if head := re.compile(r"(?:for|while|if) \(").match(text, at):
        end = _statement_end(text, _closing(text, head.end() - 1) + 1)
        other = re.compile(r"\s*else\b").match(text, end)
        return _statement_end(text, other.end()) if other else end
    place = at
    while place < len(text) and text[place] != ";":
        place = _closing(text, place) + 1 if text[place] in "([{" else place + 1
    return place + 1


_ARITHMETIC = (
    (re.compile(r"(?<![.\w])(\w+) / 2\b(?!\.)"), r"(\1 >> 1)"),
    (re.compile(r"(?<![.\w])(\w+) % 32\b"), r"(\1 & 31)"),
    (re.compile(r"(?<![.\w])(\w+) / 32\b"), r"(\1 >> 5)"),
    (re.compile(r"\+\+(\w+)"), r"\1 += 1"),
    (re.compile(r"(\w+) /= 2\b"), r"\1 >>= 1"),
    (re.compile(r"^([ \t]*)(\w+) \+= ([^;,{}]+);", re.MULTILINE), r"\1\2 = \2 + (\3);"),
    (re.compile(r"blockIdx\.x \* blockDim\.x \+ threadIdx\.x"), "threadIdx.x + blockDim.x * blockIdx.x"),
    (re.compile(r"if \((\w+) < (\w+)\)"), r"if (\2 > \1)"),
)


def other_arithmetic(source: str, random: Random) -> str:
    """Shifts for divisions, `a = a + b` for `a += b`, comparisons turned round, sums the other way round."""

    def change(text: str) -> str:
        for pattern, new in _ARITHMETIC:
            text = pattern.sub(new, text)
        return text

    return _code(uncommented(source), change)


def with_macros(source: str, random: Random) -> str:
    """Macros for thread numbers and for elements of arrays."""
    text = re.sub(r"\bthreadIdx\.x\b", "TID", uncommented(source))
    text = re.sub(r"\bblockIdx\.x\b", "BID", text)
    body = text.find("{", text.find("__global__"))
    used = re.sub(r"(?<![\w.\])] )(?<![\w.])([a-z]\w*)\[([^][{};]+)\](?!\[)", _element(text), text[body:])
    defines = "#define TID (threadIdx.x)\n#define BID (blockIdx.x)\n#define AT(array, at) ((array)[(at)])\n"
    first = re.search(r"^(?!//|#|\s*$)", text, re.MULTILINE)
    place = first.start() if first else 0
    return text[:place] + defines + text[place:body] + used


def _element(text: str) -> Callable[[re.Match[str]], str]:
    def change(match: re.Match[str]) -> str:
        declared = re.search(rf"{_TYPES} {match[1]}\[", text)
        return (
            match[0]
            if declared and text[match.start() - 8 :].lstrip().startswith(declared[0])
            else (
                match[0]
                if re.search(rf"{_TYPES}\s+$", match.string[: match.start()])
                else f"AT({match[1]}, {match[2]})"
            )
        )

    return change


def padded(source: str, random: Random) -> str:
    """Statements without an effect between the others."""
    lines: list[str] = []
    for line in uncommented(source).splitlines():
        lines.append(line)
        if (
            re.match(r"^    (?:(?:int|float|size_t) .*;)$", line)
            and not re.match(r"^\s*(?:return|struct)", line)
            and random.random() < 0.4
        ):
            name = f"spare{len(lines)}"
            lines.append(
                random.choice(
                    (f"    int {name} = {len(lines)}; {name} += 1;", f"    float {name} = 0.5f * {len(lines)};")
                )
            )
    return "\n".join(lines) + "\n"


def everything(source: str, random: Random) -> str:
    """Renamed, with other loops, arithmetic and macros, reordered and reformatted."""
    for change in (other_loops, other_arithmetic, with_macros, reordered, renamed, reformatted):
        source = change(source, random)
    return source


CHANGES: dict[str, Change] = {
    "renamed": renamed, "reformatted": reformatted, "other comments": commented, "reordered": reordered,
    "other loops": other_loops, "other arithmetic": other_arithmetic, "macros": with_macros, "padded": padded,
    "everything": everything,
}  # fmt: skip
