"""The simulator's side of the stand-in: streams, events, memory, conflicts and a modelled clock behind one object.

    machine = SimMachine(module, shared, cache=cache, pool=(start, end), host_file="zero_copy_host.py")
    machine.begin_setup({"x": (0, 4096, "float32", "in"), …})   # names for what lies in the shared file
    answer = protocol.answer(machine, call)                      # each call of the host file
    machine.begin_run({"x": (0, 4096, "float32", "in"), …}, graded=False)
    …                                                            # the calls of `run()`
    report = machine.end_run()                                   # findings, counters, timeline, launches

Operations that a setup or a run left in the queue are known to the next run. `end_run` executes what the host did not
wait for, to learn what it touches, and then puts the host's memory back as it was: what came too late is not there.

    memory.py     the address space: device, pinned, managed and pageable memory
    operations.py one operation: what it is, what comes before it
    streams.py    streams, events and happens-before
    order.py      which operation is executed next: as late as is legal, the latest issued first
    execute.py    copies, fills and kernels on the simulated device
    spans.py      which bytes an operation read and wrote
    conflicts.py  operations that nothing orders, and that touch the same bytes
    watch.py      memory of the host that changed while an operation was queued
    outputs.py    who wrote the outputs: operations, or the host by itself
    graphs.py     capture and replay
    managed.py    where pages of managed memory are
    clock.py      the modelled clock
    words.py      what was found, in words
    notes.py      what is no mistake and says why something went wrong, in words
    counters.py   host counters

**Default streams.** The legacy default stream of device ``d`` is the handle ``-d``: 0, -1, -2 …; 1 is another name of
0, and 2 the per-thread default stream (cudaStreamLegacy, cudaStreamPerThread). Streams that were created have handles
from 16. In `synchronize` and `query`, the handle of ``device`` is the device's number.

**Free.** `free` is cudaFree without its wait. CuPy's memory pool gives memory back to itself, not to CUDA, and gives it
out again on the same stream: a stand-in for the pool must do the same, and call `free` for none of it. What it gives
back after a run it gives to `give_back`: that is gone when all that is queued has been done.
"""

from grader.standin.machine.machine import SimMachine
from grader.standin.machine.model import A100, Model
from grader.standin.machine.records import HOST_COUNTERS, HostArray, RunReport

__all__ = ["A100", "HOST_COUNTERS", "HostArray", "Model", "RunReport", "SimMachine"]
