"""How a grade is made: `grader.grading.grade.grade(Request) -> Verdict`.

services.py    which backends, timer, oracle and limits serve a submission on this machine: the request
records.py     what the stages hand to one another
texts.py       the files as they were when grading began
cases.py       sizes, inputs and expected outputs
run.py         the stages `runs` and `correct` on one backend
judge.py       findings to verdict: stages, words, diagnostics in order
fast.py        the stage `fast`: a submission's samples against its pass line; fast_hostfile.py, a host exercise's
technique.py   counters against expectations; shape.py, the counters that need no run
"""
