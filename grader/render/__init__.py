"""Renderers: pure functions from frozen verdicts to text."""
