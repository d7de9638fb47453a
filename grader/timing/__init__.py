"""Timed samples and what they come to: their statistics, fractions of a peak or a ceiling, and pass lines."""
