"""What a machine reaches, beside the course: the solutions timed, and a profiler's counters beside the simulator's.

solutions.py    `grade bench`: every solution at its timed size, libraries on the same arrays, the GPU's ceilings
report.py       its records, as Markdown and JSON
profile.py      `grade profile`: one submission under Nsight Compute and on the simulator
"""
