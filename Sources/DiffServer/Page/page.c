#include "page.h"

static const unsigned char index_html[] = {
#embed "index.html"
};
static const unsigned char page_html[] = {
#embed "page.html"
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
static const unsigned char live_list_js[] = {
#embed "../../../Clients/js/live-list.js"
};
static const unsigned char client_d_ts[] = {
#embed "../../../Clients/js/client.d.ts"
};
static const unsigned char openapi_json[] = {
#embed "openapi.json"
};
static const unsigned char openapi_client_json[] = {
#embed "openapi-client.json"
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
static const unsigned char playground_page[] = {
#embed "playground/page.js"
};
static const unsigned char playground_samples[] = {
#embed "playground/samples.js"
};
static const unsigned char playground_sentences[] = {
#embed "playground/sentences.js"
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
static const unsigned char playground_template[] = {
#embed "playground/template.js"
};
static const unsigned char playground_uikit[] = {
#embed "playground/uikit.js"
};

static const struct page_file files[] = {
    {"index.html", index_html, sizeof index_html},
    {"page.html", page_html, sizeof page_html},
    {"client.js", client_js, sizeof client_js},
    {"apply.js", apply_js, sizeof apply_js},
    {"bind.js", bind_js, sizeof bind_js},
    {"updates.js", updates_js, sizeof updates_js},
    {"edits.js", edits_js, sizeof edits_js},
    {"live-list.js", live_list_js, sizeof live_list_js},
    {"client.d.ts", client_d_ts, sizeof client_d_ts},
    {"openapi.json", openapi_json, sizeof openapi_json},
    {"openapi-client.json", openapi_client_json, sizeof openapi_client_json},
    {"playground/dom.js", playground_dom, sizeof playground_dom},
    {"playground/json.js", playground_json, sizeof playground_json},
    {"playground/link.js", playground_link, sizeof playground_link},
    {"playground/list.js", playground_list, sizeof playground_list},
    {"playground/live.js", playground_live, sizeof playground_live},
    {"playground/main.js", playground_main, sizeof playground_main},
    {"playground/marks.js", playground_marks, sizeof playground_marks},
    {"playground/page.js", playground_page, sizeof playground_page},
    {"playground/samples.js", playground_samples, sizeof playground_samples},
    {"playground/sentences.js", playground_sentences, sizeof playground_sentences},
    {"playground/server.js", playground_server, sizeof playground_server},
    {"playground/shape.js", playground_shape, sizeof playground_shape},
    {"playground/snippets.js", playground_snippets, sizeof playground_snippets},
    {"playground/start.js", playground_start, sizeof playground_start},
    {"playground/template.js", playground_template, sizeof playground_template},
    {"playground/uikit.js", playground_uikit, sizeof playground_uikit},
};
long page_file_count(void) { return sizeof files / sizeof *files; }
struct page_file page_file_at(long at) { return files[at]; }
