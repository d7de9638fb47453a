"""The trusted side of the course: what the right answer is, and what a library reaches.

    elementwise.py, reduction.py, …    oracles: NumPy on the host, in float64
    device/, baselines/, ceilings/     on a GPU: checking kernels, library calls, the simplest kernels
    host/                              on a GPU: what timed host exercises are measured against

An oracle is named ``"module:function"`` by an ``exercise.py`` and called as

    outputs = function(inputs, numbers)

``inputs`` maps each input array's name to its 1-D array as the kernel gets it; ``numbers`` maps the case's sizes and
the exercise's scalars to their values; the result maps each output array's name to a 1-D float64 array. An oracle
computes in float64 and changes nothing. Each module stands alone: a course may be anywhere on disk.
"""
