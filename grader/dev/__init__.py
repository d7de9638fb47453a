"""For people who write exercises: `grade dev check`, the course's check of itself, and what it checks.

check.py        one exercise, and the command
report.py       what it found: problems, and a report for each exercise
slices.py       results stored as they arrive, so that work on the course goes on where it stopped
static.py       what needs no grading: exercise.py, stub against solution, statement, hints and interview page
verdicts.py     what stub, solution and wrong answers were graded to; figures of a statement, counted again
wrong.py        the wrong answers of an exercise, whole files and edits of the solution
edits.py        unified diffs: read, applied exactly, written, moved to a changed text
ladders.py      steps that share their arrays and sizes, each compared with the one before
grading.py      grades many files at once, through the pipeline that the command `grade` uses
new.py          the files of a new exercise
"""
