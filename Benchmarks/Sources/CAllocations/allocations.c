// The functions of malloc's family, each counted and passed on to Glibc under its other name. The linker prefers these to the
// library's own, in every library of the process.
#include "allocations.h"
#include <errno.h>
#include <malloc.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static unsigned long made;

unsigned long allocations_made(void) { return made; }

void *malloc(size_t size) {
    made++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    made++;
    return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size) {
    made++;
    return __libc_realloc(block, size);
}

void *memalign(size_t alignment, size_t size) {
    made++;
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **block, size_t alignment, size_t size) {
    *block = memalign(alignment, size);
    return *block ? 0 : ENOMEM;
}

size_t allocations_live_bytes(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

void allocations_keep_memory(void) {
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, 64 << 20);
}
