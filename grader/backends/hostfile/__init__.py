"""Host files on any backend: the runs of a case, the worker that calls the file, what its sandbox lets it read."""
