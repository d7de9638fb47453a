"""What is advised about exceptions of a host file whose cause is plain."""

from __future__ import annotations

import pytest

from grader.catalog.exercises import load_catalog
from grader.exercise import Array, Exercise
from grader.grading.advice import CRASHES, advice_for

EXERCISE = Exercise(
    name="streams", order=903, idea="overlap", oracle="fake:twice", small=({"n": 1},), simulated={"n": 64}, host=True,
    arrays=(Array("x", "float32", "n"), Array("out", "float32", "n", role="out")),
)  # fmt: skip
SOURCE = "import cupy\n\ndef setup(x):\n    pass\n\n\ndef run(x):\n    pass\n"

PLAIN = [
    ("RuntimeError: the current stream is capturing, so H2D transfers are disallowed", "memcpyAsync"),
    ("cudaErrorStreamCaptureUnjoined: stream 2 is part of the capture", "record an event"),
    ("cudaErrorStreamCaptureUnsupported: waiting for the stream is not possible", "before begin_capture"),
    ("cudaErrorStreamCaptureUnsupported: a copy from or to memory that is not pinned", "pin the host's side"),
    ("cudaErrorPeerAccessAlreadyEnabled: device 0 may use the memory of device 1 already", "Catch this error"),
    ("cudaErrorHostMemoryAlreadyRegistered: x is registered", "once, in setup()"),
    ("cudaErrorInvalidValue: only 4096 of the 8000 bytes of x that are copied are pinned: hostRegister", "`x.nbytes`"),
    ("TypeError: setup() takes 1 positional argument but 3 were given", "`def setup(module, x, out)` (line 3)"),
    ("TypeError: run() missing 1 required positional argument: 'x'", "`def run()` (line 7)"),
    ("streams_host.py defines no function run()", "streams_host.py must have"),
    ("CUDA_ERROR_INVALID_VALUE: k has 5 parameters, and 4 arguments are given", "streams.cu"),
    ("TypeError: You are trying to pass a numpy.ndarray of shape (4,) as a kernel parameter", "dx = cupy.empty"),
    ("PermissionError: [Errno 13] Permission denied: 'log.txt' (streams_host.py:4)", "write no files"),
    ("OSError: [Errno 30] Read-only file system", "write no files"),
    ("BdbQuit: ", "Take breakpoint() out"),
    ("EOFError: EOF when reading a line", "Take input() out"),
    ("ModuleNotFoundError: No module named 'torch'", "Is the name right?"),
    ("ImportError: cannot import name 'Strem' from 'cupy.cuda'; did you mean Stream?", "Is the name right?"),
    ("SystemExit: 3", "remove the statement that ends the process"),
]


@pytest.mark.parametrize(("message", "words"), PLAIN, ids=[message.partition(":")[0] for message, _ in PLAIN])
def test_a_plain_cause_has_its_advice(message, words):
    said = advice_for(message, EXERCISE, "streams_host.py", SOURCE)
    assert words in said
    assert said.endswith(". ")


def test_every_row_of_the_table_is_tried_here():
    rows = [advice_for(message, EXERCISE, "streams_host.py", SOURCE) for message, _ in PLAIN]
    assert len(set(rows)) == len(CRASHES)


@pytest.mark.parametrize(
    ("name", "words"),
    [("zero_copy", "devicePointer"), ("unified_memory", "np.uint64(array.ctypes.data)"), ("pinned_copy", "dx.set(x)")],
)
def test_a_numpy_array_as_an_argument_is_answered_in_the_way_of_the_exercise(name, words):
    exercise = next(one.exercise for one in load_catalog().exercises if one.exercise.name == name)
    message = "TypeError: You are trying to pass a numpy.ndarray of shape (4096,) as a kernel parameter (x_host.py:9)"
    assert words in advice_for(message, exercise, f"{name}_host.py", SOURCE)


def test_on_a_gpu_the_same_error_has_the_same_advice():
    word = "cudaErrorPeerAccessAlreadyEnabled: peer access is already enabled"
    said = advice_for(f"CUDARuntimeError: {word}", EXERCISE, "streams_host.py", SOURCE)
    assert said == advice_for(word, EXERCISE, "streams_host.py", SOURCE) != ""


@pytest.mark.parametrize("message", ["KeyError: 'kernel'", "ValueError: SystemExit", "TypeError: fold() takes 1"])
def test_any_other_exception_has_none(message):
    assert advice_for(message, EXERCISE, "streams_host.py", SOURCE) == ""


def test_words_of_the_exception_never_stand_in_the_advice():
    said = advice_for("SystemExit: \x1b[31mall is well", EXERCISE, "streams_host.py", SOURCE)
    assert "all is well" not in said
