"""The tests' course, whose exercise `scale` has a variant."""

from __future__ import annotations

import shutil
from pathlib import Path

from grader.catalog.courses import Course, CourseExercise, course_at, exercise_files, read_exercise

COURSE = Path(__file__).parent / "course"
TASK = "y[i] = factor * x[n - 1 - i]: x is read from its end"
EDIT = """\
// variant: backwards
// Each thread writes its own element and reads the one on the other side.
--- scale.cu
+++ scale.cu
@@ -1,1 +1,1 @@
-// scale: y[i] = factor · x[i], one thread for each element.
+// scale: y[i] = factor · x[n - 1 - i], one thread for each element.
--- scale.solution.cu
+++ scale.solution.cu
@@ -1,1 +1,1 @@
-// scale: y[i] = factor · x[i], one thread for each element.
+// scale: y[i] = factor · x[n - 1 - i], one thread for each element.
@@ -9,1 +9,1 @@
-        y[i] = factor * x[i];
+        y[i] = factor * x[n - 1 - i];
--- README.md
+++ README.md
@@ -3,1 +3,1 @@
-Multiply each of `n` floats by `factor`: `y[i] = factor · x[i]`. One thread takes one element.
+Multiply `n` floats by `factor`, from the end: `y[i] = factor · x[n - 1 - i]`. One thread takes one element.
"""
ORACLE = '''

def backwards(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``y[i] = factor · x[n-1-i]``."""
    return {"y": numbers["factor"] * inputs["x"].astype(np.float64)[::-1]}
'''


def course_with_variant(folder: Path) -> Course:
    """Write the course into a new folder."""
    shutil.copytree(COURSE, folder)
    shutil.rmtree(folder / "exercises/01_first/total")
    scale = folder / "exercises/01_first/scale"
    text = (scale / "exercise.py").read_text().replace("Values, Work", "Values, Variant, Work")
    variants = f'    variants=(Variant("backwards", task="{TASK}", oracle="mini:backwards"),),\n)'
    (scale / "exercise.py").write_text(text.rstrip().removesuffix(")") + variants)
    (scale / "variants").mkdir()
    (scale / "variants/backwards.diff").write_text(EDIT)
    with (folder / "kernels_ref/mini.py").open("a") as oracles:
        oracles.write(ORACLE)
    return course_at(folder)


def exercise_with_variant(folder: Path) -> CourseExercise:
    """The exercise `scale` of such a course, in a new folder."""
    course = course_with_variant(folder)
    entry = read_exercise(exercise_files(course.exercises)[0], course)
    assert isinstance(entry, CourseExercise)
    return entry
