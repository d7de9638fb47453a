"""What the warps of one block execute, in order, counted on the simulator.

    warps_of(exercise, size)  ─▶  Recorded: for each warp its instructions by kind, and what it has in flight

An observer that no grading has writes down each basic block that a warp of block 0 enters; its instructions follow
from the PTX. One unit is one PTX instruction of one warp. There is no time in it: a load is in flight from its
instruction to the first one that needs its value, an asynchronous copy to the wait for its group.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from math import prod

import numpy as np

from grader.backends.plans import scalar
from grader.catalog.courses import CourseExercise
from grader.compile import Program, compile_source, read_submission
from grader.compile.lexical import without_comments
from grader.exercise import Size
from grader.inputs import element_bytes, element_count
from grader.launch import Launch, LaunchPlan, parse_launches, resolve_launches
from grader.simt.engine.block_emitter import BlockEmitter
from grader.simt.engine.blocks import Graph, Op, build
from grader.simt.engine.code_cache import CodeCache
from grader.simt.engine.device import Device
from grader.simt.engine.flatten import flatten
from grader.simt.engine.layout import WARP, WORKER
from grader.simt.engine.values import I32
from grader.simt.observers import COUNTING
from grader.simt.observers.base import Observer
from grader.simt.ptx import Immediate, parse

ENTERED = struct.Struct("<II")
"""One basic block that a warp enters: the number of the warp, and of the basic block."""
ROOM = 64 << 20
BUDGET = 1 << 40

Span = tuple[int, int]
"""From an instruction of a warp to another one of it."""


@dataclass
class Warp:
    """One warp: ``kinds`` has a letter for each instruction (`kind_of`); what it loads is in flight in ``spans``."""

    kinds: str = ""
    spans: list[Span] = field(default_factory=list)


@dataclass(frozen=True)
class Recorded:
    """The warps of block 0 of the first launch of a solution, at a size."""

    step: str
    size: Size
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    code: str
    warps: Sequence[Warp]


class Entered(Observer):
    """Appends `ENTERED` to the buffer of `printf` when a warp of block 0 enters a basic block."""

    def block(self, e: BlockEmitter, index: int) -> None:
        f, worker = e.f, e.worker
        first = WORKER.load(f, worker, "serial").eq(WORKER.load(f, worker, "serial_base"))
        used = WORKER.load(f, worker, "printed_bytes")
        fits = (used + ENTERED.size).ule(WORKER.load(f, worker, "printed_limit"))
        with f.if_(first & fits):
            row = f.at(WORKER.load(f, worker, "printed"), used)
            f.store(WARP.load(f, e.warp, "index"), row)
            f.store(f.const(I32, index), row, 4)
            WORKER.store(f, worker, "printed_bytes", used + ENTERED.size)


def code_of(one: CourseExercise) -> str:
    """A short hash of the solution without its comments and spaces: other code has other pictures."""
    assert one.solution is not None
    return sha256("".join(without_comments(one.solution.read_text()).split()).encode()).hexdigest()[:16]


def warps_of(one: CourseExercise, size: Size) -> Recorded:
    """Run the first launch of the solution at this size, of zeros, and follow the warps of its block 0."""
    assert one.solution is not None
    submission = read_submission(one.solution)
    program = compile_source(submission, one.solution.name)
    plan = resolve_launches(parse_launches(program.source, file=program.name), one.exercise, size)
    launch = plan.launches[0]
    module = parse(program.ptx, program.name)
    graph = build(flatten(module, module.functions[launch.kernel]))
    COUNTING["entered"] = Entered
    try:
        device = Device(module, cache=CodeCache(program.key), observed=frozenset({"entered"}), printf_bytes=ROOM)
        given = list(_arguments(one, size, plan, launch, program, device))
        launched = device.launch(
            launch.kernel, launch.grid, launch.block, launch.shared_bytes, given, budget_per_block=BUDGET, few=True
        )
    finally:
        del COUNTING["entered"]
    if len(launched.printed) + ENTERED.size > ROOM:
        raise SystemExit(f"{one.name}: a block executes too much for a picture at {size}")
    paths: list[list[Op]] = [[] for _ in range(-(-prod(launch.block) // 32))]
    for warp, index in ENTERED.iter_unpack(launched.printed):
        paths[warp] += graph.blocks[index].ops
    return Recorded(one.name, size, launch.grid, launch.block, code_of(one), [followed(path, graph) for path in paths])


def _arguments(
    one: CourseExercise, size: Size, plan: LaunchPlan, launch: Launch, program: Program, device: Device
) -> Iterator[bytes]:
    """The launch's arguments as bytes; its arrays are of zeros."""
    sizes = {array.name: element_count(array, size) * element_bytes(array) for array in one.exercise.arrays}
    sizes |= {scratch.name: scratch.count * np.dtype(scratch.dtype).itemsize for scratch in plan.scratch}
    places = {name: device.allocate(name, np.zeros(max(1, count), np.uint8)) for name, count in sizes.items()}
    entry = program.entry(launch.kernel)
    assert entry is not None
    for value, parameter in zip(launch.args, entry.parameters, strict=True):
        yield places[value].to_bytes(8, "little") if isinstance(value, str) else scalar(value, parameter).tobytes()


