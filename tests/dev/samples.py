"""Verdicts made by hand."""

from __future__ import annotations

from grader.verdict import STAGES, Diagnostic, LaunchRecord, Measurement, StageResult, Verdict

COUNTED = LaunchRecord("scale", (32, 1, 1), (128, 1, 1), 0, {"sectors": 1024.0, "sector_efficiency": 1.0})
WASTEFUL = LaunchRecord("scale", (32, 1, 1), (128, 1, 1), 0, {"sectors": 8192.0, "sector_efficiency": 0.125})
ON_AN_UNKNOWN_GPU = Measurement(1e-3, (1e-3, 1e-3), 30, "B", 1e9, None, None, None, None, "0.5 of peak", 0.5, True)


def verdict(
    word: str, *, compiles: bool = True, launch: LaunchRecord | None = None, measured: Measurement | None = None
) -> Verdict:
    """A verdict with one diagnostic unless it is a pass."""
    compiled = StageResult("compiles", "passed" if compiles else "failed")
    found = () if word == "pass" else (Diagnostic(word, f"what is {word}", line=7),)
    return Verdict(
        "scale", "sim", word, 0, 80, 1, (compiled, *(StageResult(name, "passed") for name in STAGES[1:])),
        launches=() if launch is None else (launch,), diagnostics=found, measured=measured,
    )  # fmt: skip
