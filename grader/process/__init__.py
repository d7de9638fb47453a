"""Child processes: how one is started and limited, what it may reach, and the channel that its answers come through."""
