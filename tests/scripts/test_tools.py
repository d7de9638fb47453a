"""The scripts that keep the repository in order: each finds what it looks for, and finds nothing here."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import bench
import hygiene
import markdown_check
import pytest
import write_docs
from ptx_forms import ptx_forms

from grader.compile import compile_source
from grader.compile.toolchain import find_toolchain
from grader.simt.isa import FORMS
from grader.simt.ptx import parse

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = ("setup", "try", "test", "check", "fix", "docs", "bench", "ladders")

# ------------------------------------------------------------------------------------------------------ generated pages


def test_generated_pages_are_up_to_date():
    assert list(write_docs.generated(write=False)) == []


def test_a_page_that_is_out_of_date_is_a_finding_and_is_written_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(write_docs, "ROOT", tmp_path)
    monkeypatch.setattr(write_docs, "GENERATED", {"page.md": lambda: "new\n"})
    monkeypatch.setattr(write_docs, "measured_pages", dict)
    monkeypatch.setattr(write_docs, "pages_with_pictures", lambda texts: {})
    (tmp_path / "page.md").write_text("old\n")
    assert list(write_docs.generated(write=False)) == ["page.md: out of date; scripts/docs writes it"]
    assert list(write_docs.generated(write=True)) == []
    assert (tmp_path / "page.md").read_text() == "new\n"


def test_the_page_of_forms_has_every_form_with_every_example():
    page = ptx_forms()
    for forms in FORMS.values():
        for form in forms:
            if "_" not in form.opcode:
                assert f"- `{form.syntax}`\n" in page
                assert all(f"  - `{example.text}`" in page for example in form.examples)


# ---------------------------------------------------------------------------------------------------------------- pages


def findings(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> list[str]:
    monkeypatch.setattr(markdown_check, "ROOT", folder)
    (folder / "other.md").write_text("# A title\n\n## The second, of `two`\n")
    (folder / "page.md").write_text(text)
    return list(markdown_check.findings(folder / "page.md"))


@pytest.mark.skipif(not (ROOT / "grader").is_dir(), reason="the tests of the wheel have no whole clone")
@pytest.mark.parametrize("page", markdown_check.pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_leads_to_what_exists(page):
    assert list(markdown_check.findings(page)) == []


@pytest.mark.parametrize(
    "text",
    ["[a](other.md)", "[a](other.md#the-second-of-two)", "[a](https://example.org/none)", "`grade list`",
     "`grade reduce_v3 --solution`", "```\n$ grade list --json\n```", "`grade dev check --course DIR`", "`grade NAME…`",
     "```\n[a](none.md)\n```"],
)  # fmt: skip
def test_what_exists_is_no_finding(tmp_path, monkeypatch, text):
    assert findings(tmp_path, monkeypatch, text) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[a](none.md)", "none.md leads nowhere"),
        ("[a](other.md#third)", "no heading #third"),
        ("`grade reduce_v99`", "no command or exercise"),
        ("```\ngrade lst\n```", "no command or exercise"),
        ("`grade list --solution`", "no option --solution"),
        ("`grade reduce_v3 --fast`", "no option --fast"),
        ("`scripts/none`", "there is no scripts/none"),
        ("`softmax_v9` saves one", "there is no exercise softmax_v9"),
        ("the tree of reduce_v11", "there is no exercise reduce_v11"),
    ],
)
def test_what_does_not_exist_is_a_finding(tmp_path, monkeypatch, text, words):
    assert any(words in finding for finding in findings(tmp_path, monkeypatch, text))


def test_a_page_of_the_course_names_only_what_exists(tmp_path, monkeypatch):
    page = tmp_path / "exercises" / "README.md"
    page.parent.mkdir()
    page.write_text("`scan_of_blocks` comes next; `block_sum` is given, `reduce_v3` is an exercise.")
    page.with_name("k.cu").write_text("__device__ float block_sum(float value);")
    monkeypatch.setattr(markdown_check, "ROOT", tmp_path)
    monkeypatch.setattr(markdown_check, "_words", markdown_check._words.__wrapped__)
    assert list(markdown_check.findings(page)) == ["exercises/README.md: nothing has the name scan_of_blocks"]


# -------------------------------------------------------------------------------------------------------------- hygiene


@pytest.mark.parametrize(
    "line",
    ["# TO" + "DO: later", "x = 1  # no" + "qa", "x = 1  # no" + "qa: F401", "x = 1  # type: ig" + "nore[arg-type]",
     "see /ho" + "me/me/file", f"cd {ROOT}"],
)  # fmt: skip
def test_what_does_not_belong_in_a_line_is_found(line):
    assert list(hygiene.broken_rules(line)) != []


@pytest.mark.parametrize(
    "line",
    ["x = 1  # no" + "qa: F401  # registers itself", "todo", "a/home/b/c", "y = f()  # type: ig" + "nore[a]  # why"],
)
def test_a_silenced_check_with_its_reason_is_fine(line):
    assert list(hygiene.broken_rules(line)) == []


@pytest.mark.parametrize(
    ("name", "size", "words"), [("ipython-9.whl", 10, ".whl file"), ("table.md", 200_001, "200001 bytes")]
)
def test_what_is_made_elsewhere_or_too_large_does_not_belong_here(tmp_path, monkeypatch, name, size, words):
    monkeypatch.setattr(hygiene, "ROOT", tmp_path)
    (tmp_path / name).write_bytes(b"x" * size)
    (found,) = hygiene.misplaced(tmp_path / name)
    assert words in found


def test_a_page_of_ordinary_size_belongs_here(tmp_path, monkeypatch):
    monkeypatch.setattr(hygiene, "ROOT", tmp_path)
    (tmp_path / "page.md").write_text("x" * 1000)
    assert list(hygiene.misplaced(tmp_path / "page.md")) == []


# --------------------------------------------------------------------------------------------------- bench and commands


@pytest.mark.slow
@pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")
@pytest.mark.parametrize("threads", bench.THREADS)
@pytest.mark.parametrize("task", bench.tasks(), ids=lambda task: task.name)
def test_the_kernels_of_the_bench_give_what_numpy_gives(task, threads):
    source = (bench.KERNELS / f"{task.name}.cu").read_bytes()
    module = parse(compile_source(source, f"{task.name}.cu").ptx)
    assert bench.launch_times(task, module, threads, bench.SETS["all"], runs=1).best_s > 0


def test_a_target_is_missed_by_a_median_above_it():
    times = bench.Times(0.2, 0.1)
    assert bench.missed(bench.Row("a", times, target_s=0.15))
    assert not bench.missed(bench.Row("a", times, target_s=0.2))
    assert not bench.missed(bench.Row("a", times))
    assert bench.table([bench.Row("a", times, target_s=0.15)]).endswith("| no  |")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_script_is_executable_and_plain_sh(name):
    script = ROOT / "scripts" / name
    assert os.access(script, os.X_OK)
    assert script.read_text().startswith("#!/bin/sh\n")
    assert subprocess.run(["sh", "-n", str(script)], capture_output=True, check=False).returncode == 0
