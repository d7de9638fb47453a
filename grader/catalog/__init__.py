"""The exercises of all courses: folders, their `exercise.py`, and names resolved."""
