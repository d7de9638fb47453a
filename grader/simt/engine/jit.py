"""LLVM IR text to object code, and object code to running functions.

Code is built for the processor at hand. What many kernels share is optimised at level 1: level 2 takes longer and gains
nothing here. What belongs to one kernel is compiled quickly, in a quarter of the time: it mostly calls what is shared,
and runs up to a twentieth longer.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import llvmlite.binding as llvm

BROKEN_LLVM = ((22, 1, 0),)
"""LLVM's versions whose machine code is wrong, here for 16 bits of 64-bit signed products on x86 (LLVM issue 218844).

Told by the version, which costs nothing: a trial compilation takes 15 ms in every process, and finds only what goes
wrong in the instructions that it happens to use.
"""

_LOCK = threading.Lock()


@cache
def _prepare() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def why_unusable() -> str:
    """Why the installed LLVM cannot be used, in words; "" where it can."""
    if tuple(llvm.llvm_version_info) not in BROKEN_LLVM:
        return ""
    return "llvmlite 0.48 to 0.50 cannot be used: their LLVM 22.1.0 miscompiles 16-bit integers, so results are wrong"


def host_key() -> str:
    """What machine code depends on besides the IR: processor, features, LLVM's and llvmlite's versions."""
    import llvmlite

    _prepare()
    versions = f"{llvmlite.__version__} {llvm.llvm_version_info}"
    return f"{llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()} {versions}"


def _target_machine(level: int) -> llvm.TargetMachine:
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=level, jit=True
    )


def warm_up() -> None:
    """Compile something small, so that LLVM has opened everything it needs before a sandbox closes the files."""
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
        vars(call)["engine"] = self._engine  # the machine code lives as long as somebody can call it
        return call


def compile_text(text: str, *, quick: bool = False) -> bytes:
    """Optimise and compile IR text to an object file. Raises RuntimeError with LLVM's words when the IR is not valid.

    ``quick``: for code that is compiled for one edit of a file, and mostly calls.
    """
    _prepare()
    with _LOCK:
        module = llvm.parse_assembly(text, llvm.create_context())
        module.verify()
        machine = _target_machine(0 if quick else 1)
        _optimise(module, machine, quick=quick)
        return bytes(machine.emit_object(module))


def _optimise(module: llvm.ModuleRef, machine: llvm.TargetMachine, *, quick: bool) -> None:
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    options.loop_vectorization = False
    options.slp_vectorization = False
    options.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, options)
    if not quick:
        builder.getModulePassManager().run(module, builder)
        return
    passes = llvm.create_new_function_pass_manager()
    for add in (passes.add_sroa_pass, passes.add_instruction_combine_pass, passes.add_simplify_cfg_pass):
        add()
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)


def link(objects: Sequence[bytes]) -> Compiled:
    """Object files that `compile_text` gave, on a machine with the same `host_key`, as one program."""
    _prepare()
    with _LOCK:
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine(1))
        for code in objects:
            engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        return Compiled(engine)


def compile_module(text: str) -> Compiled:
    """IR text as a program of its own."""
    return link([compile_text(text)])
