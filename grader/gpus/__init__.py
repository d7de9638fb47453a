"""GPUs: those of this machine, and the known models and architectures."""
