"""The exercises of all courses: folders, their `exercise.py`, and finding an exercise by name or number."""
