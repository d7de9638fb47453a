"""The stand-in's CuPy: what a host file imports as `cupy` on a machine without a GPU. It decides nothing.

    start  connection.connect(ask, "zero_copy_host.py")  one connection to the device, through the parent
           connection.HOST.map(fd, size)                 the file that the grader shares
           namespaces.install()                          `cupy`, `cupyx`, `cuda.bindings` in this process
    setup  kernels.RawModule._made(cooperative)          the module argument of `setup`

Names, order of arguments and errors are CuPy's. A name of CuPy that the stand-in does not have raises `errors.Outside`.

    runtime.py  cupy.cuda.runtime               arrays.py   cupy.ndarray, empty, zeros, asarray, asnumpy
    streams.py  Device, Stream, Event, Graph    kernels.py  RawModule, RawKernel, cupy.cuda.driver
    memory.py   memory, pools, pinned memory    bindings.py cuda.bindings.runtime
"""
