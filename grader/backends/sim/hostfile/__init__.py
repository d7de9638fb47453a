"""Host files without a GPU: one child for the file, another for the device that plays its GPU."""
