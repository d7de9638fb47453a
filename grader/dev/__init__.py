"""For authors of exercises: `grade dev check`, the course's check of itself, and its parts.

check.py        one exercise, and the command
report.py       its results: problems, and a report for each exercise
slices.py       results stored as they arrive, so that a later run continues where one stopped
static.py       checks without grading: exercise.py, stub against solution, statement, hints and interview page
statement.py    the form of a statement: its parts, words and values
questions.py    the interview questions: what one listens for, and every draw of every generator
verdicts.py     the verdicts of stub, solution and wrong answers; figures of a statement, counted again
wrong.py        the wrong answers of an exercise, whole files and edits of the solution
edits.py        unified diffs: read, applied exactly, written, adapted to a changed text
ladders.py      steps that share their arrays and sizes, each compared with the one before
grading.py      grades many files at once, through the pipeline that the command `grade` uses
new.py          the files of a new exercise
"""
