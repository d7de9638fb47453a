"""Host files without a GPU: one child for the file, another for the machine that plays its GPU."""
