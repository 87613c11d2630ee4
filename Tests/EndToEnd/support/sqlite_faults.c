// Has SQLite's calls to its surroundings fail, one by one. Loaded into the server by LD_PRELOAD; what is to fail is in a file that
// the test maps too, named by SQLITE_FAULTS. A shim around the VFS (https://www.sqlite.org/vfs.html) fails writes, reads, syncs
// and opens, one around the allocator (SQLITE_CONFIG_MALLOC) allocations.

#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum kind { NOTHING, WRITE, READ, SYNC, OPEN, ALLOCATION };

// The same fields, in this order, are in the test.
static struct {
    int kind;
    // Whether all calls after the first failure fail, too.
    int lasts;
    // How many calls from now the one is that fails.
    long left;
    long failed;
} *control;

static int fails(enum kind kind) {
    if (!control || control->kind != (int)kind) return 0;
    long left = __atomic_sub_fetch(&control->left, 1, __ATOMIC_SEQ_CST);
    if (left > 0 || (left < 0 && !control->lasts)) return 0;
    __atomic_add_fetch(&control->failed, 1, __ATOMIC_SEQ_CST);
    return 1;
}

// Files

struct file {
    sqlite3_file base;
    sqlite3_file real[];
};

static sqlite3_file *real(sqlite3_file *file) { return ((struct file *)file)->real; }

#define PASS(name, parameters, ...) \
    static int name parameters { return real(file)->pMethods->name(real(file), ##__VA_ARGS__); }

PASS(xClose, (sqlite3_file *file))
PASS(xTruncate, (sqlite3_file *file, sqlite3_int64 size), size)
PASS(xFileSize, (sqlite3_file *file, sqlite3_int64 *size), size)
PASS(xLock, (sqlite3_file *file, int lock), lock)
PASS(xUnlock, (sqlite3_file *file, int lock), lock)
PASS(xCheckReservedLock, (sqlite3_file *file, int *result), result)
PASS(xFileControl, (sqlite3_file *file, int code, void *argument), code, argument)
PASS(xSectorSize, (sqlite3_file *file))
PASS(xDeviceCharacteristics, (sqlite3_file *file))
PASS(xShmMap, (sqlite3_file *file, int page, int size, int extends, void volatile **map), page, size, extends, map)
PASS(xShmLock, (sqlite3_file *file, int offset, int count, int flags), offset, count, flags)
PASS(xShmUnmap, (sqlite3_file *file, int deletes), deletes)

static void xShmBarrier(sqlite3_file *file) { real(file)->pMethods->xShmBarrier(real(file)); }

static int xWrite(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    if (fails(WRITE)) {
        // As a disk does that is full: some of it is there.
        if (count > 1) real(file)->pMethods->xWrite(real(file), bytes, count / 2, offset);
        return offset % 3 ? SQLITE_IOERR_WRITE : SQLITE_FULL;
    }
    return real(file)->pMethods->xWrite(real(file), bytes, count, offset);
}

static int xRead(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
    return fails(READ) ? SQLITE_IOERR_READ : real(file)->pMethods->xRead(real(file), bytes, count, offset);
}

static int xSync(sqlite3_file *file, int flags) {
    return fails(SYNC) ? SQLITE_IOERR_FSYNC : real(file)->pMethods->xSync(real(file), flags);
}

static const sqlite3_io_methods methods = {
    2, xClose, xRead, xWrite, xTruncate, xSync, xFileSize, xLock, xUnlock, xCheckReservedLock, xFileControl, xSectorSize,
    xDeviceCharacteristics, xShmMap, xShmLock, xShmBarrier, xShmUnmap,
};

static sqlite3_vfs shim;
static sqlite3_vfs *below;

static int xOpen(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file, int flags, int *given) {
    file->pMethods = 0;
    if (fails(OPEN)) return SQLITE_CANTOPEN;
    int code = below->xOpen(below, name, real(file), flags, given);
    if (real(file)->pMethods) file->pMethods = &methods;
    return code;
}

// Memory

static sqlite3_mem_methods memory;

static void *xMalloc(int size) { return fails(ALLOCATION) ? 0 : memory.xMalloc(size); }
static void *xRealloc(void *old, int size) { return fails(ALLOCATION) ? 0 : memory.xRealloc(old, size); }

__attribute__((constructor)) static void load(void) {
    const char *path = getenv("SQLITE_FAULTS");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    // Known to the others only when the shims are in place.
    void *map = mmap(0, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (map == MAP_FAILED) abort();
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &memory);
    sqlite3_mem_methods failing = memory;
    failing.xMalloc = xMalloc;
    failing.xRealloc = xRealloc;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &failing);
    below = sqlite3_vfs_find(0);
    shim = *below;
    shim.zName = "faults";
    shim.szOsFile = below->szOsFile + (int)sizeof(struct file);
    shim.xOpen = xOpen;
    sqlite3_vfs_register(&shim, 1);
    control = map;
}
