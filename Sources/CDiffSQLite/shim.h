#ifndef CDIFFSQLITE_SHIM_H
#define CDIFFSQLITE_SHIM_H

#include <sqlite3.h>

// SQLITE_STATIC is a cast that Swift does not import. The bytes must stay in place until the statement is reset.
static inline int cdiff_sqlite_bind_text(sqlite3_stmt *statement, int index, const void *text, int count) {
    return sqlite3_bind_text(statement, index, count == 0 ? "" : text, count, SQLITE_STATIC);
}

static inline int cdiff_sqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count) {
    return sqlite3_bind_blob(statement, index, count == 0 ? "" : bytes, count, SQLITE_STATIC);
}

#endif
