"""What was found, as records: their kinds in `kinds`, the record in `record`."""
