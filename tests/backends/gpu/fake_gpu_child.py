"""The GPU child with a device made of NumPy: what a session meets, from a hang to an illegal address."""

from __future__ import annotations

import os
import time

from fake_checks import CHECK, GENERATE
from fake_device import SUPPORT, FakeDevice

from grader.backends.gpu import measure, program
from grader.backends.gpu.child import GpuWorker
from grader.backends.output import Printed
from grader.process.channel import attach


def honest(device, grid, block, a, b, c, n):
    device.array(c, "float32", n)[:] = device.array(a, "float32", n) + device.array(b, "float32", n)


def hang(device, grid, block, *args):
    time.sleep(60)


def wild(device, grid, block, *args):
    device.fail("cudaErrorIllegalAddress: an illegal memory access was encountered")


def misaligned(device, grid, block, *args):
    device.fail("cudaErrorMisalignedAddress: misaligned address")


def unknown(device, grid, block, *args):
    device.fail("cudaErrorECCUncorrectable: uncorrectable ECC error encountered")


def die(device, grid, block, *args):
    os._exit(3)


def talk(device, grid, block, *args):
    os.write(1, b'{"verdict": "pass"}\n')
    honest(device, grid, block, *args)


def flood(device, grid, block, *args):
    os.write(1, b"x" * (70 << 10))
    honest(device, grid, block, *args)


def stray(device, grid, block, a, b, c, n):
    honest(device, grid, block, a, b, c, n)
    device.array(int(c) + 4 * int(n), "float32", 1)[0] = 1.0


KERNELS = {
    kernel.__name__.encode(): {"add": kernel}
    for kernel in (honest, hang, wild, misaligned, unknown, die, talk, flood, stray)
}


def broken() -> FakeDevice:
    """A device whose kernels do nothing: the health check must notice."""
    return FakeDevice({b"support": dict.fromkeys(SUPPORT, lambda *args: None)})


def main() -> None:
    channel, _ = attach()
    program.state_sections = lambda cubin: ()
    measure.LEAST_BYTES = 1 << 16
    message, _ = channel.receive(None)
    modules = {b"support": SUPPORT, b"generate": GENERATE, b"check": CHECK, **KERNELS}
    device = broken() if message["device"] == 1 else FakeDevice(modules)
    prepare, _ = channel.receive(None)
    worker = GpuWorker(channel, device, Printed(int(message["printf_bytes"])))
    worker.start(bytes(prepare["support"]), "none")
    worker.serve()
