"""Timed samples and what they come to: their statistics, and fractions of a peak or a ceiling."""
