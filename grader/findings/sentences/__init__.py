"""The sentence of every finding: fact, place, evidence. Pure. Hints are in `grader.grading.hints`.

"race on shared partial[49]: written by thread 49 at reduce_v3.cu:14, read by thread 17 at reduce_v3.cu:18, no barrier
between".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from grader.findings.record import Finding
from grader.findings.sentences import faults, hostfile, outputs, races
from grader.findings.sentences.words import Words

_OF_KERNELS: Mapping[str, Callable[[Words], str]] = {
    says.__name__: says
    for says in (
        faults.out_of_bounds, faults.instruction_budget, faults.launch_limit, faults.launch,
        faults.barrier_divergence, faults.deadlock, faults.missing_lanes, races.race, races.missing_fence,
        races.order_dependent,
        races.missing_async_wait, races.same_value_write,
    )
}  # fmt: skip
_OTHERS: Mapping[str, Callable[[Finding], str]] = {
    **{says.__name__: says for says in (outputs.wrong, outputs.answer, outputs.technique, outputs.passes)},
    **hostfile.SENTENCES,
}
_PLAIN: Mapping[str, str] = faults.PLAIN | hostfile.PLAIN | outputs.PLAIN

KINDS = frozenset({*_OF_KERNELS, *_OTHERS, *_PLAIN})
"""Every kind that has a sentence."""


def sentence(found: Finding) -> str:
    """The sentence of a finding."""
    kind = found.kind
    if kind in _PLAIN and not hostfile.is_of_operation(found):
        return _PLAIN[kind].format(w=Words(found), found=found, facts=found.facts)
    return _OF_KERNELS[kind](Words(found)) if kind in _OF_KERNELS else _OTHERS[kind](found)
