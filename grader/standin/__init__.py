"""A stand-in for the part of CuPy that host exercises use, over the simulator: for machines without a GPU.

    client/      what the host file imports as `cupy`: runs in the host file's process and decides nothing
    protocol.py  what it asks of the device, call by call, and those calls as messages between processes
    device/      streams, events, memory, order, conflicts and the modelled clock: runs in the simulator's process

The host file's process is hostile, so it holds neither device memory nor findings. It may import nothing of `device`.
"""
