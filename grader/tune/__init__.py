"""`grade tune`: every combination of a file's integer constants, compiled, checked and timed.

settings   the values asked for, and the file's text with them        pure
build      compile and assemble each; what it needs, and why it cannot run
sweep      time all that can run, then the best ones again            pure, but for the timer
on_gpu     the timer: one warm process on the GPU
"""
