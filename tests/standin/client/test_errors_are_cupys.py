"""What CuPy refuses before it needs a GPU, the stand-in refuses with the same error: each call is made to both."""

from __future__ import annotations

import numpy as np
import pytest

real = pytest.importorskip("cupy")

FLOATS = np.zeros(4, np.float32)


def array(cupy, shape=(4,)):
    """An array at an address where nothing is: nobody may look there."""
    cuda = cupy.cuda
    return cupy.ndarray(shape, np.float32, cuda.MemoryPointer(cuda.UnownedMemory(4096, 64, None, 0), 0))


def launch(cupy, grid, block):
    function = cupy.cuda.Function.__new__(cupy.cuda.Function)
    function(grid, block, (), stream=cupy.cuda.Stream.null)


def change_allocator_inside(cupy):
    with cupy.cuda.using_allocator(None):
        cupy.cuda.set_allocator(None)


REFUSED = {
    "a negative extent": lambda cupy: cupy.empty((2, -1)),
    "an extent that is not whole": lambda cupy: cupy.empty((2.5,)),
    "a size that is not whole": lambda cupy: cupy.zeros(1000 / 2),
    "set of a list": lambda cupy: array(cupy).set([1, 2, 3, 4]),
    "set of another type": lambda cupy: array(cupy).set(np.zeros(4)),
    "set of another shape": lambda cupy: array(cupy).set(np.zeros(5, np.float32)),
    "assignment of an array of the host": lambda cupy: array(cupy).__setitem__(slice(1, 3), FLOATS[1:3]),
    "assignment of a list": lambda cupy: array(cupy).__setitem__(slice(None), [0.0] * 4),
    "fill with an array": lambda cupy: array(cupy).fill(FLOATS),
    "a NumPy array of it": lambda cupy: np.asarray(array(cupy)),
    "an element that is not there": lambda cupy: array(cupy)[7],
    "the length of a number": lambda cupy: len(array(cupy, ())),
    "a shape of another size": lambda cupy: array(cupy).reshape(3, -1),
    "a view that does not divide": lambda cupy: array(cupy, (3,)).view(np.float64),
    "an array as an address": lambda cupy: cupy.cuda.runtime.memcpy(array(cupy), 4096, 16, 4),
    "an array of the host as an address": lambda cupy: cupy.cuda.runtime.hostRegister(FLOATS, 16, 0),
    "an address of NumPy's": lambda cupy: cupy.cuda.runtime.hostRegister(np.int64(4096), 16, 0),
    "a stream as a handle": lambda cupy: cupy.cuda.runtime.streamSynchronize(cupy.cuda.Stream.null),
    "a wait for no event": lambda cupy: cupy.cuda.Stream.null.wait_event(None),
    "an event between processes with a time": lambda cupy: cupy.cuda.Event(interprocess=True),
    "a capture of the default stream": lambda cupy: cupy.cuda.Stream.null.begin_capture(),
    "a graph that was not captured": lambda cupy: cupy.cuda.Graph(),
    "a grid that is no tuple": lambda cupy: launch(cupy, 4, (256,)),
    "a grid that is not whole": lambda cupy: launch(cupy, (1000 / 256,), (256,)),
    "a block that is not whole": lambda cupy: launch(cupy, (4,), (256.0,)),
    "an allocator inside of another": change_allocator_inside,
}


def refusal(call, cupy):
    """The type of the error that ends a call; None where there is none."""
    try:
        call(cupy)
    except Exception as error:
        return type(error)
    return None


@pytest.mark.parametrize("call", REFUSED.values(), ids=[*REFUSED])
def test_what_cupy_refuses_the_stand_in_refuses_with_the_same_error(call, standin):
    expected = refusal(call, real)
    assert expected not in (None, real.cuda.runtime.CUDARuntimeError), "that got as far as a GPU"
    assert refusal(call, standin.cupy) is expected
    assert standin.device.calls == []


def test_both_default_streams_at_once_are_the_legacy_one(standin):
    assert standin.cupy.cuda.Stream(null=True, ptds=True).ptr == real.cuda.Stream(null=True, ptds=True).ptr == 0
