"""`grade tune`: every combination of a file's integer constants, compiled, checked and timed.

settings   the values asked for, and the file's text with them        pure
build      compile and assemble each; what it needs, and why it cannot run
sweep      time all that can run on one warm GPU process, then the best ones again
"""
