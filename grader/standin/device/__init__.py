"""The simulator's side of the stand-in: streams, events, memory, conflicts and a modelled clock behind one object.

    device = StandinDevice(module, shared, cache=cache, pool=(start, end), hostfile="zero_copy_host.py")
    device.begin_setup({"x": (0, 4096, "float32", "in"), …})     # the arrays in the shared file
    answer = protocol.answer(device, call)                       # each call of the host file
    device.begin_run({"x": (0, 4096, "float32", "in"), …}, graded=False)
    …                                                            # the calls of `run()`
    report = device.end_run()                                    # findings, counters, timeline, launches

Operations that a setup or a run left in the queue stay queued in the next run. `end_run` executes the operations that
the host did not wait for, to learn which memory they access, and then restores the host's memory: their results came
too late to count.

    device.py        calls on kernels, streams, events and graphs, and all calls that wait
    memory_calls.py  calls on memory
    core.py          what the calls share: issuing, waiting, and a run from begin to end
    operations.py    one operation: its kind, its predecessors, which is executed next; unordered pairs (conflicts)
    streams.py       streams, events, graphs and happens-before
    memory.py        the address space: device, pinned, managed and pageable memory
    managed.py       where pages of managed memory are
    spans.py         which bytes an operation read and wrote
    execute.py       copies, fills and kernels, one at a time
    gpu.py           the simulator, on which kernels run; the arguments of a launch
    host_writes.py   what the host wrote: while operations were in flight, to outputs, to pinned memory
    persisting.py    what access-policy windows keep in the L2 cache
    findings.py      the records of findings
    modelled_time.py figures of the modelled GPU, the modelled clock, how well the engines overlapped
    report.py        the result of a run; host counters; why copies and kernels did not overlap

**Free.** `free` is cudaFree without its wait. CuPy's memory pool keeps freed memory and hands it out again on the same
stream; the client's pool must do the same and not call `free` for it. After a run it passes what it still keeps to
`give_back`, which frees it when all queued operations are done.
"""

from grader.standin.device.device import StandinDevice
from grader.standin.device.modelled_time import A100, Model
from grader.standin.device.report import RunReport

__all__ = ["A100", "Model", "RunReport", "StandinDevice"]
