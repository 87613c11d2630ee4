// Counts what a program allocates. Glibc only.
#pragma once
#include <stddef.h>

/// Allocations so far, by any of malloc's family. Only to be used while one thread runs.
unsigned long allocations_made(void);

/// Bytes allocated and not freed.
size_t allocations_live_bytes(void);

/// Keeps freed memory in the process, as a server does: large blocks are not mapped and unmapped each time.
void allocations_keep_memory(void);
