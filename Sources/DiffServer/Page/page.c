#include "page.h"

static const unsigned char index_html[] = {
#embed "index.html"
};
static const unsigned char client_js[] = {
#embed "client.js"
};
static const unsigned char edits_js[] = {
#embed "edits.js"
};
static const unsigned char client_d_ts[] = {
#embed "client.d.ts"
};
static const unsigned char openapi_json[] = {
#embed "openapi.json"
};

struct page_file page_index(void) { return (struct page_file){index_html, sizeof index_html}; }
struct page_file page_client(void) { return (struct page_file){client_js, sizeof client_js}; }
struct page_file page_edits(void) { return (struct page_file){edits_js, sizeof edits_js}; }
struct page_file page_client_types(void) { return (struct page_file){client_d_ts, sizeof client_d_ts}; }
struct page_file page_openapi(void) { return (struct page_file){openapi_json, sizeof openapi_json}; }
