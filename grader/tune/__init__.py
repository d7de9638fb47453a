"""`grade tune`: every combination of a file's integer constants, compiled, checked and timed.

settings   the values to try, and the file's text with them; pure functions
build      compile and assemble each combination: its resources, or why it cannot run
sweep      time all that can run in one warm GPU process, then the best ones again
"""