# ------------------------------------------------------------------------------------------------------ what they mean

KINDS: Mapping[str, str] = {
    "l": "starts a load from global memory", "s": "stores to global memory", "r": "reads shared memory",
    "w": "writes shared memory", "c": "computes: additions, multiply-adds, matrix products, shuffles",
    "b": "waits at a barrier", "a": "waits for asynchronous copies", "o": "all others: addresses, loops, conditions",
}  # fmt: skip
_STARTS = (
    ("cp.async.wait", "a"), ("cp.async.commit", "o"), ("cp.async.c", "l"), ("wmma.load", "r"), ("ldmatrix", "r"),
    ("wmma.store", "s"), ("wmma.mma", "c"), ("mma.", "c"), ("shfl", "c"), ("fma.rn.f", "c"), ("add.f", "c"),
    ("add.rn.f", "c"), ("mul.f", "c"), ("mad.f", "c"),
)  # fmt: skip


def kind_of(op: Op) -> str:
    """The letter of an instruction, of `KINDS`."""
    name, modifiers = op.instruction.name, op.instruction.modifiers
    if "barrier" in op.form.tags and "bar.warp" not in name:
        return "b"
    spaces = {word.partition("::")[0] for word in modifiers}
    opcode = op.instruction.opcode
    if name.startswith("wmma.load"):
        return "l" if "global" in spaces else "r"
    found = next((letter for start, letter in _STARTS if name.startswith(start)), "")
    if found:
        return found
    if opcode == "ld" and not spaces & {"param", "local", "const"}:
        return "r" if "shared" in spaces else "l"
    if opcode == "st" and "local" not in spaces:
        return "w" if "shared" in spaces else "s"
    return "o"


def followed(path: Sequence[Op], graph: Graph) -> Warp:
    """A warp's instructions by kind, with the spans of its loads and asynchronous copies."""
    warp = Warp()
    values: dict[str, int] = {}  # register -> the load that its value comes from, by copies
    issued: dict[int, int] = {}  # load -> where it was issued
    open_copies: list[int] = []
    groups: list[int] = []
    kinds = []
    for at, op in enumerate(path):
        letter = kind_of(op)
        kinds.append(letter)
        if "copy" in op.form.tags and op.reads & values.keys():
            source = next(iter(sorted(op.reads & values.keys())))
            values |= dict.fromkeys(op.writes, values[source])
            continue
        for load in sorted({values[name] for name in op.reads & values.keys()} if letter != "l" else ()):
            if load in issued:
                warp.spans.append((issued.pop(load), at))
        values = {name: load for name, load in values.items() if name not in op.writes and load in issued}
        name = op.instruction.name
        if letter == "l" and name.startswith("cp.async"):
            open_copies.append(at)
        elif letter == "l":
            issued[at] = at
            values |= dict.fromkeys(op.writes, at)
        elif name.startswith("cp.async.commit") and open_copies:
            groups.append(open_copies[0])
            open_copies = []
        elif letter == "a":
            allowed = op.instruction.operands[0] if op.instruction.operands else None
            kept = allowed.value if isinstance(allowed, Immediate) else 0
            while len(groups) > kept:
                warp.spans.append((groups.pop(0), at))
    warp.kinds = "".join(kinds)
    return warp
