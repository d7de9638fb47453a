"""How a grade is made: `grader.grading.grade.grade(Request) -> Verdict`.

services.py    which backends, timer, oracle and limits serve a submission on this machine: the request
records.py     what the stages hand to one another, and the files as they were when grading began
cases.py       sizes, inputs and expected outputs
run.py         the stages `runs` and `correct` on one backend; causes.py, what likely caused a wrong output
judge.py       findings to verdict: stages, words, points, diagnostics in order
fast.py        the stage `fast`: a submission's samples against its pass line; fast_hostfile.py, a host exercise's
technique.py   counters that need no run, and counters against expectations
advice.py      the next step; hints/, what to do about each finding
"""
