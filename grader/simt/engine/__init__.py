"""The engine: PTX records to LLVM IR over 32-lane vectors, schedulers, memory, and the event sites of observers."""
