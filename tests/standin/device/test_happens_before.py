"""Happens-before by clocks, against a search through a graph that is built another way."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.standin.device.operations import Memset, StreamOperation, StreamTask, latest_first
from grader.standin.device.streams import DeviceEvent, DeviceStream, Streams

STREAMS = 4
"""0 is the default stream, 1 and 2 block, 3 does not."""
EVENTS = 2

STEPS = st.one_of(
    st.tuples(st.just("work"), st.integers(0, STREAMS - 1), st.just(0)),
    st.tuples(st.just("record"), st.integers(0, STREAMS - 1), st.integers(0, EVENTS - 1)),
    st.tuples(st.just("wait"), st.integers(0, STREAMS - 1), st.integers(0, EVENTS - 1)),
    st.tuples(st.just("sync"), st.integers(0, STREAMS - 1), st.just(0)),
)
Step = tuple[str, int, int]


def is_after(second: StreamOperation, first: StreamOperation) -> bool:
    """Whether ``first`` has ended when ``second`` begins, by their clocks."""
    return second.clock.get(first.chain, 0) >= first.index


def task() -> StreamTask:
    return StreamTask("fill", Memset(0, 0, 1), 0, 0)


class Program:
    """The same steps given to `Streams` and to a plain graph of nodes, which knows nothing of clocks."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.streams = Streams(1)
        handles = [self.streams.create(0, blocking=i != 3) for i in range(1, STREAMS)]
        self.queues: list[DeviceStream] = [self.streams.stream(h) for h in (0, *handles)]
        self.events = [DeviceEvent(0, timing=False) for _ in range(EVENTS)]
        self.operations: list[StreamOperation] = []
        self.edges: list[set[int]] = []  # of each node, the nodes before it
        self.last: list[int | None] = [None] * STREAMS
        self.marks: list[int | None] = [None] * EVENTS
        self.known: set[int] = set()  # nodes that the host has waited for
        self.node_of: list[int] = []  # of each operation
        for step in steps:
            self.take(*step)

    def node(self, stream: int, *also: int | None) -> int:
        """A new node of a stream: behind the stream's last, the host's waits, and by the rule of the default stream."""
        held = {0: range(3), 3: (3,)}.get(stream, (0, stream))
        before = {self.last[s] for s in held} | set(also) | self.known
        self.edges.append({n for n in before if n is not None})
        self.last[stream] = len(self.edges) - 1
        return len(self.edges) - 1

    def take(self, what: str, stream: int, event: int) -> None:
        queue = self.queues[stream]
        if what == "work":
            made = self.streams.issue(task(), queue)
            assert made is not None
            self.operations.append(made)
            self.node_of.append(self.node(stream))
        elif what == "record":
            self.streams.record(self.events[event], queue)
            self.marks[event] = self.node(stream)
        elif what == "wait":
            self.streams.wait(queue, self.events[event])
            if self.marks[event] is not None:
                self.node(stream, self.marks[event])
        elif queue.tail is not None:
            self.streams.chains.waited(queue.tail)
            last = self.last[stream]
            assert last is not None
            self.known |= {last} | self.before(last)

    def before(self, node: int) -> set[int]:
        found: set[int] = set()
        stack = [node]
        while stack:
            for earlier in self.edges[stack.pop()] - found:
                found.add(earlier)
                stack.append(earlier)
        return found


@settings(max_examples=300, deadline=None)
@given(st.lists(STEPS, max_size=40))
def test_clocks_agree_with_a_search_through_the_graph(steps: list[Step]) -> None:
    program = Program(steps)
    for i, second in enumerate(program.operations):
        reached = program.before(program.node_of[i])
        for j, first in enumerate(program.operations[:i]):
            assert is_after(second, first) is (program.node_of[j] in reached)
            assert not is_after(first, second)


@settings(max_examples=200, deadline=None)
@given(st.lists(STEPS, max_size=40), st.data())
def test_only_what_must_come_first_is_executed_and_it_is_executed_first(steps: list[Step], data: st.DataObject) -> None:
    program = Program([step for step in steps if step[0] != "sync"])
    if not program.operations:
        return
    wanted = data.draw(st.integers(0, len(program.operations) - 1))
    done = [op for op in latest_first([program.operations[wanted]]) if op.task is not None]
    reached = program.before(program.node_of[wanted]) | {program.node_of[wanted]}
    assert {id(op) for op in done} == {
        id(op) for op, node in zip(program.operations, program.node_of, strict=True) if node in reached
    }
    for i, op in enumerate(done):
        assert not any(is_after(op, later) for later in done[i + 1 :])


def test_of_two_operations_that_nothing_orders_the_latest_issued_is_executed_first() -> None:
    program = Program([("work", 1, 0), ("work", 3, 0), ("work", 1, 0)])
    first, other, second = program.operations
    assert [op for op in latest_first(program.operations) if op.task is not None] == [other, first, second]


def test_an_event_that_is_recorded_again_leaves_those_who_wait_behind_its_old_place() -> None:
    steps = [("work", 1, 0), ("record", 1, 0), ("wait", 3, 0), ("work", 1, 0), ("record", 1, 0), ("work", 3, 0)]
    early, late, waiter = Program(steps).operations
    assert is_after(waiter, early)
    assert not is_after(waiter, late)


@pytest.mark.parametrize(("stream", "ordered"), [(1, True), (2, True), (3, False)])
def test_the_default_stream_and_the_blocking_streams_wait_for_each_other(stream: int, ordered: bool) -> None:
    before, middle, after = Program([("work", stream, 0), ("work", 0, 0), ("work", stream, 0)]).operations
    assert is_after(middle, before) is ordered
    assert is_after(after, middle) is ordered


def test_an_event_that_was_never_recorded_holds_nobody_up() -> None:
    other, op = Program([("work", 1, 0), ("wait", 3, 1), ("work", 3, 0)]).operations
    assert not is_after(op, other)


def test_the_default_streams_of_two_devices_do_not_wait_for_each_other() -> None:
    streams = Streams(2)
    first, second = (streams.issue(task(), streams.stream(handle)) for handle in (0, -1))
    assert first is not None
    assert second is not None
    assert not is_after(second, first)
