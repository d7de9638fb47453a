from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from grader.compile import Program, cache, compile_source, nvrtc
from grader.errors import GraderFault, SubmissionError
from grader.paths import cache_folder as place

Compile = Callable[[str], Program]

KERNEL = (
    b'extern "C" __global__ void k(float *a, int2 b) { __shared__ int s[3]; s[threadIdx.x] = b.x; int u; *a = s[b.y]; }'
)


def stop_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on a compilation fails."""
    monkeypatch.setattr(nvrtc, "CHILD", "no_such_module")


def test_a_program_comes_from_the_cache_unchanged(compiled: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    program = compile_source(KERNEL, "kernel.cu")
    stop_compiling(monkeypatch)
    assert compile_source(KERNEL, "kernel.cu") == program


@pytest.mark.parametrize("change", ["source", "name", "target", "headers"])
def test_whatever_changes_the_result_misses_the_cache(
    compiled: Compile, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    compile_source(KERNEL, "kernel.cu")
    stop_compiling(monkeypatch)
    if change == "headers":
        monkeypatch.setattr(nvrtc, "_stand_ins", lambda: "others")
    with pytest.raises(GraderFault):
        compile_source(
            KERNEL + b"\n" * (change == "source"),
            "other.cu" if change == "name" else "kernel.cu",
            target="sm_90" if change == "target" else "sm_80",
        )


@pytest.mark.parametrize("damage", [b"", b"x", None])
def test_a_damaged_entry_is_compiled_again(compiled: Compile, cache_folder: Path, damage: bytes | None) -> None:
    program = compile_source(KERNEL, "kernel.cu")
    (entry,) = (cache_folder / "compile").iterdir()
    whole = entry.read_bytes()
    entry.write_bytes(whole.replace(b"sm_80", b"sm_99") if damage is None else damage)
    assert compile_source(KERNEL, "kernel.cu") == program
    assert entry.read_bytes() == whole


def test_an_error_is_not_kept(compiled: Compile, cache_folder: Path) -> None:
    with pytest.raises(SubmissionError):
        compile_source(b"nonsense", "kernel.cu")
    assert not (cache_folder / "compile").exists()


def test_a_cache_that_cannot_be_written_is_no_error(compiled: Compile, cache_folder: Path) -> None:
    cache_folder.write_text("a file where the folder should be")
    assert compile_source(KERNEL, "kernel.cu").entry("k")


def test_without_cache_nothing_is_written(compiled: Compile, cache_folder: Path) -> None:
    compile_source(KERNEL, "kernel.cu", cache=False)
    assert not cache_folder.exists()


def test_an_unfinished_write_leaves_no_entry(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, target: Path) -> Path:
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", full)
    cache.store("compile", "key", {"a": 1})
    assert list((cache_folder / "compile").iterdir()) == []
    assert cache.load("compile", "key") is None


def test_a_folder_that_grew_too_large_loses_its_older_half(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "ENTRY_LIMIT", 4)
    for number in range(6):
        cache.store("kind", str(number), number)
    assert cache.load("kind", "5") == 5
    assert len(list((cache_folder / "kind").iterdir())) <= 4


def test_keys_tell_where_one_part_ends_and_the_next_begins() -> None:
    assert cache.digest("ab", "c") != cache.digest("a", "bc")


def test_the_environment_names_the_folder_of_the_cache(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert place("compile") == cache_folder / "compile"
    monkeypatch.delenv("WARPGRADE_CACHE")
    assert "warpgrade" in str(place())
