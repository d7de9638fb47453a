"""Where a class is graded: on this machine, or on `dask.distributed`. An engine knows nothing of exercises."""
