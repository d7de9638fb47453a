"""GPUs: which one is here, and what models and architectures there are."""
