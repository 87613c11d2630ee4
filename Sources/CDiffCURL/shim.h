// libcurl is not linked but loaded when a request is first made: `struct cdiff_curl` holds its functions. So a server
// that fetches nothing has neither libcurl in its process nor its dependencies, such as LDAP, Kerberos and SSH.
#ifndef CDIFFCURL_SHIM_H
#define CDIFFCURL_SHIM_H

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <dlfcn.h>

#define CDIFF_CURL_FUNCTIONS(each)                                                                                     \
    each(easy_cleanup) each(easy_getinfo) each(easy_header) each(easy_init) each(easy_setopt) each(easy_strerror)      \
    each(free) each(global_init)                                                                                       \
    each(multi_add_handle) each(multi_cleanup) each(multi_info_read) each(multi_init) each(multi_remove_handle)        \
    each(multi_setopt) each(multi_socket_action)                                                                       \
    each(slist_append) each(slist_free_all)                                                                            \
    each(url) each(url_cleanup) each(url_get) each(url_set)

struct __attribute__((swift_attr("@Sendable"))) cdiff_curl {
#define CDIFF_CURL_MEMBER(name) __typeof__(&curl_##name) name;
    CDIFF_CURL_FUNCTIONS(CDIFF_CURL_MEMBER)
#undef CDIFF_CURL_MEMBER
};

// Loads the library. Returns NULL, or why it cannot be used.
static inline const char *cdiff_curl_load(struct cdiff_curl *curl) {
    void *library = dlopen("libcurl.so.4", RTLD_NOW);
    if (library == NULL) return dlerror();
#define CDIFF_CURL_FIND(name)                                                                                          \
    curl->name = (__typeof__(&curl_##name))dlsym(library, "curl_" #name);                                              \
    if (curl->name == NULL) return dlerror();
    CDIFF_CURL_FUNCTIONS(CDIFF_CURL_FIND)
#undef CDIFF_CURL_FIND
    return NULL;
}

// Swift cannot import variadic functions: here is one for each type of the last argument.

static inline CURLcode cdiff_curl_set_number(struct cdiff_curl curl, CURL *easy, CURLoption option, long value) {
    return curl.easy_setopt(easy, option, value);
}

static inline CURLcode cdiff_curl_set_size(struct cdiff_curl curl, CURL *easy, CURLoption option, curl_off_t value) {
    return curl.easy_setopt(easy, option, value);
}

static inline CURLcode cdiff_curl_set_text(struct cdiff_curl curl, CURL *easy, CURLoption option, const char *value) {
    return curl.easy_setopt(easy, option, value);
}

static inline CURLcode cdiff_curl_set_pointer(struct cdiff_curl curl, CURL *easy, CURLoption option, void *value) {
    return curl.easy_setopt(easy, option, value);
}

static inline CURLcode cdiff_curl_on_write(
    struct cdiff_curl curl, CURL *easy, curl_write_callback callback, void *context) {
    CURLcode code = curl.easy_setopt(easy, CURLOPT_WRITEFUNCTION, callback);
    return code == CURLE_OK ? curl.easy_setopt(easy, CURLOPT_WRITEDATA, context) : code;
}

static inline CURLcode cdiff_curl_on_header(
    struct cdiff_curl curl, CURL *easy, curl_write_callback callback, void *context) {
    CURLcode code = curl.easy_setopt(easy, CURLOPT_HEADERFUNCTION, callback);
    return code == CURLE_OK ? curl.easy_setopt(easy, CURLOPT_HEADERDATA, context) : code;
}

static inline long cdiff_curl_number(struct cdiff_curl curl, CURL *easy, CURLINFO info) {
    long value = 0;
    curl.easy_getinfo(easy, info, &value);
    return value;
}

static inline curl_off_t cdiff_curl_size(struct cdiff_curl curl, CURL *easy, CURLINFO info) {
    curl_off_t value = 0;
    curl.easy_getinfo(easy, info, &value);
    return value;
}

static inline const char *cdiff_curl_text(struct cdiff_curl curl, CURL *easy, CURLINFO info) {
    const char *value = NULL;
    curl.easy_getinfo(easy, info, &value);
    return value;
}

static inline void cdiff_curl_multi_set_number(struct cdiff_curl curl, CURLM *multi, CURLMoption option, long value) {
    curl.multi_setopt(multi, option, value);
}

static inline void cdiff_curl_multi_on_socket(
    struct cdiff_curl curl, CURLM *multi, curl_socket_callback callback, void *context) {
    curl.multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, callback);
    curl.multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
}

static inline void cdiff_curl_multi_on_timer(
    struct cdiff_curl curl, CURLM *multi, curl_multi_timer_callback callback, void *context) {
    curl.multi_setopt(multi, CURLMOPT_TIMERFUNCTION, callback);
    curl.multi_setopt(multi, CURLMOPT_TIMERDATA, context);
}

// The result in the message about a finished transfer.
static inline CURLcode cdiff_curl_result(const CURLMsg *message) { return message->data.result; }

#endif
