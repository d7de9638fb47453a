"""A name that CuPy has needs a GPU; one that CuPy lacks too is a slip, told with the name that was meant."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from cupy_names import names_file

from grader.standin.client import namespaces, streams
from grader.standin.client.errors import Outside, OutsideImport

MADE = namespaces.modules()


@pytest.mark.parametrize(
    ("owner", "name", "told"),
    [
        (MADE["cupy.cuda"], "Strem", "module 'cupy.cuda' has no attribute 'Strem': did you mean Stream?"),
        (MADE["cupy.cuda"], "Streams", "module 'cupy.cuda' has no attribute 'Streams': did you mean Stream?"),
        (MADE["cupy.cuda.runtime"], "memCpyAsync", "did you mean memcpyAsync?"),
        (MADE["cuda.bindings.runtime"], "cudaStreamSetAttrbute", "did you mean cudaStreamSetAttribute?"),
        (MADE["cuda.bindings"], "runtme", "did you mean runtime?"),
        (streams.Stream.null, "syncronize", "'Stream' object has no attribute 'syncronize': did you mean synchronize?"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_a_name_that_cupy_lacks_too_is_told_with_the_name_that_was_meant(owner, name, told):
    with pytest.raises(AttributeError) as caught:
        getattr(owner, name)
    assert told in str(caught.value)
    assert not isinstance(caught.value, Outside)


def test_where_nothing_is_alike_a_small_class_is_told_as_a_whole(standin):
    with pytest.raises(AttributeError, match="'Event' object has no attribute 'wait': it has done, ptr, record and"):
        _ = standin.cupy.cuda.Event().wait


def test_a_slip_is_told_with_its_line(standin):
    with pytest.raises(AttributeError) as caught:
        _ = standin.cupy.cuda.Strem
    line = test_a_slip_is_told_with_its_line.__code__.co_firstlineno + 2
    assert str(caught.value).endswith(f"{Path(__file__).name}:{line})")


@pytest.mark.parametrize(
    ("owner", "name"),
    [("cupy", "fft"), ("cupy.cuda", "nccl"), ("cupy.cuda.runtime", "memcpy2D"), ("cuda.bindings", "driver")],
)
def test_a_name_that_cupy_has_needs_a_gpu(owner, name):
    with pytest.raises(Outside, match="needs a GPU"):
        getattr(MADE[owner], name)


def test_hasattr_and_a_default_work_for_either(standin):
    stream = standin.cupy.cuda.Stream()
    assert not hasattr(stream, "syncronize")
    assert not hasattr(stream, "add_callback")
    assert getattr(standin.cupy.cuda, "Strem", 7) == 7


@pytest.mark.parametrize("name", ["cupy.fft", "cupyx.scipy.signal", "cuda.core", "cuda.bindings.driver"])
def test_a_module_of_the_packages_needs_a_gpu(name):
    with pytest.raises(OutsideImport, match="needs a GPU"):
        namespaces._Finder().find_spec(name)


def test_an_import_of_what_is_nowhere_is_told_with_what_was_meant(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy.cuda", MADE["cupy.cuda"])
    with pytest.raises(ImportError, match=r"there is no cupy\.cuda\.Strem: did you mean Stream\?") as caught:
        namespaces._Finder().find_spec("cupy.cuda.Strem")
    assert not isinstance(caught.value, OutsideImport)


def test_the_list_of_names_is_that_of_the_installed_package():
    cupy = pytest.importorskip("cupy")
    pytest.importorskip("cuda.bindings.runtime")
    if cupy.__version__ != namespaces.VERSION:
        pytest.skip("another version than that of the list")
    kept = Path(namespaces.__file__).with_name("names.txt").read_text(encoding="utf-8")
    assert kept == names_file(), "scripts/tools/cupy_names.py writes it"
