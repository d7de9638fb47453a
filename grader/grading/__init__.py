"""Grading: `grader.grading.grade.grade(Request) -> Verdict`.

services.py    backends, timer, oracle and limits for a submission on this machine: the request
records.py     the records that stages pass on, and the graded files as they were when grading began
cases.py       sizes, inputs and expected outputs
run.py         the stages `runs` and `correct` on one backend; causes.py, likely causes of a wrong output
judge.py       findings to verdict: stages, words, points, diagnostics in order
fast.py        the stage `fast`: samples compared with the pass line; fast_hostfile.py, for host exercises
technique.py   counters of a launch's shape, and expectations on counters
advice.py      the next step; hints/, the hint for each finding
"""
