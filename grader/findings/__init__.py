"""Findings as records: their kinds in `kinds`, the record in `record`, their sentences in `sentences`."""
