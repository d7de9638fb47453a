"""Child processes: starting and limiting them, the sandbox, and the channel for messages."""
