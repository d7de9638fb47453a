"""A class as pages, gradebooks and files of other systems: pure functions of its records.

    Gradebook ─▶ document.py (warpgrade/class/1) · teacher.py, student.py, leaderboard.py (pages)
              ─▶ tables.py, canvas.py, moodle.py (CSV) · platforms.py (Gradescope, Classroom 50, JUnit)

Names, ids, file names and everything that a submission printed are hostile: each renderer neutralises them itself.
No seed is in any of them, and what a student sees is made by `shown.for_student` alone.
"""
