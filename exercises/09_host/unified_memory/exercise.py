from grader import Array, Exercise, Expect, Tolerance, Values, Work

# Strengths are sums of 64 products up to 225, some 600 as a rule, times up to 15: beyond fp16 and tf32, and exact in
# floats, since nothing exceeds 216 015.
SMALL = Values(exact_low=-15, exact_high=15)

EXERCISE = Exercise(
    name="unified_memory",
    order=908,
    idea="managed memory: one address for both, and pages that move before they are needed",
    minutes=75,
    after=("pinned_copy",),
    paths=("host",),
    arrays=(
        Array("x", "float32", "2048*lines", values=SMALL),
        Array("profile", "float32", "2048", values=SMALL),
        Array("out", "float32", "2048*lines", role="out"),
    ),
    oracle="lines:remove_background",
    small=tuple({"lines": lines} for lines in (1, 2, 9, 100, 257)),
    secret={"lines": (3, 400, 1)},
    simulated={"lines": 1024},  # 8 MiB in, 8 MiB out
    work=Work(bytes="16384*lines", flops="4096*lines"),
    technique=(
        Expect(
            "faulted_bytes",
            at_most=0,
            why="A kernel touches managed memory whose pages are on the host: it stops, and waits for each group.",
            hint="memPrefetchAsync(address, nbytes, device, stream.ptr) before the launch, for all that it uses",
            note="page_faults",
        ),
        Expect(
            "prefetched_bytes",
            at_least=1,
            per="8192*lines",
            why="The lines are not moved in managed memory ahead of the kernel.",
            hint="hold the lines in managed memory (malloc_managed), and prefetch them to the GPU before the launch",
        ),
    ),
    # A strength is the sum of 64 products up to 1, near 3 as a rule: it errs by some 1e-6.
    tolerance=Tolerance(relative=1e-5, absolute=2e-5),
    baseline="lines:remove_background",
    host=True,
    numpy_argument=(
        "A kernel gets an address, not a NumPy array. Pass that of managed memory (`memory = "
        "cupy.cuda.malloc_managed(nbytes)`): `np.uint64(memory.ptr)`, or for a NumPy array that lies on it "
        "`np.uint64(array.ctypes.data)`."
    ),
)
