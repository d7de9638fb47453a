"""A SIMT simulator: PTX text in; results, counters and diagnostics out. It imports nothing else of `grader`.

ptx/        text to records; knows no opcode
isa/        one decorated function per PTX form, filed like the manual's chapters
engine/     basic blocks to LLVM IR over 32-lane vectors; schedulers; memory; event sites
observers/  coalescing, bank conflicts, divergence, races, bounds, uninitialised reads
"""
