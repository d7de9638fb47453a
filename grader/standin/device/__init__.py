"""The simulator's side of the stand-in: streams, events, memory, conflicts and a modelled clock behind one object.

    device = StandinDevice(module, shared, cache=cache, pool=(start, end), hostfile="zero_copy_host.py")
    device.begin_setup({"x": (0, 4096, "float32", "in"), …})    # names for what lies in the shared file
    answer = protocol.answer(device, call)                     # each call of the host file
    device.begin_run({"x": (0, 4096, "float32", "in"), …}, graded=False)
    …                                                            # the calls of `run()`
    report = device.end_run()                                    # findings, counters, timeline, launches

Operations that a setup or a run left in the queue are known to the next run. `end_run` executes what the host did not
wait for, to learn what it touches, and then puts the host's memory back as it was: what came too late is not there.

    device.py        calls on kernels, streams, events and graphs, and all that wait
    memory_calls.py  calls on memory
    core.py          what the calls share: issuing, waiting, and a run from begin to end
    operations.py    one operation: what it is, what comes before it, which is executed next; those that nothing orders
    streams.py       streams, events, graphs and happens-before
    memory.py        the address space: device, pinned, managed and pageable memory
    managed.py       where pages of managed memory are
    spans.py         which bytes an operation read and wrote
    execute.py       copies, fills and kernels, one at a time
    gpu.py           the simulator, on which kernels run; the arguments of a launch
    host_writes.py   what the host wrote: under queued operations, to outputs, to pinned memory
    persisting.py    what access-policy windows keep in the L2 cache
    findings.py      what was found, in words
    modelled_time.py figures of the modelled GPU, the modelled clock, how well the engines overlapped
    report.py        what a run comes back as; host counters; what keeps the engines from working side by side

**Free.** `free` is cudaFree without its wait. CuPy's memory pool gives memory back to itself, not to CUDA, and gives it
out again on the same stream: a stand-in for the pool must do the same, and call `free` for none of it. What it gives
back after a run it gives to `give_back`: that is gone when all that is queued has been done.
"""

from grader.standin.device.device import StandinDevice
from grader.standin.device.modelled_time import A100, Model
from grader.standin.device.report import RunReport

__all__ = ["A100", "Model", "RunReport", "StandinDevice"]
