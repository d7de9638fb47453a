"""Finding NVRTC, ptxas and CUDA's headers, without importing CuPy or loading a library.

Wheels come first (their releases match), then the system's CUDA folders, then `cuda.pathfinder` (conda, the loader's
cache). The first NVRTC is used; ptxas and headers are preferred from the same place.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from grader.errors import Unsupported
from grader.frozen import dataclass

INSTALL = "pip install 'warpgrade[cuda12]'"
Version = tuple[int, int]
_TARGET = "sbsa-linux" if os.uname().machine == "aarch64" else "x86_64-linux"  # as toolkits name their folders
_SYSTEM = (Path("/usr/local/cuda"), Path("/opt/cuda"), Path(sys.prefix), Path(sys.prefix, "targets", _TARGET))

# What a submission may include, each with one of its headers.
_HEADERS = {
    "CUDA headers (cuda_fp16.h, mma.h, cooperative_groups.h)": "cuda_fp16.h",
    "crt headers (for mma.h)": "crt/mma.h",
    "nv/target (for cuda_fp16.h)": "nv/target",
    "libcu++ (<cuda/std/…>)": "cuda/std/type_traits",
    "CUB": "cub/cub.cuh",
    "Thrust": "thrust/version.h",
    "CuPy's headers (<cupy/complex.cuh>)": "cupy/complex.cuh",
}


@dataclass(frozen=True)
class Toolchain:
    """NVRTC with its assembler and headers.

    ``missing`` names what was not found, with the command that installs it.
    """

    nvrtc_version: Version | None
    nvrtc_library: Path | None
    ptxas: Path | None
    include_dirs: tuple[Path, ...]
    missing: tuple[str, ...] = ()

    @property
    def ptxas_version(self) -> Version | None:
        """Release of ptxas, from the program itself; None if there is none or it does not start."""
        return None if self.ptxas is None else ptxas_version(self.ptxas)

    @property
    def nvrtc_builtins(self) -> Path | None:
        """The library with NVRTC's built-in functions, which NVRTC loads at the first compilation."""
        return None if self.nvrtc_library is None else _builtins(self.nvrtc_library)

    def fingerprint(self) -> str:
        """Paths, sizes and times of the compiler and of one header of each kind; a part of cache keys."""
        markers = [folder / marker for folder in self.include_dirs for marker in _HEADERS.values()]
        files = [path for path in (self.nvrtc_library, *markers) if path is not None and path.exists()]
        return "\n".join(f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in files)


@cache
def find_toolchain() -> Toolchain:
    """The toolchain of this machine; searched once per process."""
    library = next(_libraries(), None) or _pathfinder_library()
    ptxas = _ptxas(library)
    folders, absent = _include_dirs(library)
    missing = [f"{name}: {INSTALL}" for name in absent]
    if ptxas is None:
        missing.insert(0, f"ptxas, the assembler (for a GPU, and for what a GPU would refuse): {INSTALL}")
    if library is None:
        missing.insert(0, f"NVRTC, the compiler: {INSTALL}")
    version = None if library is None else _nvrtc_version(library)
    return Toolchain(version, library, ptxas, folders, tuple(missing))


def require_nvrtc(toolchain: Toolchain) -> Path:
    """NVRTC's library. Raises Unsupported, with the command that installs it, if there is none."""
    if toolchain.nvrtc_library is not None:
        return toolchain.nvrtc_library
    if sys.platform == "darwin":
        raise Unsupported(
            "NVIDIA's compiler NVRTC does not exist for macOS",
            hint="use a Linux container, or a notebook service with Linux machines; no GPU is needed",
        )
    raise Unsupported("NVIDIA's compiler NVRTC is not installed", hint=f"install it: {INSTALL} (no GPU is needed)")


