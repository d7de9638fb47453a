"""Machine code of kernels: compiled by LLVM, cached in memory, and in the caller's store.

The key covers everything that the machine code depends on: the PTX, the entry, the observers, the engine's sources, and
the processor. Outlined functions, which are most of a kernel's code, have their own keys, made from their IR: so for an
edited kernel most of the code is compiled already. The caller's store (`load`, `save`) may keep the bytes on disk.

Code is built for the present processor. Outlined functions, which many kernels share, are optimised at level 1: level 2
takes longer and gains nothing here. The code of a single kernel is compiled without most optimisations, in a quarter of
the time: it mostly calls outlined functions, and runs at most a twentieth longer.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from grader.simt.engine.codegen import Kernel, generate
from grader.simt.engine.ir import units
from grader.simt.engine.sites import Site
from grader.simt.observers import observer_set
from grader.simt.ptx import Module

BROKEN_LLVM = ((22, 1, 0),)
"""Versions of LLVM that miscompile 16-bit results of 64-bit signed products on x86 (LLVM issue 218844).

The version is checked, because that costs nothing: a test compilation takes 15 ms in every process, and finds only
errors in the instructions that it uses.
"""

_LOCK = threading.Lock()


@cache
def _prepare() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def why_unusable() -> str:
    """Why the installed LLVM cannot be used, in words; "" if it can."""
    if tuple(llvm.llvm_version_info) not in BROKEN_LLVM:
        return ""
    return "llvmlite 0.48 to 0.50 cannot be used: their LLVM 22.1.0 miscompiles 16-bit integers, so results are wrong"


@cache
def host_key() -> str:
    """A text of all that machine code depends on besides the IR: processor, features, versions of LLVM and llvmlite."""
    return f"{llvm.get_host_cpu_name()} {_host_features()} {llvmlite.__version__} {llvm.llvm_version_info}"


@cache
def _host_features() -> str:
    _prepare()
    return str(llvm.get_host_cpu_features().flatten())


def _target_machine(level: int) -> llvm.TargetMachine:
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=_host_features(), opt=level, jit=True)


def warm_up() -> None:
    """Compile a small function, so that LLVM has opened all its files before the sandbox closes them."""
    compile_module("define void @nothing() { ret void }").function("nothing", [])()


class Compiled:
    """Machine code in memory. Keep it alive as long as its functions are called."""

    def __init__(self, engine: llvm.ExecutionEngine) -> None:
        self._engine = engine

    def function(self, name: str, arguments: Sequence[Any], result: Any = None) -> Callable[..., Any]:
        """A function by name, callable through ctypes (which releases the GIL while it runs)."""
        address = self._engine.get_function_address(name)
        if not address:
            raise LookupError(name)
        call = ctypes.CFUNCTYPE(result, *arguments)(address)
        vars(call)["engine"] = self._engine  # keeps the machine code alive as long as the function
        return call


def compile_text(text: str, *, quick: bool = False) -> bytes:
    """Compile IR text to an object file. Raises RuntimeError with LLVM's message if the IR is not valid.

    ``quick``: with few optimisations, for the code of a single kernel.
    """
    _prepare()
    with _LOCK:
        module = llvm.parse_assembly(text, llvm.create_context())
        module.verify()
        machine = _target_machine(0 if quick else 1)
        options = llvm.create_pipeline_tuning_options(speed_level=1)
        options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = False
        builder = llvm.create_pass_builder(machine, options)
        if quick:
            passes = llvm.create_new_function_pass_manager()
            passes.add_sroa_pass()  # further ones take longer than they save
            for function in module.functions:
                if not function.is_declaration:
                    passes.run(function, builder)
        else:
            builder.getModulePassManager().run(module, builder)
        return bytes(machine.emit_object(module))


def link(objects: Sequence[bytes]) -> Compiled:
    """Link object files of `compile_text`, made on a machine with the same `host_key`."""
    _prepare()
    with _LOCK:
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine(1))
        for code in objects:
            engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        return Compiled(engine)


def compile_module(text: str) -> Compiled:
    """Compile and link IR text."""
    return link([compile_text(text)])


# ----------------------------------------------------------------------------------------------------------- the cache
@dataclass(frozen=True)
class Loaded:
    kernel: Kernel
    code: Compiled


@cache
def engine_key() -> str:
    """A hash of this package's sources, because a changed engine generates other code."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


