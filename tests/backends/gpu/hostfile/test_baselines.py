"""What timed host files are measured against: which baselines a target has, and the trusted kernels behind them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from host_files import EXERCISE, GPU, TWICE, backend

from grader.backends.gpu.hostfile.baselines import LINKS, BaselineSetup, baselines
from grader.catalog.courses import Course
from grader.errors import GraderFault
from grader.exercise import Target, Work


@pytest.fixture
def where(tmp_path):
    """A course with one trusted kernel, and the GPU."""
    folder = tmp_path / "kernels_ref"
    (folder / "host").mkdir(parents=True)
    (folder / "host" / "twice.cu").write_text(TWICE)
    return BaselineSetup(GPU, 2, Course(tmp_path / "exercises", tmp_path / "solutions", folder))


def aimed(unit, **more):
    return replace(EXERCISE, target=Target(unit=unit, fraction=0.5, of="ceiling", **more))


@pytest.mark.parametrize(
    ("link", "request_"),
    [
        ("link_to_device", {"into": 51200}),
        ("link_to_host", {"out_of": 51200}),
        ("link_both_ways", {"into": 51200, "out_of": 800}),
        ("link_between_devices", {"each": 51200, "devices": 2}),
    ],
)
def test_a_transfer_is_measured_against_the_link_that_it_names(where, link, request_):
    (one,) = baselines(aimed("transfer", ceiling=link), where)
    assert (one.name, one.request) == (link, request_)


def test_there_is_a_test_for_every_link():
    parameters = test_a_transfer_is_measured_against_the_link_that_it_names.pytestmark[0].args[1]
    assert {link for link, _ in parameters} == set(LINKS)


def test_an_overlap_is_measured_against_copies_both_ways_and_a_trusted_kernel(where):
    copies, computing = baselines(aimed("overlap", ceiling="twice"), where)
    assert (copies.name, copies.request) == ("link_both_ways", {"into": 51200, "out_of": 800})
    assert computing.name == "computing"
    (step,) = computing.request["plan"]["steps"]
    assert (step["kernel"], step["args"], step["grid"]) == ("twice", ("x", "out", 200), (1, 1, 1))
    assert [(a["name"], a["count"], a["role"]) for a in computing.request["arrays"]] == [
        ("x", 12800, "in"),
        ("out", 200, "out"),
    ]
    assert computing.request["rounds"] == 0
    assert computing.request["cubin"][:4] == b"\x7fELF"


def test_launches_are_measured_against_a_plain_loop_of_as_many(where):
    exercise = replace(aimed("launches"), name="twice", work=Work(launches="rows"))
    (loop,) = baselines(exercise, where)
    assert (loop.name, loop.request["rounds"]) == ("plain_loop", 200)


def test_what_is_not_timed_in_a_hosts_unit_has_no_yardstick(where):
    assert baselines(replace(EXERCISE, timed=None), where) == ()
    assert baselines(replace(EXERCISE, target=None), where) == ()
    assert baselines(replace(EXERCISE, target=Target(unit="bandwidth")), where) == ()


@pytest.mark.parametrize(
    ("exercise", "words"),
    [
        (aimed("transfer", ceiling="host_read_f32x4"), "'host_read_f32x4'; links are link_to_device"),
        (aimed("overlap", ceiling="thrice"), "no kernels_ref/host/thrice.cu or kernels_ref/host/sums.cu"),
        (aimed("launches", ceiling="twice"), "timed in launches, but its work counts none"),
    ],
)
def test_a_target_that_the_course_does_not_bear_out_is_the_graders_fault(where, exercise, words):
    with pytest.raises(GraderFault, match=words):
        baselines(exercise, where)


def test_a_trusted_kernel_that_does_not_compile_is_the_graders_fault(where):
    (where.course.kernels_ref / "host" / "twice.cu").write_text(TWICE.replace("int i", "int"))
    with pytest.raises(GraderFault, match=r"twice\.cu cannot be used"):
        baselines(aimed("overlap", ceiling="twice"), where)


def test_the_built_in_course_bears_out_every_host_exercise():
    from grader.catalog.exercises import load_catalog

    hosts = [one for one in load_catalog().exercises if one.exercise.host]
    assert hosts
    for one in hosts:
        baselines(one.exercise, BaselineSetup(GPU, 2, one.course))


def test_a_backend_knows_its_yardsticks():
    assert [one.name for one in backend("").baselines] == ["link_to_device"]
