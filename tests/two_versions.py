"""A made-up course with a ladder of three steps, and its second version, which has a new step between the first two."""

from __future__ import annotations

from pathlib import Path

from grader.catalog.exercises import load_catalog
from grader.dev.move import move_step

EXERCISE = """\
from grader import Array, Exercise

EXERCISE = Exercise(
    name={name!r}, order={order}, idea="a sum", oracle="reduction:sum", simulated={{"n": 64}}, ladder="sum",
    arrays=(Array("x", "float32", "n"), Array("out", "float32", "1", role="out")), small=({{"n": 1}},), host={host},
)
"""
STUB = """\
// {name}: {idea}.

// launch {name}(x, out, n): grid=1 block={block}

extern "C" __global__ void {name}(const float* x, float* out, int n)
{{
{given}{work}}}
"""
STEPS = {
    "one_thread": (
        "one thread adds up everything, element by element",
        "1",
        "    float sum = 0.0f;\n",
        "    for (int i = 0; i < n; ++i)\n        sum += x[i];\n    *out = sum;\n",
    ),
    "two_sums": (
        "one thread keeps two sums, so that one addition need not wait for the other",
        "1",
        "    float even = 0.0f;\n    float odd = 0.0f;\n",
        "    for (int i = 0; i < n; i += 2)\n        even += x[i];\n    *out = even + odd;\n",
    ),
    "a_block": (
        "the threads of a block add up a share each, into shared memory",
        "256",
        "    __shared__ float partial[256];\n    int thread = threadIdx.x;\n",
        "    for (int i = thread; i < n; i += 256)\n        partial[thread] += x[i];\n    __syncthreads();\n",
    ),
    "a_warp": (
        "the lanes of a warp add up with shuffles",
        "32",
        "    int lane = threadIdx.x % 32;\n    float mine = 0.0f;\n",
        "    for (int s = 16; s > 0; s /= 2)\n        mine += __shfl_down_sync(0xffffffff, mine, s);\n",
    ),
}
HOST = "import cupy\n\n# {idea}\nsum_of_{step} = cupy.zeros(1)\n\n\ndef run():\n    {work}\n"


def kernel(step: str, name: str, *, solved: bool = False) -> str:
    """The stub of a step under this name, or its solution."""
    idea, block, given, work = STEPS[step]
    shown = work if solved else "    // YOUR CODE\n"
    return STUB.format(name=name, idea=idea, block=block, given=given, work=shown)


def host_file(step: str, *, solved: bool = False) -> str:
    return HOST.format(step=step, idea=STEPS[step][0], work=f"launch_{step}()" if solved else "pass  # YOUR CODE")


def write_step(course: Path, step: str, name: str, order: int, *, host: bool = False) -> None:
    exercise, solutions = course / "exercises" / "01_sums" / name, course / "solutions" / "01_sums"
    exercise.mkdir(parents=True)
    solutions.mkdir(parents=True, exist_ok=True)
    (exercise / "exercise.py").write_text(EXERCISE.format(name=name, order=order, host=host))
    (exercise / "README.md").write_text(f"# {name}\n\nThe file is `{name}.cu`.\n")
    (exercise / "hints.md").write_text("## 1\n\nAdd.\n\n## 2\n\nAdd it up.\n")
    (exercise / f"{name}.cu").write_text(kernel(step, name))
    (solutions / f"{name}.cu").write_text(kernel(step, name, solved=True))
    if host:
        (exercise / f"{name}_host.py").write_text(host_file(step))
        (solutions / f"{name}_host.py").write_text(host_file(step, solved=True))


def first_version(course: Path, *, host: bool = False) -> Path:
    """sum_v1: one thread; sum_v2: a block; sum_v3: a warp."""
    for number, step in enumerate(("one_thread", "a_block", "a_warp"), start=1):
        write_step(course, step, f"sum_v{number}", 9000 + number, host=host)
    return course


def move(course: Path, name: str, to: str | None, version: int) -> None:
    catalog = load_catalog([course])
    move_step(catalog.find(name), to, version, catalog.exercises)


def second_version(course: Path, *, host: bool = False) -> Path:
    """sum_v2 is new, with two sums; the block is sum_v3, the warp sum_v4."""
    for name, to, order in (("sum_v3", "sum_v4", 9003), ("sum_v2", "sum_v3", 9002)):
        move(course, name, to, 2)
        file = course / "exercises" / "01_sums" / to / "exercise.py"
        file.write_text(file.read_text().replace(f"order={order}", f"order={order + 1}"))
    write_step(course, "two_sums", "sum_v2", 9002, host=host)
    return course
