"""The modules of grader as a graph of imports, those inside functions included."""

from __future__ import annotations

from structure import cycle_in, graph_of, package_of, sources


def test_no_modules_import_one_another_in_a_circle():
    graph = graph_of(sources())
    assert len(graph) > 200
    assert " -> ".join(cycle_in(graph)) == ""


def test_a_circle_through_an_import_inside_a_function_is_found():
    lazy = "def f():\n    from grader.a import x\n"
    assert cycle_in(graph_of({"grader.a": "from grader.b import y", "grader.b": lazy})) == [
        "grader.a",
        "grader.b",
        "grader.a",
    ]


def test_an_import_for_types_alone_is_no_part_of_a_circle():
    typed = "if TYPE_CHECKING:\n    from grader.a import x\n"
    assert cycle_in(graph_of({"grader.a": "from grader.b import y", "grader.b": typed})) == []


def test_the_picture_has_a_box_for_each_package_and_for_the_parts_of_the_large_ones():
    assert package_of("grader.backends.gpu.session") == "backends/gpu"
    assert package_of("grader.grading.hints.races") == "grading"
    assert package_of("grader.verdict") == "records"
    assert package_of("grader.api") == "api"
