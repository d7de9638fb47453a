"""A class: submissions collected, graded by workers, stored as they arrive, and reported.

    assignment.toml, class.key   what is graded, and the secret of its inputs     assignment.py, key.py
    submissions.json             who submitted which file when                    collect/
    results.sqlite               the results, stored as they arrive               store.py, run.py, worker.py, engines
    pages, gradebooks            pure functions of the records                    gradebook.py; grader/render

docs/design/028-classes.md has the reasons.
"""
