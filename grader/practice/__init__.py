"""The habits of practice: what was graded and passed, hints one by one, grading at each save.

    grade NAME ──Run──▶ progress ──▶ standings ──▶ the table, CSV and JSON of `grade progress`
                           ▲
    hints.md ──Hint──▶ how many were shown

The database is a person's own, and a convenience: nothing in it decides a verdict, and none of its troubles stops a
command.
"""
