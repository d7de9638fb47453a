"""What a library reaches with the same work: CuPy and cuBLAS calls, timed beside a solution by `grade bench`.

`execution.py` has controls instead: a solution's kernel without the one thing that its exercise is about.

A baseline is named ``"module:function"``, like an oracle, and prepared once, untimed:

    run = function(arrays, numbers)       arrays: name -> 1-D cupy.ndarray, inputs and outputs of the exercise
    run()                                 timed: queues the library's work on the current stream

``run`` writes the output where the library lets one choose it, and allocates from CuPy's pool where not: call it once
before timing. A module imports CuPy only when a function is called. A host exercise's arrays are NumPy arrays in
pinned memory, and its ``run`` returns when the output is complete.
"""
