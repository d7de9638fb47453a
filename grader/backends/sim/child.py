"""The simulator's child process: applies its sandbox, then answers the parent's requests.

The process cannot access files, so the parent stores machine code: ``want`` requests it, ``keep`` sends new code.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from grader.backends.conditions import USUAL, Conditions
from grader.process.channel import Channel, ChannelClosed, attach, end_session, fork_for_each_session
from grader.process.standard import collect_rarely

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from grader.simt.engine.code_cache import CodeCache
    from grader.simt.ptx import Module
    from grader.simt.simulate import Options, Outcome, Step

    Arrays = Mapping[str, npt.NDArray[np.generic]]


MOST_AGAIN = 100_000_000
"""Instructions: a case that executes more is not run in other orders."""
TIMES_AGAIN = 4
"""The limit of instructions for another order, as a multiple of the usual order's."""


class PlaysGpu(Protocol):
    """Answers all messages after ``start_device``."""

    def answer(self, message: dict[str, Any]) -> dict[str, Any]: ...


StartDevice = Callable[["dict[str, Any]", "Module", "CodeCache", "Options", str], PlaysGpu]


def main(start_device: StartDevice | None = None) -> None:
    """Serve one parent until it closes the channel. ``start_device`` makes the simulated GPU of a host file."""
    collect_rarely()
    channel, sandbox = attach()
    _open_everything()
    fork_for_each_session(channel)
    server = _Server(channel, sandbox.apply(), start_device)
    try:
        while True:
            message, arrays = channel.receive(None)
            server.answer(message, arrays)
    except ChannelClosed:
        return


def _open_everything() -> None:
    """Import, read and load what is needed later: the sandbox closes all files."""
    from importlib import import_module

    from grader.simt.engine.code_cache import engine_key, warm_up

    for name in ("traceback", "grader.backends.sim.results", "grader.simt.simulate"):
        import_module(name)
    engine_key()
    warm_up()


