"""Timed samples: their statistics, fractions of a peak or a ceiling, and pass lines."""
