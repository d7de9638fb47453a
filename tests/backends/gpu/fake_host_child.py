"""The host child without a GPU: the module that `setup` gets is its name, everything else is the real thing."""

from __future__ import annotations

import sys

from grader.backends.gpu.hostfile.baseline_child import serve_baselines
from grader.backends.gpu.hostfile.hostfile_child import GpuHostfileWorker
from grader.backends.gpu.hostfile.signals import Signals
from grader.backends.hostfile.worker import apply_sandbox
from grader.backends.output import Printed
from grader.process.channel import attach
from grader.process.sandbox import Sandbox


class FakeBaseline:
    """Something that is done at once."""

    def __init__(self, message):
        self.name = message["name"]
        if self.name == "link_to_host":
            raise RuntimeError("cudaErrorMemoryAllocation: out of memory")

    def run(self):
        if self.name == "link_between_devices":
            raise RuntimeError("cudaErrorPeerAccessUnsupported: no peer")

    def free(self):
        pass


def main() -> None:
    channel, outer = attach()
    import fake_cupy

    sys.modules["cupy"] = fake_cupy
    closed = outer.apply()
    message, _ = channel.receive(None)
    printed = Printed(int(message["printf_bytes"]), int(message["printed"]))
    signals = Signals(int(message["fd"]))
    channel.send({"ready": True, "sandbox": closed})
    if serve_baselines(channel, signals, FakeBaseline) and apply_sandbox(channel, Sandbox(**message["inner"])):
        GpuHostfileWorker(channel, signals, message, printed, lambda told: told["kernel"]).serve()
