"""For people who write exercises: `grade dev check`, the course's check of itself, and what it checks.

check.py        one exercise, and the command: what is wrong, in words
expectations.py the first line of a wrong answer: which verdict it must get, and where
wrong.py        the wrong answers of an exercise, whole files and edits of the solution
edits.py        unified diffs: read, applied exactly, written, moved to a changed text
sources.py      a stub is its solution minus lines
statements.py   statement, hints and interview page; the statement's own words against the exercise
facts.py        exercise.py against what it names: counters, oracles, checks, ceilings, its own comparison
verdicts.py     what stub, solution and wrong answers were graded to, against what they should be
claims.py       figures of a statement, counted again
laboratory.py   grades many files at once, through the pipeline that the command `grade` uses
kept.py         the simulator with child processes that serve one program after another
"""
