from grader import Array, Exercise, Expect, Target, Values, Work

BYTES = Values(exact_low=0, exact_high=255)

EXERCISE = Exercise(
    name="gray_2d",
    order=105,
    idea="2-D blocks over an image whose rows are a pitch apart; four loads in flight",
    minutes=20,
    after=("hello_index", "vector_add"),
    paths=("memory",),
    arrays=(
        # Each row is followed by `pad` bytes that are no pixels.
        Array("rgba", "uint8", "(4*width + pad)*height", values=BYTES, moved="4*width*height"),
        Array("gray", "float32", "height*width", role="out"),
    ),
    oracle="images:gray",
    # High and wide images, widths and heights around 32, paddings of none, of a pixel, and of many.
    small=tuple(
        {"width": width, "height": height, "pad": pad}
        for width, height, pad in (
            (1, 1, 4),
            (1, 9, 28),
            (31, 3, 4),
            (32, 8, 0),
            (33, 9, 124),
            (5, 130, 12),
            (200, 7, 224),
            (257, 17, 508),
            (9, 65, 20),
        )
    ),
    secret={"width": (2, 200, 1), "height": (2, 70, 1), "pad": (0, 256, 32)},
    simulated={"width": 512, "height": 64, "pad": 256},
    timed={"width": 16384, "height": 16384, "pad": 256},
    work=Work(bytes="8*width*height", flops="5*width*height"),
    target=Target(
        unit="bandwidth",
        of="ceiling",
        fraction=0.88,
        reach=0.92,
        ceiling="copy_f32x4",
        note="a thread with one load of 4 bytes has 0.56; in a trial eight in flight were as good as loads of 16, "
        "which need aligned rows",
    ),
    technique=(
        # 32 pixels of 4 bytes are 4 full sectors, and so are 32 floats. Three loads of single bytes make it 0.44.
        Expect(
            "sector_efficiency",
            at_least=0.95,
            why="A part of each sector is moved for nothing.",
            hint="neighbouring lanes take neighbouring pixels of a row, and a pixel is one load of 4 bytes, a uchar4",
        ),
    ),
    compared=("wrong/one_pixel_a_thread.diff",),
    rivals=("pytorch:gray", "pytorch:gray_compiled"),
    baseline="images:gray",
)
