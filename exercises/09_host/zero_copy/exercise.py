from grader import Array, Exercise, Expect, Target, Tolerance, Values, Work

EXERCISE = Exercise(
    name="zero_copy",
    order=902,
    idea="mapped host memory: the GPU reads it in place, once, coalesced",
    minutes=45,
    after=("pinned_copy",),
    paths=("host",),
    arrays=(
        Array("x", "float32", "1024*frames", values=Values(exact_low=-8, exact_high=8)),
        Array("out", "float32", "frames", role="out"),
    ),
    oracle="frames:energy",
    small=tuple({"frames": frames} for frames in (1, 2, 33, 1000, 1025)),
    secret={"frames": (3, 1500, 1)},
    simulated={"frames": 8193},  # 32 MiB, and more frames than the resident warps of the simulated GPU
    timed={"frames": 65536},  # 256 MiB cross the link, 256 KiB come back
    work=Work(bytes="4096*frames", flops="2048*frames"),
    target=Target(
        unit="transfer",
        reach=0.90,
        of="ceiling",
        ceiling="link_to_device",
    ),
    technique=(
        # 4096 bytes of samples and 4 of energy, in whole sectors: 4128 a frame, with some room.
        Expect(
            "mapped_bytes",
            at_most=1.05,
            per="4128*frames",
            why="Bytes cross the link more than once: less than 32 bytes cost 32, and nothing is kept for later.",
            hint="let the lanes of a warp read neighbouring float4 of one frame, and read each of them once",
        ),
        Expect(
            "mapped_bytes",
            at_least=1.0,
            per="4096*frames",
            why="The kernel does not read the samples where they lie, in mapped host memory.",
            hint="give the kernel the address of x that pointerGetAttributes returns, and copy nothing",
        ),
    ),
    # Squares of integers up to 8 add up to at most 65536: exact in floats in any order, and beyond fp16 and tf32.
    # Real energies are near 341; 1024 additions in one chain err by 6e-7 of that as a rule, 3e-6 in the worst frame.
    tolerance=Tolerance(relative=1e-5),
    baseline="frames:energy",
    host=True,
    numpy_argument=(
        "A kernel gets an address, not a NumPy array. Pin the array with hostRegister, and pass the address "
        "that it has on the GPU: "
        "`np.uint64(cupy.cuda.runtime.pointerGetAttributes(x.ctypes.data).devicePointer)`."
    ),
)
