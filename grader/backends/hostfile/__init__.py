"""Host files on any backend: the runs of a case, the worker that calls the file, the files that it may read."""
