"""The oracles of the tests' course."""
