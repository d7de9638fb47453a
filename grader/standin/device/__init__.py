"""The simulator's side of the stand-in: streams, events, memory, conflicts and a modelled clock behind one object.

    machine = SimMachine(module, shared, cache=cache, pool=(start, end), host_file="zero_copy_host.py")
    machine.begin_setup({"x": (0, 4096, "float32", "in"), …})   # names for what lies in the shared file
    answer = protocol.answer(machine, call)                      # each call of the host file
    machine.begin_run({"x": (0, 4096, "float32", "in"), …}, graded=False)
    …                                                            # the calls of `run()`
    report = machine.end_run()                                   # findings, counters, timeline, launches

Operations that a setup or a run left in the queue are known to the next run. `end_run` executes what the host did not
wait for, to learn what it touches, and then puts the host's memory back as it was: what came too late is not there.

    machine.py    all calls: calls_memory.py, calls_kernels.py, calls_streams.py and calls_graphs.py
    core.py       what the calls share: issuing, waiting, and a run from begin to end
    memory.py     the address space: device, pinned, managed and pageable memory
    operations.py one operation: what it is, what comes before it
    streams.py    streams, events and happens-before
    graphs.py     capture and replay
    order.py      which operation is executed next: as late as is legal, the latest issued first
    execute.py    copies, fills and kernels, one at a time
    gpu.py        the simulated device on which kernels run
    spans.py      which bytes an operation read and wrote
    conflicts.py  operations that nothing orders, and that touch the same bytes
    waits.py      a wait that was to order them, and is for something else
    races.py      both in words
    watch.py      memory of the host that changed while an operation was queued
    outputs.py    who wrote the outputs: operations, or the host by itself
    staged.py     what the host wrote to pinned allocations
    managed.py    where pages of managed memory are
    persisting.py what access-policy windows keep in the L2 cache
    arguments.py  arguments of a launch that their parameters misread
    launched.py   a launch in words: its line and its arguments
    turns.py      which time a line of the host file did something
    words.py      what was found, in words
    obstacles.py  what keeps the engines from working side by side
    notes.py      what is no mistake and says why something went wrong, in words
    counters.py   host counters
    model.py      figures of the GPU whose time is modelled
    clock.py      the modelled clock
    overlap.py    how well the engines worked side by side
    records.py    what a run comes back as

**Free.** `free` is cudaFree without its wait. CuPy's memory pool gives memory back to itself, not to CUDA, and gives it
out again on the same stream: a stand-in for the pool must do the same, and call `free` for none of it. What it gives
back after a run it gives to `give_back`: that is gone when all that is queued has been done.
"""

from grader.standin.device.machine import SimMachine
from grader.standin.device.model import A100, Model
from grader.standin.device.records import RunReport

__all__ = ["A100", "Model", "RunReport", "SimMachine"]
