"""The stand-in's CuPy: what a host file imports as `cupy` on a machine without a GPU. It decides nothing.

    line   connection.connect(ask, "zero_copy_host.py")      one connection to the device, through the parent
           connection.HOST.map(fd, size)                 the file that the grader shares
           namespaces.install()                          `cupy`, `cupyx`, `cuda.bindings` in this process
    setup  kernels.RawModule._made(cooperative)          what `setup` gets as its module

What it has is CuPy's by name, by order of arguments and by error. What it has not raises `errors.Outside`.

    runtime.py  cupy.cuda.runtime               arrays.py   cupy.ndarray, empty, zeros, asarray, asnumpy
    streams.py  Device, Stream, Event, Graph    kernels.py  RawModule, RawKernel, cupy.cuda.driver
    memory.py   memory, pools, pinned memory    bindings.py cuda.bindings.runtime
"""