UNIT_LINES = 2_000
"""Lines of IR per compilation, about: LLVM's time grows faster than the text."""

Load = Callable[[Sequence[str]], Mapping[str, bytes]]
Save = Callable[[Mapping[str, bytes]], None]


class CodeCache:
    """Finds or compiles an entry's machine code. ``load(keys)`` returns stored code by key, ``save`` stores more."""

    def __init__(self, text_key: str, load: Load | None = None, save: Save | None = None) -> None:
        self.text_key = text_key
        self._load = load or (lambda keys: {})
        self._save = save or (lambda codes: None)
        self._loaded: dict[tuple[str, frozenset[str], bool], Loaded] = {}

    def get(self, module: Module, entry: str, observed: frozenset[str], *, adversarial: bool = False) -> Loaded:
        """The code of ``entry``, for usual or adversarial runs. Raises UnsupportedPtx, with the source line."""
        place = (entry, observed, adversarial)
        if place not in self._loaded:
            self._loaded[place] = self._from_store(module, *place)
        return self._loaded[place]

    def _from_store(self, module: Module, entry: str, observed: frozenset[str], adversarial: bool) -> Loaded:
        key = _key("kernel", self.text_key, entry, *["adversarial"] * adversarial, *sorted(observed))
        stored = self._load([key]).get(key)
        if stored is not None:
            return _decode(stored)
        made, kernel = generate(module, entry, observer_set(observed), adversarial=adversarial)
        own, outlined = units(made, UNIT_LINES)
        shared = {_key("function", text): text for text in outlined}
        codes = _COMPILED | dict(self._load([key for key in shared if key not in _COMPILED]))
        fresh = {key: compile_text(text) for key, text in shared.items() if key not in codes}
        codes |= fresh
        objects = [*map(_own_code, own), *(codes[key] for key in shared)]
        _COMPILED.update((key, codes[key]) for key in shared)
        self._save(fresh | {key: _encode(kernel, objects)})
        return Loaded(kernel, link(objects))


_COMPILED: dict[str, bytes] = {}
"""Object files of outlined functions of all kernels of this process, by the hash of their IR."""


_OWN: dict[str, bytes] = {}
"""Object files of the kernels' own code, by the hash of their IR, the latest last: at most `OWN_BYTES` together."""
OWN_BYTES = 64 << 20


def _own_code(text: str) -> bytes:
    """The machine code of a part of a kernel's own code.

    It is kept for the next program of this process: an edit changes one kernel of a file, and the IR of the others,
    which knows no line numbers, stays the same.
    """
    key = _key("own", text)
    code = _OWN.pop(key, None)
    _OWN[key] = code = code or compile_text(text, quick=True)
    while sum(map(len, _OWN.values())) > OWN_BYTES and len(_OWN) > 1:
        del _OWN[next(iter(_OWN))]
    return code


def _key(*parts: str) -> str:
    return hashlib.sha256("\n".join((*parts, engine_key(), host_key())).encode()).hexdigest()


def _encode(kernel: Kernel, objects: Sequence[bytes]) -> bytes:
    head = json.dumps([vars(kernel), [len(code) for code in objects]], default=vars).encode()
    return b"".join((len(head).to_bytes(8, "little"), head, *objects))


def _decode(stored: bytes) -> Loaded:
    at = 8 + int.from_bytes(stored[:8], "little")
    fields, sizes = json.loads(stored[8:at])
    sites = tuple(Site(**site) for site in fields.pop("sites"))
    ends = list(accumulate(sizes, initial=at))
    objects = [stored[start:end] for start, end in pairwise(ends)]
    return Loaded(Kernel(sites=sites, **{name: _tuples(value) for name, value in fields.items()}), link(objects))


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
