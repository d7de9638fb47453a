"""The host child without a GPU: the module that `setup` gets is its name, everything else is the real thing."""

from __future__ import annotations

from grader.backends.gpu.cuda import flush_standard_output
from grader.backends.gpu.host_child import HostWorker
from grader.backends.gpu.output import Printed
from grader.channel import Sandbox, attach


def main() -> None:
    channel, outer = attach()
    import numpy  # noqa: F401  # before the doors close

    closed = outer.apply()
    message, _ = channel.receive(None)
    printed = Printed(int(message["printf_bytes"]), flush_standard_output)
    Sandbox(**message["inner"]).apply()
    channel.send({"ready": True, "sandbox": closed, "link_s": [1e-3] * 5})
    HostWorker(channel, int(message["fd"]), printed, lambda cubin, kernel: kernel).serve()
