#include "page.h"

static const unsigned char index_html[] = {
#embed "index.html"
};
static const unsigned char client_js[] = {
#embed "../../../Clients/js/client.js"
};
static const unsigned char apply_js[] = {
#embed "../../../Clients/js/apply.js"
};
static const unsigned char bind_js[] = {
#embed "../../../Clients/js/bind.js"
};
static const unsigned char updates_js[] = {
#embed "../../../Clients/js/updates.js"
};
static const unsigned char edits_js[] = {
#embed "../../../Clients/js/edits.js"
};
static const unsigned char client_d_ts[] = {
#embed "../../../Clients/js/client.d.ts"
};
static const unsigned char openapi_json[] = {
#embed "openapi.json"
};
static const unsigned char playground_dom[] = {
#embed "playground/dom.js"
};
static const unsigned char playground_json[] = {
#embed "playground/json.js"
};
static const unsigned char playground_link[] = {
#embed "playground/link.js"
};
static const unsigned char playground_list[] = {
#embed "playground/list.js"
};
static const unsigned char playground_live[] = {
#embed "playground/live.js"
};
static const unsigned char playground_main[] = {
#embed "playground/main.js"
};
static const unsigned char playground_marks[] = {
#embed "playground/marks.js"
};
static const unsigned char playground_samples[] = {
#embed "playground/samples.js"
};
static const unsigned char playground_server[] = {
#embed "playground/server.js"
};
static const unsigned char playground_shape[] = {
#embed "playground/shape.js"
};
static const unsigned char playground_snippets[] = {
#embed "playground/snippets.js"
};
static const unsigned char playground_start[] = {
#embed "playground/start.js"
};
static const unsigned char playground_uikit[] = {
#embed "playground/uikit.js"
};

struct page_file page_index(void) { return (struct page_file){index_html, sizeof index_html}; }
struct page_file page_client(void) { return (struct page_file){client_js, sizeof client_js}; }
struct page_file page_apply(void) { return (struct page_file){apply_js, sizeof apply_js}; }
struct page_file page_bind(void) { return (struct page_file){bind_js, sizeof bind_js}; }
struct page_file page_updates(void) { return (struct page_file){updates_js, sizeof updates_js}; }
struct page_file page_edits(void) { return (struct page_file){edits_js, sizeof edits_js}; }
struct page_file page_client_types(void) { return (struct page_file){client_d_ts, sizeof client_d_ts}; }
struct page_file page_openapi(void) { return (struct page_file){openapi_json, sizeof openapi_json}; }

static const struct page_module modules[] = {
    {"dom.js", {playground_dom, sizeof playground_dom}},
    {"json.js", {playground_json, sizeof playground_json}},
    {"link.js", {playground_link, sizeof playground_link}},
    {"list.js", {playground_list, sizeof playground_list}},
    {"live.js", {playground_live, sizeof playground_live}},
    {"main.js", {playground_main, sizeof playground_main}},
    {"marks.js", {playground_marks, sizeof playground_marks}},
    {"samples.js", {playground_samples, sizeof playground_samples}},
    {"server.js", {playground_server, sizeof playground_server}},
    {"shape.js", {playground_shape, sizeof playground_shape}},
    {"snippets.js", {playground_snippets, sizeof playground_snippets}},
    {"start.js", {playground_start, sizeof playground_start}},
    {"uikit.js", {playground_uikit, sizeof playground_uikit}},
};
long page_module_count(void) { return sizeof modules / sizeof *modules; }
struct page_module page_module(long at) { return modules[at]; }
