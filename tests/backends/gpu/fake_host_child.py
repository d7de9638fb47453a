"""The host child without a GPU: the module that `setup` gets is its name, everything else is the real thing."""

from __future__ import annotations

from grader.backends.gpu.cuda import flush_standard_output
from grader.backends.gpu.host_child import HostWorker, close_doors, serve_link
from grader.backends.gpu.output import Printed
from grader.backends.gpu.signals import Signals
from grader.channel import Sandbox, attach


class FakeLink:
    """A link that copies nothing."""

    def run(self):
        return {"done": True}

    def free(self):
        pass


def main() -> None:
    channel, outer = attach()
    import numpy  # noqa: F401  # before the doors close

    closed = outer.apply()
    message, _ = channel.receive(None)
    printed = Printed(int(message["printf_bytes"]), flush_standard_output)
    fd, signals = int(message["fd"]), Signals(int(message["fd"]))
    channel.send({"ready": True, "sandbox": closed})
    serve_link(channel, signals, FakeLink() if message["link_bytes"] else None)
    if close_doors(channel, Sandbox(**message["inner"])):
        HostWorker(channel, signals, fd, printed, lambda cubin, kernel: kernel).serve()
