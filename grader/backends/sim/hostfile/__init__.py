"""Host files without a GPU: one child for the file, another for the simulated GPU."""
