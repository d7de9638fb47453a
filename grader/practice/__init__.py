"""Practice: the progress of a user, hints one by one, grading at each save.

    grade NAME ──Run──▶ progress ──▶ standings ──▶ the table, CSV and JSON of `grade progress`
                           ▲
    hints.md ──Hint──▶ number of hints shown

The database belongs to the user and is a convenience: no verdict depends on it, and an error in it stops no command.
"""
