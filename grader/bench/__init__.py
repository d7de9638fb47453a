"""Benchmarks of a machine: times of the solutions, and a profiler's counters compared with the simulator's.

solutions.py    `grade bench`: every solution at its timed size, libraries on the same arrays, the GPU's ceilings
report.py       the records of a bench run, as Markdown and JSON
profile.py      `grade profile`: one submission under Nsight Compute and on the simulator
"""
