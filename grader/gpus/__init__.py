"""GPUs: which one is here, what models there are, and the pass lines of each."""
