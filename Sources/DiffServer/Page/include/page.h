// The files that the binary carries, as bytes: C's #embed costs the compiler nothing, where an array literal in Swift
// takes half a minute.
#pragma once

struct page_file {
    const unsigned char *_Nonnull bytes;
    long count;
};

struct page_file page_index(void);
struct page_file page_client(void);
struct page_file page_apply(void);
struct page_file page_bind(void);
struct page_file page_updates(void);
struct page_file page_edits(void);
struct page_file page_client_types(void);
struct page_file page_openapi(void);

// The modules of the playground, by their names.
struct page_module {
    const char *_Nonnull name;
    struct page_file file;
};

long page_module_count(void);
struct page_module page_module(long at);
