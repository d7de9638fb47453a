"""Access-policy windows: what of them can stay in the L2 cache, and what the report says is in the way."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from grader.findings.record import Finding
from grader.standin.protocol import CudaRefusal
from tests.standin.device.rig import Ran, Rig, integer

SOURCE = """
extern "C" __global__ void hop(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 8) y[i] = x[(i * 8 + i % 8) % n];
}
extern "C" __global__ void twice(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
"""


class Windowed(Rig):
    """Two arrays on the device, and a stream with a window on the first."""

    def __init__(self) -> None:
        super().__init__(8000, source=SOURCE)
        self.x, self.y = self.device(2)
        self.stream, self.other = self.streams(2)
        for address in (self.x, self.y):
            self.m.fill(4, address, 0, self.bytes, 0, False)
        self.m.synchronize(5, "device", 0)

    def set_aside(self, size: int = 1 << 20) -> None:
        self.m.set_limit(10, "persisting_l2_bytes", size)

    def window(self, stream: int = 0, line: int = 20, **changed: float) -> None:
        value: Mapping[str, float] = {"base": self.x, "bytes": self.bytes, "hit_ratio": 1.0, "hit": 2, "miss": 1}
        self.m.stream_attribute(line, stream or self.stream, "access_policy_window", {**value, **changed})

    def ran(self, kernel: str = "hop") -> Ran:
        with self.run() as ran:
            self.launch(30, kernel, self.x, self.y, integer(self.n), stream=self.stream)
            self.m.synchronize(31, "device", 0)
        return ran

    def found(self, kernel: str = "hop") -> tuple[float, Finding]:
        """What was counted, and the only warning."""
        ran = self.ran(kernel)
        (found,) = ran.report.findings
        assert (found.kind, found.severity) == ("l2_window", "warning")
        return ran.counted["persisting_bytes"], found


def test_a_window_on_what_a_kernel_reads_here_and_there_stays() -> None:
    rig = Windowed()
    rig.set_aside()
    rig.window()
    ran = rig.ran()
    assert (ran.counted["persisting_bytes"], ran.kinds) == (rig.bytes, [])


def test_a_window_needs_a_part_of_the_cache_that_was_set_aside() -> None:
    rig = Windowed()
    rig.window()
    counted, found = rig.found()
    assert (counted, found.cause, found.line) == (0, "nothing_set_aside", 20)
    assert found.facts == {"stream": [1, 0], "some": False, "since": 0}
    rig.set_aside(0)
    assert rig.found()[1].facts["since"] == 10
    rig.set_aside(8)
    counted, found = rig.found()
    assert (counted, found.cause) == (8, "little_set_aside")
    assert (found.facts["some"], found.facts["set_aside"]) == (True, 8)


@pytest.mark.parametrize(
    ("changed", "part", "cause"),
    [
        ({"hit": 0}, 0, "not_persisting"), ({"hit": 1}, 0, "not_persisting"), ({"hit_ratio": 0.0}, 0, "no_hit_ratio"),
        ({"hit_ratio": 0.5}, 0.5, "hit_ratio"), ({"base": 12345}, 0, "no_memory"), ({"bytes": 64000}, 0, "too_long"),
        ({"bytes": 8000}, 0.25, "too_short"),
    ],
)  # fmt: skip
def test_the_report_says_which_part_of_a_window_is_missing(changed: dict[str, float], part: float, cause: str) -> None:
    rig = Windowed()
    rig.set_aside()
    rig.window(**changed)
    counted, found = rig.found()
    assert (counted, found.cause, found.line) == (part * rig.bytes, cause, 20)


def test_a_window_on_memory_that_is_read_from_end_to_end_keeps_nothing() -> None:
    rig = Windowed()
    rig.set_aside()
    rig.window()
    counted, found = rig.found("twice")
    assert (counted, found.cause) == (0, "read_end_to_end")


def test_a_window_on_memory_that_no_kernel_reads_keeps_nothing() -> None:
    rig = Windowed()
    rig.set_aside()
    rig.window(base=rig.y)
    counted, found = rig.found()
    assert (counted, found.cause) == (0, "not_read")


def test_a_window_on_another_stream_is_told() -> None:
    rig = Windowed()
    rig.set_aside()
    rig.window(rig.other)
    counted, found = rig.found()
    assert (counted, found.cause, found.line) == (0, "other_stream", 20)
    assert found.facts == {"stream": [2, 0], "busy": [[1, 0]]}


def test_a_window_that_was_taken_away_or_comes_too_late_is_told() -> None:
    rig = Windowed()
    rig.set_aside()
    rig.window(line=21)
    rig.window(line=22, bytes=0)
    found = rig.found()[1]
    assert (found.cause, found.line) == ("taken_away", 22)
    with rig.run() as ran:
        rig.launch(30, "hop", rig.x, rig.y, integer(rig.n), stream=rig.stream)
        rig.window(line=40)
        rig.m.synchronize(31, "device", 0)
    assert [(found.line, found.cause) for found in ran.report.findings] == [(40, "set_late")]


def test_a_part_that_is_set_aside_for_nobody_is_told() -> None:
    rig = Windowed()
    assert rig.ran().kinds == []
    rig.set_aside()
    counted, found = rig.found()
    assert (counted, found.cause, found.line, found.facts) == (0, "no_window", 10, {"set_aside": 1 << 20})


def test_a_graph_keeps_the_window_that_its_kernels_were_captured_with() -> None:
    rig = Windowed()
    rig.set_aside()
    rig.window()
    rig.m.capture_begin(25, rig.stream, 2)
    rig.launch(26, "hop", rig.x, rig.y, integer(rig.n), stream=rig.stream)
    graph = rig.m.capture_end(27, rig.stream)
    rig.window(bytes=0)
    with rig.run() as ran:
        rig.m.graph_launch(30, graph, rig.stream)
        rig.m.synchronize(31, "stream", rig.stream)
    assert (ran.counted["persisting_bytes"], ran.kinds) == (rig.bytes, [])


def test_a_window_larger_than_any_is_refused() -> None:
    rig = Windowed()
    with pytest.raises(CudaRefusal, match="MaxAccessPolicyWindowSize"):
        rig.window(bytes=1 << 40)


@pytest.mark.parametrize("base", [-1, 1 << 63, 1 << 80])
def test_a_window_at_no_address_is_refused(base: int) -> None:
    rig = Windowed()
    with pytest.raises(CudaRefusal, match="which is not an address"):
        rig.window(base=base)


def test_a_call_that_was_refused_is_told_with_its_line() -> None:
    rig = Windowed()
    with rig.run() as ran:
        rig.m.refused(41, "cudaDeviceSetLimit", "cudaErrorInvalidValue: no")
    (found,) = ran.report.findings
    assert (found.kind, found.severity, found.line) == ("refused", "warning", 41)
    assert found.facts == {"function": "cudaDeviceSetLimit", "error": "cudaErrorInvalidValue: no"}
