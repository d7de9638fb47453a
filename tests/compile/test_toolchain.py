from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.compile import toolchain
from grader.compile.toolchain import Toolchain, find_toolchain, ptxas_version, require_nvrtc
from grader.errors import Unsupported

Make = Callable[..., Path]


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with nothing of CUDA on it, and an empty site-packages."""
    site = tmp_path / "site-packages"
    site.mkdir()
    monkeypatch.setattr(sys, "path", [str(site)])
    monkeypatch.setattr(toolchain, "_SYSTEM", ())
    monkeypatch.setattr(toolchain, "_pathfinder_library", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for name in ("CUDA_PATH", "CUDA_HOME"):
        monkeypatch.delenv(name, raising=False)
    return site


def found() -> Toolchain:
    return find_toolchain.__wrapped__()


def nvrtc(folder: Path, version: str, lib: str = "lib") -> Path:
    major = version.partition(".")[0]
    for name in (f"libnvrtc.so.{major}", f"libnvrtc.alt.so.{major}", f"libnvrtc-builtins.so.{version}"):
        touch(folder / lib / name)
    return folder / lib / f"libnvrtc.so.{major}"


def ptxas(folder: Path, version: str) -> Path:
    path = touch(folder / "bin" / "ptxas")
    path.write_text(f"#!/bin/sh\necho 'Cuda compilation tools, release {version}, V{version}.88'\n")
    path.chmod(0o755)
    return path


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def test_the_wheels_of_cuda_12_are_found(bare: Path) -> None:
    nvidia = bare / "nvidia"
    library = nvrtc(nvidia / "cuda_nvrtc", "12.9")
    assembler = ptxas(nvidia / "cuda_nvcc", "12.9")
    touch(nvidia / "cuda_runtime/include/cuda_fp16.h")
    touch(nvidia / "cuda_nvcc/include/crt/mma.h")
    cccl = bare / "cupy/_core/include/cupy/_cccl"
    for header in (
        "libcudacxx/nv/target",
        "libcudacxx/cuda/std/type_traits",
        "cub/cub/cub.cuh",
        "thrust/thrust/version.h",
    ):
        touch(cccl / header)
    touch(bare / "cupy/_core/include/cupy/complex.cuh")
    tools = found()
    assert (tools.nvrtc_library, tools.nvrtc_version) == (library, (12, 9))
    assert tools.nvrtc_builtins == library.parent / "libnvrtc-builtins.so.12.9"
    assert (tools.ptxas, tools.ptxas_version) == (assembler, (12, 9))
    assert tools.include_dirs == (
        nvidia / "cuda_runtime/include",
        nvidia / "cuda_nvcc/include",
        cccl / "libcudacxx",
        cccl / "cub",
        cccl / "thrust",
        bare / "cupy/_core/include",
    )
    assert tools.missing == ()


def test_the_wheels_of_cuda_13_are_found(bare: Path) -> None:
    root = bare / "nvidia/cu13"
    library = nvrtc(root, "13.0")
    assembler = ptxas(root, "13.0")
    for header in ("cuda_fp16.h", "crt/mma.h", "cccl/nv/target", "cccl/cuda/std/type_traits"):
        touch(root / "include" / header)
    tools = found()
    assert (tools.nvrtc_library, tools.nvrtc_version, tools.ptxas) == (library, (13, 0), assembler)
    assert tools.include_dirs == (root / "include", root / "include/cccl")
    assert len(tools.missing) == 3
    assert all("pip install" in line for line in tools.missing)


def test_nvrtc_from_a_wheel_goes_with_the_rest_from_a_toolkit(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = nvrtc(bare / "nvidia/cu13", "13.0")
    touch(bare / "nvidia/cu13/include/nvrtc.h")
    toolkit = bare.parent / "cuda-13.0"
    assembler = ptxas(toolkit, "13.0")
    touch(toolkit / "include/cuda_fp16.h")
    touch(toolkit / "include/crt/mma.h")
    touch(toolkit / "include/cccl/nv/target")
    monkeypatch.setenv("CUDA_PATH", str(toolkit))
    tools = found()
    assert (tools.nvrtc_library, tools.ptxas) == (library, assembler)
    assert tools.include_dirs == (toolkit / "include", toolkit / "include/cccl")


def test_a_toolkit_is_found_beside_nvcc(bare: Path) -> None:
    toolkit = bare.parent
    touch(toolkit / "bin/nvcc").chmod(0o755)
    library = nvrtc(toolkit, "12.4", lib="lib64")
    assembler = ptxas(toolkit, "12.4")
    tools = found()
    assert (tools.nvrtc_library, tools.nvrtc_version, tools.ptxas) == (library, (12, 4), assembler)


def test_an_assembler_older_than_nvrtc_is_passed_over_for_one_that_is_not(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nvrtc(bare / "nvidia/cu13", "13.0")
    ptxas(bare / "nvidia/cuda_nvcc", "12.9")
    newer = ptxas(bare.parent / "toolkit", "13.0")
    monkeypatch.setenv("CUDA_HOME", str(bare.parent / "toolkit"))
    assert found().ptxas == newer


def test_a_library_without_its_builtins_is_no_nvrtc(bare: Path) -> None:
    touch(bare / "nvidia/cuda_nvrtc/lib/libnvrtc.so.12")
    assert found().nvrtc_library is None


def test_a_bare_machine_names_what_is_missing_and_the_command(bare: Path) -> None:
    tools = found()
    assert (tools.nvrtc_library, tools.nvrtc_version, tools.ptxas, tools.ptxas_version) == (None, None, None, None)
    assert len(tools.missing) == 9
    assert all("pip install 'warpgrade[cuda12]'" in line for line in tools.missing)
    with pytest.raises(Unsupported) as raised:
        require_nvrtc(tools)
    assert "pip install" in raised.value.hint


def test_on_macos_the_message_says_what_to_use_instead(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(Unsupported) as raised:
        require_nvrtc(found())
    assert "macOS" in raised.value.message
    assert "container" in raised.value.hint


def test_the_fingerprint_changes_with_the_compiler_and_with_the_headers(bare: Path) -> None:
    library = nvrtc(bare / "nvidia/cuda_nvrtc", "12.9")
    header = touch(bare / "nvidia/cuda_runtime/include/cuda_fp16.h")
    prints = {found().fingerprint()}
    library.write_text("another")
    prints.add(found().fingerprint())
    header.write_text("another")
    prints.add(found().fingerprint())
    assert len(prints) == 3


def test_an_assembler_that_does_not_start_has_no_version(tmp_path: Path) -> None:
    assert ptxas_version(tmp_path / "missing") is None


def test_looking_for_the_tools_imports_no_cupy() -> None:
    import subprocess

    script = (
        "import sys; from grader.compile.toolchain import find_toolchain; find_toolchain()\n"
        "assert not {'cupy', 'numpy', 'cuda.bindings'} & set(sys.modules), 'imported'"
    )
    paths = [path for path in sys.path if path]
    done = subprocess.run(
        [sys.executable, "-c", script], env={"PYTHONPATH": ":".join(paths)}, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_script_on_the_path_gives_way_to_a_program(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ptxas(bare.parent, "13.0")
    program = touch(bare.parent / "toolkit/bin/ptxas")
    program.write_bytes(b"\x7fELF")
    program.chmod(0o755)
    monkeypatch.setenv("CUDA_PATH", str(bare.parent / "toolkit"))
    assert found().ptxas == program
