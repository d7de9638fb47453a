"""The simulator's child where it is to play a GPU: the same, with what a machine needs imported before doors close."""

from __future__ import annotations

from importlib import import_module

from grader.backends.sim import child

NEEDED = (
    "grader.backends.sim.hostfile.device_server", "grader.backends.sim.results",
    "grader.standin.device", "grader.standin.messages", "grader.standin.protocol",
    "numpy.ma",  # np.unique looks for it when it is called
)  # fmt: skip


def main() -> None:
    """`grader.backends.sim.child`, begun a little later."""
    for name in NEEDED:
        import_module(name)
    child.main()
