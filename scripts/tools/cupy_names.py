"""Write the names that CuPy has: grader/standin/client/names.txt, of the CuPy that is installed.

python scripts/tools/cupy_names.py

The stand-in tells by this list what needs a GPU from what is written wrongly. It holds the modules and classes that the
stand-in has, with all public names of the real ones.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name
from textwrap import fill
from types import ModuleType

TARGET = Path(__file__).resolve().parents[2] / "grader/standin/client/names.txt"
HEAD = "# Written by scripts/tools/cupy_names.py: public names of CuPy {}, by module or class.\n"


def names_file() -> str:
    """The whole file."""
    import cupy

    parts = [HEAD.format(cupy.__version__)]
    for name in _owners():
        public = sorted(one for one in dir(resolve_name(name)) if not one.startswith("_"))
        parts.append(f"\n[{name}]\n{fill(' '.join(public), 120, break_long_words=False, break_on_hyphens=False)}\n")
    parts.append(f"\n[modules]\n{fill(' '.join(sorted(_modules())), 120, break_on_hyphens=False)}\n")
    return "".join(parts)


def _owners() -> list[str]:
    """The modules of the stand-in, and its classes whose attributes it answers for."""
    from grader.standin.client import namespaces
    from grader.standin.client.errors import Closed

    made = namespaces.modules()
    classes = {
        one._full_name
        for module in made.values()
        for one in vars(module).values()
        if isinstance(one, type) and issubclass(one, Closed)
    }
    return [*sorted(name for name in made if name not in ("cuda", "cuda.bindings")), *sorted(classes)]


def _modules() -> Iterator[str]:
    """All modules of the packages that the stand-in stands for, without importing them."""
    for name in ("cupy", "cupyx", "cuda.bindings"):
        package = importlib.import_module(name)
        yield from (name, *(one for place in package.__path__ for one in _below(package, Path(place))))
    yield "cuda"


def _below(package: ModuleType, folder: Path) -> Iterator[str]:
    for path in folder.rglob("*"):
        parts = (*path.relative_to(folder).parts[:-1], path.name.split(".")[0])
        is_module = path.suffix in (".py", ".so") or (path.is_dir() and (path / "__init__.py").is_file())
        if is_module and not any(part.startswith("_") for part in parts):
            yield ".".join((package.__name__, *parts))


if __name__ == "__main__":
    TARGET.write_text(names_file(), encoding="utf-8")