class _Server:
    def __init__(self, channel: Channel, sandbox: str, start_device: StartDevice | None) -> None:
        self.channel = channel
        self.sandbox = sandbox
        self.module: Module | None = None
        self.program: dict[str, Any] = {}
        self.start_device = start_device
        self.device: PlaysGpu | None = None  # of a host exercise
        self.spent = 0  # of the budget, by the last case in the usual order
        self.variables: Mapping[str, npt.NDArray[np.uint8]] = {}  # of the module, changed by the last case

    def answer(self, message: dict[str, Any], arrays: Arrays) -> None:
        """Answer one request; errors are answers too."""
        from grader.simt.engine.flatten import UnsupportedPtx
        from grader.simt.ptx import PtxSyntaxError

        try:
            if message["do"] == "end":
                end_session(self.channel)
            elif message["do"] == "load":
                self._load(message)
            elif message["do"] == "start_device":
                self._start_device(message)
            elif self.device is not None:
                self.channel.send(self.device.answer(message))
            else:
                self._run(message, arrays)
        except UnsupportedPtx as error:
            self.channel.send(
                {
                    "is": "unsupported", "what": error.what, "hint": error.hint,
                    "line": error.line.line if error.line else None,
                }
            )  # fmt: skip
        except PtxSyntaxError as error:
            self.channel.send({"is": "unsupported", "what": f"this PTX: {error}", "line": None})
        except MemoryError:
            self.channel.send({"is": "full"})
        except ChannelClosed:
            raise
        except Exception as error:
            import traceback

            self.channel.send({"is": "fault", "message": f"{error!r}\n{traceback.format_exc(limit=-6)}"})

    def _load(self, message: dict[str, Any]) -> None:
        from grader.simt.engine.code_cache import CodeCache, why_unusable
        from grader.simt.ptx import parse

        if reason := why_unusable():
            self.channel.send({"is": "unusable", "message": reason})
            return
        self.program = message
        self.module = parse(message["ptx"], message["name"])
        self.cache = CodeCache(message["key"], self._want, self._keep)
        self.channel.send({"is": "ready", "sandbox": self.sandbox, "pid": os.getpid()})

    def _start_device(self, message: dict[str, Any]) -> None:
        """From now on, simulate the GPU of a host file."""
        assert self.module is not None
        assert self.start_device is not None
        options = self._options(USUAL, self.program["instructions"], counted=True)
        self.device = self.start_device(message, self.module, self.cache, options, self.program["name"])
        self.channel.send({"is": "done"})

    def _want(self, keys: Sequence[str]) -> Mapping[str, bytes]:
        self.channel.send({"is": "want", "keys": list(keys)})
        answer, _ = self.channel.receive(None)
        return answer

    def _keep(self, codes: Mapping[str, bytes]) -> None:
        self.channel.send({"is": "keep", **codes})

    def _run(self, message: dict[str, Any], arrays: Arrays) -> None:
        import numpy as np

        from grader.backends.sim.results import describe
        from grader.simt.simulate import Memory, simulate

        assert self.module is not None
        conditions = Conditions(**message["conditions"])
        roles: dict[str, str] = message["roles"]
        raw = {name: a.view(np.uint8) for name, a in arrays.items()}
        memories = [
            Memory(name, raw[name], roles[name] == "in", *(
                array.itemsize * message[elements].get(name, 0) for elements in ("offsets", "counts")
            ))
            for name, array in arrays.items()
        ]  # fmt: skip
        options = self._options(conditions, message["instructions"], counted=message["counters"], few=message["few"])
        outcome = simulate(
            self.module,
            memories,
            [_step(s) for s in message["steps"]],
            cache=self.cache,
            options=replace(options, by_site=message["by_site"], changed=message["changed"]),
            variables=self.variables if conditions.keeps_state else {},
        )
        self.variables = outcome.variables
        if conditions.order == "usual":
            self.spent = outcome.spent
        changed = [n for n, role in roles.items() if role == "in" and not np.array_equal(raw[n], outcome.memory[n])]
        outputs = {n: outcome.memory[n].view(arrays[n].dtype) for n, role in roles.items() if role == "out"}
        itemsize = {name: array.dtype.itemsize for name, array in arrays.items()}
        answer = describe(outcome, self.program["name"], itemsize)
        answer |= {"inputs_changed": changed, "unordered": outcome.unordered}
        answer["other_orders"] = other_orders(outcome, self.spent)
        answer |= {"has_state": bool(outcome.variables), "spent": outcome.spent}
        answer["sites"] = [dict(vars(site)) for site in outcome.sites]
        self.channel.send({"is": "done", **answer}, outputs)

    def _options(self, conditions: Conditions, instructions: int, *, counted: bool, few: bool = False) -> Options:
        from grader.simt.engine.schedule import ORDERS
        from grader.simt.observers import EVERY_PAIR, OBSERVERS
        from grader.simt.simulate import Options

        order, instructions = ORDERS[conditions.order], min(instructions, self.program["instructions"])
        if (
            order.adversarial and not conditions.explained
        ):  # threads that wait may need more iterations, but not for ever
            instructions = min(instructions, limit_again(self.spent))
        threads = self.program["threads"] or len(os.sched_getaffinity(0))
        return Options(
            observed=frozenset(OBSERVERS + (EVERY_PAIR,) * conditions.explained),
            counted=counted,
            threads=threads,
            instructions_per_block=self.program["instructions_per_block"],
            instructions=instructions,
            printf_bytes=self.program["printf_bytes"],
            undefined=conditions.undefined,
            order=order,
            few=few,
        )


def other_orders(outcome: Outcome, spent: int) -> list[str]:
    """The orders in which a case that spent so many instructions may have another result."""
    from grader.simt.engine.schedule import ADVERSARIAL

    return [*ADVERSARIAL] if outcome.unordered and outcome.complete and spent <= MOST_AGAIN else []


def limit_again(spent: int) -> int:
    """The limit of instructions in another order, for a case that spent so many in the usual one."""
    return TIMES_AGAIN * (spent + MOST_AGAIN // 100)


def _step(step: dict[str, Any]) -> Step:
    from grader.simt.simulate import Call, Fill, Upload

    if step["do"] == "fill":
        return Fill(step["buffer"])
    if step["do"] == "upload":
        return Upload(step["symbol"], step["buffer"])
    arguments = tuple(a["buffer"] if "buffer" in a else bytes.fromhex(a["bytes"]) for a in step["arguments"])
    names = tuple(step["parameters"])
    grid, block = tuple(step["grid"]), tuple(step["block"])
    return Call(step["kernel"], grid, block, step["shared_bytes"], arguments, names, step["cooperative"])