@cache
def ptxas_version(ptxas: Path) -> Version | None:
    """The release from ``ptxas --version``, e.g. ``(12, 9)``; None if it cannot be started."""
    try:
        answer = subprocess.run([ptxas, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r"release (\d+)\.(\d+)", answer)
    return (int(match[1]), int(match[2])) if match else None


def _wheel_folders() -> Iterator[Path]:
    """Folders of NVIDIA's wheels: CUDA 13 has one for everything, CUDA 12 one per component."""
    for entry in dict.fromkeys(sys.path):
        root = Path(entry or ".", "nvidia")
        if entry and root.is_dir():
            for names in (("cuda_nvrtc", "cuda_runtime", "cuda_nvcc", "cuda_crt", "cuda_cccl"), ("cu13",)):
                yield from (root / name for name in names if (root / name).is_dir())


def _system_folders() -> tuple[Path, ...]:
    named = [os.environ.get(name) for name in ("CUDA_PATH", "CUDA_HOME")]
    nvcc = shutil.which("nvcc")
    candidates = [Path(folder) for folder in named if folder]
    candidates += [Path(nvcc).resolve().parent.parent] if nvcc else []
    candidates += _SYSTEM
    return tuple(dict.fromkeys(folder for folder in candidates if folder.is_dir()))


def _libraries() -> Iterator[Path]:
    for folder in (*_wheel_folders(), *_system_folders()):
        for name in ("lib", "lib64"):
            # Not libnvrtc.alt.so: the variant for old C libraries; not libnvrtc-builtins.
            libraries = sorted((folder / name).glob("libnvrtc.so*"), key=lambda path: (len(path.name), path.name))
            yield from (library.resolve() for library in libraries if _builtins(library.resolve()))


def _builtins(library: Path) -> Path | None:
    found = sorted(library.parent.glob("libnvrtc-builtins.so.*"), key=lambda path: len(path.name))
    return found[0] if found else None


def _nvrtc_version(library: Path) -> Version | None:
    builtins = _builtins(library)
    match = re.search(r"\.so\.(\d+)\.(\d+)", builtins.name if builtins else "")
    return (int(match[1]), int(match[2])) if match else None


def _ptxas(library: Path | None) -> Path | None:
    """The first ptxas that is not older than NVRTC, else the first; scripts that call another program come last."""
    named = shutil.which("ptxas")
    inside = [(folder / "bin" / "ptxas").resolve() for folder in (*_wheel_folders(), *_system_folders())]
    programs = [path for path in inside if os.access(path, os.X_OK)] + ([Path(named).resolve()] if named else [])
    found = sorted(dict.fromkeys(programs), key=is_script)
    wanted = None if library is None else _nvrtc_version(library)
    if len(found) > 1 and wanted is not None:
        return next((path for path in found if (ptxas_version(path) or (0, 0)) >= wanted), found[0])
    return next(iter(found), None)


def is_script(program: Path) -> bool:
    """Whether a program is a script: on some systems `ptxas` on the PATH is one that starts the real program."""
    try:
        with program.open("rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return True


def _include_dirs(library: Path | None) -> tuple[tuple[Path, ...], list[str]]:
    """The first folder that has each header of `_HEADERS`, in NVRTC's release if possible; and the missing headers."""
    candidates = list(dict.fromkeys(_include_candidates(library)))
    folders: list[Path] = []
    absent = []
    for name, marker in _HEADERS.items():
        folder = next((folder for folder in candidates if (folder / marker).is_file()), None)
        if folder is None:
            absent.append(name)
        elif folder not in folders:
            folders.append(folder)
    return tuple(folders), absent


def _include_candidates(library: Path | None) -> Iterator[Path]:
    wheels, system = list(_wheel_folders()), list(_system_folders())
    # NVRTC's own folder comes first: its headers are of the same release.
    nvrtc = [folder for folder in (*wheels, *system) if library is not None and folder.resolve() in library.parents]
    yield from _inside((*nvrtc, *wheels))
    for entry in dict.fromkeys(sys.path):
        cupy = Path(entry, "cupy/_core/include")
        if entry and cupy.is_dir():
            yield from (cupy / "cupy/_cccl" / name for name in ("libcudacxx", "cub", "thrust"))
            yield cupy
    yield from _inside(system)


def _inside(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        yield folder / "include"
        yield folder / "include" / "cccl"
        yield folder / "targets" / _TARGET / "include"


def _pathfinder_library() -> Path | None:
    """Last resort: the library that cuda.pathfinder would load (conda, the loader's cache)."""
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib

        found = load_nvidia_dynamic_lib("nvrtc").abs_path
    except (ImportError, RuntimeError, OSError):
        return None
    return Path(found).resolve() if found and _builtins(Path(found).resolve()) else None
