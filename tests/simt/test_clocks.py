"""More barriers than a stamp's clock can count: nothing is reported wrongly, and nothing is missed."""

from __future__ import annotations

import numpy as np
import pytest

from grader.simt.engine.device import Device
from grader.simt.engine.layout import Stamp
from tests.simt.kernels import Ran, body, run

BEYOND = Stamp.MAX_CLOCK + 1001
SHARED = "__shared__ float s[256];\n"


def ran(statements: str, block: int = 64, **more: int) -> Ran:
    x = np.zeros(1024, np.float32)
    return run(body(SHARED + statements), {"x": x}, BEYOND, block=block, budget=300_000_000, **more)


def accesses(found: Ran) -> set[tuple[str, int | None]]:
    """Of the races; what was read too early may have been unwritten still."""
    races = [event for event in found.events if event.kind == "race"]
    assert set(found.kinds) <= {"race", "uninitialised_read"}, found.events
    return {(access.kind, access.line) for event in races for access in event.accesses}


EXCHANGE = """float v = 0; for (int k = 0; k < n; k += 2) {{ s[t] = k + t; {sync}
v += s[t ^ {step}] == k + (t ^ {step}); {sync} }}
x[i] = v;"""


@pytest.mark.parametrize(("sync", "step"), [("__syncthreads();", 33), ("__syncwarp();", 3)])
def test_neighbours_exchange_values_for_longer_than_the_clock_lasts(sync: str, step: int) -> None:
    found = ran(EXCHANGE.format(sync=sync, step=step))
    assert found.kinds == []
    assert set(found.arrays["x"][:64]) == {BEYOND // 2}


def test_halves_of_a_warp_synchronise_for_longer_than_the_clock_lasts() -> None:
    half = "unsigned m = t < 16 ? 0xffffu : 0xffff0000u;\n"
    assert ran(half + EXCHANGE.format(sync="__syncwarp(m);", step=3), block=32).kinds == []
    crossed = "s[t] = t;\nfor (int k = 0; k < n; ++k) __syncwarp(m);\nx[i] = s[t ^ 16];"
    assert accesses(ran(half + crossed, block=32)) == {("write", 6), ("read", 8)}


LOOP = "for (int k = 0; k < n; ++k) {sync}\n"


@pytest.mark.parametrize("sync", ["__syncthreads();", "__syncwarp();"])
def test_a_race_behind_them_is_found_with_its_lines(sync: str) -> None:
    found = ran(LOOP.format(sync=sync) + "s[t] = t;\nx[i] = s[63 - t];")
    assert accesses(found) == {("write", 6), ("read", 7)}


def test_an_old_access_is_ordered_or_not_as_it_was_before() -> None:
    """Warp 0 writes, and goes on alone until its clock is numbered anew; warp 1 reads what it wrote."""
    alone = "if (t < 32) { for (int k = 0; k < n; ++k) __syncwarp(); }\n"
    read = "if (t >= 32) x[i] = s[t - 32];"
    write = "if (t < 32) s[t] = t;\n"
    assert ran(write + "__syncthreads();\n" + alone + read).kinds == []
    assert accesses(ran(write + alone + read)) == {("write", 5), ("read", 7)}
    assert accesses(ran("__syncthreads();\n" + alone + write + read)) == {("write", 7), ("read", 8)}
    assert accesses(ran("__syncthreads();\n" + write + alone + read)) == {("write", 6), ("read", 8)}


def test_global_memory_is_told_apart_too_and_other_blocks_keep_their_stamps() -> None:
    write, read = "if (t < 32) x[i] = t;\n", "if (t >= 32) x[i + 512] = x[i - 32];"
    assert ran(write + LOOP.format(sync="__syncthreads();") + read, grid=3).kinds == []
    races = ran(write + LOOP.format(sync="__syncwarp();") + read, grid=3)
    assert accesses(races) == {("write", 5), ("read", 7)}
    assert all(first.block == second.block for first, second in (event.accesses for event in races.events))
    crossed = ran("if (blockIdx.x == 0) x[t] = 1;\n" + LOOP.format(sync="__syncwarp();") + "x[512 + i] = x[t];", grid=2)
    assert accesses(crossed) == {("write", 5), ("read", 7)}


def test_a_producer_that_only_arrives_may_do_so_for_longer_than_the_clock_lasts() -> None:
    """Two named barriers: warp 0 says that an element is there, warp 1 that it has been read."""
    sync, arrive = ('asm volatile("bar.{} {}, 64;" ::: "memory");'.format(word, "{}") for word in ("sync", "arrive"))
    loop = (
        "float v = 0; for (int k = 0; k < n; ++k) {\n"
        f"if (t < 32) {{ {sync.format(2)} s[t] = k; {arrive.format(1)} }}\n"
        f"else {{ {arrive.format(2)} {sync.format(1)} v += s[t - 32] == k; }} }}\nx[i] = v;"
    )
    found = ran(loop)
    assert found.kinds == []
    assert set(found.arrays["x"][32:64]) == {BEYOND}
    missing = loop.replace(f"{sync.format(2)} s", "s").replace(arrive.format(2), "")
    assert "race" in ran(missing).kinds


def test_launches_beyond_the_last_block_number_still_know_what_was_written(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []
    serials = Device.serials

    def near_the_end(device: Device, count: int) -> int:
        if not begun:
            device._serial = Stamp.MAX_SERIAL - 5
        begun.append(serials(device, count))
        return begun[-1]

    monkeypatch.setattr(Device, "serials", near_the_end)
    assert len(begun) == 0
    found = _launches("if (blockIdx.x < 2) x[i] = n;", "x[512 + i] = x[i] + x[i + 32];", "x[i + 256] = x[31 - t];")
    assert begun == [Stamp.MAX_SERIAL - 5, 1, 5]
    # Blocks 0 and 1 wrote 64 elements; the second launch reads 64 more that nobody wrote. The third reads old ones.
    assert found == [("uninitialised_read", (1, 0, 0))]


def _launches(*kernels: str) -> list[tuple[str, tuple[int, int, int]]]:
    from grader.compile import compile_source
    from grader.simt.engine.code_cache import CodeCache
    from grader.simt.ptx import parse
    from grader.simt.simulate import Call, Memory, simulate

    source = "".join(body(one).replace("void k(", f"void k{i}(") for i, one in enumerate(kernels))
    program = compile_source(source.encode(), "kernel.cu")
    memory = Memory("x", np.zeros(4096, np.uint8), initialised=False)
    number = (7).to_bytes(4, "little")
    calls = [Call(f"k{i}", (grid, 1, 1), (32, 1, 1), 0, ("x", number)) for i, grid in enumerate((4, 4, 1))]
    outcome = simulate(parse(program.ptx, "kernel.cu"), [memory], calls, cache=CodeCache(program.key))
    return [(event.kind, event.block) for event in outcome.events]
