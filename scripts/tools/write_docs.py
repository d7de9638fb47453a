"""Write the generated pages of docs/ and the ladders' pictures, then check all Markdown files: links, commands, paths.

python scripts/tools/write_docs.py [--check]

With --check nothing is written; a page that is out of date is a finding. The exit code is 1 if there is a finding.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping

from kinds_table import verdicts_page
from ladders import pages_with_pictures
from markdown_check import ROOT, findings, pages
from measured import measured_pages
from ptx_forms import ptx_forms
from question_functions import questions_page
from standin_names import standin_names

GENERATED: Mapping[str, Callable[[], str]] = {
    "docs/ptx-forms.md": ptx_forms, "docs/standin.md": standin_names, "docs/verdicts.md": verdicts_page,
    "docs/interview-questions.md": questions_page,
}  # fmt: skip
"""Every generated page, and what makes its text."""


def main() -> int:
    """Write or compare the generated pages, then check every page."""
    arguments = argparse.ArgumentParser(description="Write generated documentation, and check all of it.")
    arguments.add_argument("--check", action="store_true", help="write nothing; fail where a page is out of date")
    found = [*generated(write=not arguments.parse_args().check)]
    found += [finding for page in pages() for finding in findings(page)]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


def generated(*, write: bool) -> Iterator[str]:
    """Write the generated pages, or yield those that are out of date."""
    texts = {ROOT / name: make() for name, make in GENERATED.items()}
    texts |= measured_pages()
    texts |= pages_with_pictures(texts)
    for path, text in texts.items():
        if write:
            path.write_text(text, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            yield f"{path.relative_to(ROOT)}: out of date; scripts/docs writes it"


if __name__ == "__main__":
    sys.exit(main())
