"""The simulator as a backend: `session` is the parent's side, `child` the process that executes the PTX."""
