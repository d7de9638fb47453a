"""The engine: PTX records to LLVM IR over 32-lane vectors, schedulers, memory, and the sites where observers look."""
