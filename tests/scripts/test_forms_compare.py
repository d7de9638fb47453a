"""The programs of scripts/forms_compare.py: they compile, assemble and run clean, and a difference is a difference."""

from __future__ import annotations

import re

import forms_compare
import numpy as np
import pytest
from fake_device import FakeDevice
from forms import Form, carries, compare, copies, every_form, mma, moves, objects, wmma
from forms.run import compiled, launched, prepared
from forms.values import values

from grader.compile.toolchain import find_toolchain
from grader.simt.isa import FORMS
from grader.simt.isa.matrix import BYTES, WMMA_SHAPES

NO_COMPILER = pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")
OPCODES = ("wmma", "mma", "ldmatrix", "movmatrix", "dp4a", "dp2a", "cp", "mbarrier")
PLAIN = Form("equal", "", "k", {})
BOUNDED = Form("sums", "", "k", {}, magnitudes={})


# --------------------------------------------------------------------------------------------------------- the programs


def test_every_program_has_a_name_of_its_own_and_a_kernel_in_its_source() -> None:
    forms = every_form()
    assert len({form.name for form in forms}) == len(forms) > 150
    assert all(f"void {form.kernel}(" in form.source for form in forms)


def test_the_same_inputs_are_made_every_time() -> None:
    for first, second in zip(every_form(), every_form(), strict=True):
        assert all(array.tobytes() == second.arrays[name].tobytes() for name, array in first.arrays.items())


def test_the_flag_goes_from_every_form_that_writes_it_to_every_one_that_reads_it() -> None:
    opcodes = {opcode for opcode, forms in FORMS.items() if any("carry" in form.tags for form in forms)}
    assert opcodes == {text.partition(".")[0] for text in (*carries.WRITES, *carries.READS)}


def test_all_shapes_and_signs_of_the_simulators_table_are_there() -> None:
    assert {f"m{s.replace(', ', 'n', 1).replace(', ', 'k')}" for s in wmma.SHAPES} == set(WMMA_SHAPES)
    of_bytes = {(one.shape, *one.kinds[1:3], one.clamps) for one in mma.instructions() if one.kinds[0] == "s32"}
    assert len(of_bytes) == 3 * len(BYTES) ** 2 * 2


@NO_COMPILER
@pytest.mark.slow
@pytest.mark.parametrize("module", [wmma, mma, moves, copies, objects, carries])
def test_the_last_program_of_each_group_is_clean_and_writes_its_output(module) -> None:
    *_, last = module.forms()
    (one,), cubins = prepared([last], forms_compare.WITHOUT_GPU)
    assert one.findings == ()
    assert one.output.any()
    assert cubins[last.source].startswith(b"\x7fELF")


@NO_COMPILER
@pytest.mark.slow
def test_every_form_of_these_opcodes_is_in_some_program() -> None:
    used = set()
    for source in {form.source for form in every_form()}:
        for opcode, modifiers in re.findall(rf"\b({'|'.join(OPCODES)})\.([\w.:]+)", compiled(source).ptx):
            used |= {form.syntax for form in FORMS[opcode] if form.match(modifiers.split(".")) is not None}
    assert {form.syntax for opcode in OPCODES for form in FORMS[opcode]} <= used


@NO_COMPILER
def test_a_launch_gives_the_kernel_its_arrays_and_takes_the_output_back() -> None:
    from grader.backends.gpu.arena import Arena
    from grader.backends.gpu.program import LoadedProgram
    from grader.compile import assemble

    *_, form = moves.forms()

    def double(device, grid, block, a, d) -> None:
        device.array(d, "uint32", 128)[:] = 2 * device.array(a, "uint32", 128)

    program = compiled(form.source)
    cubin = assemble(program, forms_compare.WITHOUT_GPU)
    device = FakeDevice({cubin: {form.kernel: double}})
    output = launched(device, Arena(device), LoadedProgram(device, cubin, program.entries), form)
    assert np.array_equal(output, 2 * form.arrays["a"])


# ------------------------------------------------------------------------------------------------------- the comparison


def floats(*numbers: float) -> np.ndarray:
    return np.array(numbers, np.float32)


def test_without_a_bound_every_bit_must_be_equal() -> None:
    assert compare(PLAIN, floats(0.0, 1.0), floats(0.0, 1.0), None).fine
    row = compare(PLAIN, floats(0.0, 1.0), floats(-0.0, 1.0), None)
    assert (row.differing, row.fine) == (1, False)
    assert forms_compare.word(row) == "**1 differ**"


def test_a_difference_of_sums_is_counted_in_parts_of_what_was_summed() -> None:
    row = compare(BOUNDED, floats(1.0), floats(1.0 + 2.0**-22), floats(2.0))
    assert (row.largest, row.fine) == (2.0, True)
    assert not compare(BOUNDED, floats(1.0), floats(1.0 + 2.0**-19), floats(2.0)).fine


def test_halves_may_be_one_last_place_apart() -> None:
    one, next_, second = (np.array([1.0 + n * 2.0**-10], np.float16) for n in range(3))
    assert compare(BOUNDED, one, next_, one).fine
    assert not compare(BOUNDED, one, second, one).fine


def test_what_is_not_finite_must_be_the_same() -> None:
    inf, nan = np.inf, np.nan
    assert compare(BOUNDED, floats(inf, nan), floats(inf, -nan), floats(inf, nan)).fine
    assert not compare(BOUNDED, floats(inf), floats(-inf), floats(inf)).fine
    assert not compare(BOUNDED, floats(nan), floats(1.0), floats(nan)).fine


@pytest.mark.parametrize("kind", ["f16", "bf16", "tf32", "f32"])
def test_small_integers_are_whole_in_every_type(kind: str) -> None:
    held = values(kind, "integers", 1000, 1)
    numbers = (held.astype(np.uint32) << 16).view(np.float32) if kind == "bf16" else held.astype(np.float32)
    assert set(numbers) == set(range(-8, 9))


# ------------------------------------------------------------------------------------------------------------- the page


def test_the_page_tells_how_many_agree_and_marks_what_does_not() -> None:
    rows = [
        compare(PLAIN, floats(1.0), floats(1.0), None),
        compare(BOUNDED, floats(1.0), floats(1.0 + 2.0**-22), floats(2.0)),
        compare(PLAIN, floats(1.0), floats(2.0), None),
    ]
    page = forms_compare.to_markdown(rows, "# A GPU")
    assert "**3 programs: 1 equal in every bit, 1 within their bound, 1 beyond it.**" in page
    assert page.splitlines()[-3:] == [
        "| equal | 1 | 0 | equal |",
        "| sums | 1 | 1 | 2.00 of 8 · 2^-24·Σ |",
        "| equal | 1 | 1 | **1 differ** |",
    ]
