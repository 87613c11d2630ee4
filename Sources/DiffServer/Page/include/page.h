// The files that the binary carries, as bytes: C's #embed costs the compiler nothing, where an array literal in Swift
// takes half a minute.
#pragma once

// A file, by its path.
struct page_file {
    const char *_Nonnull name;
    const unsigned char *_Nonnull bytes;
    long count;
};

long page_file_count(void);
struct page_file page_file_at(long at);
