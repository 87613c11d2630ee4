#ifndef CDIFFCURL_SHIM_H
#define CDIFFCURL_SHIM_H

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

// Swift imports no function that takes any number of arguments: here is one for each type of the last one.

static inline CURLcode cdiff_curl_set_number(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode cdiff_curl_set_size(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode cdiff_curl_set_text(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode cdiff_curl_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode cdiff_curl_on_write(CURL *easy, curl_write_callback callback, void *context) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, callback);
    return code == CURLE_OK ? curl_easy_setopt(easy, CURLOPT_WRITEDATA, context) : code;
}

static inline CURLcode cdiff_curl_on_header(CURL *easy, curl_write_callback callback, void *context) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, callback);
    return code == CURLE_OK ? curl_easy_setopt(easy, CURLOPT_HEADERDATA, context) : code;
}

static inline long cdiff_curl_number(CURL *easy, CURLINFO info) {
    long value = 0;
    curl_easy_getinfo(easy, info, &value);
    return value;
}

static inline curl_off_t cdiff_curl_size(CURL *easy, CURLINFO info) {
    curl_off_t value = 0;
    curl_easy_getinfo(easy, info, &value);
    return value;
}

static inline const char *cdiff_curl_text(CURL *easy, CURLINFO info) {
    const char *value = NULL;
    curl_easy_getinfo(easy, info, &value);
    return value;
}

static inline void cdiff_curl_multi_set_number(CURLM *multi, CURLMoption option, long value) {
    curl_multi_setopt(multi, option, value);
}

static inline void cdiff_curl_multi_on_socket(CURLM *multi, curl_socket_callback callback, void *context) {
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, callback);
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
}

static inline void cdiff_curl_multi_on_timer(CURLM *multi, curl_multi_timer_callback callback, void *context) {
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, callback);
    curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
}

// What a message of a finished transfer says of it.
static inline CURLcode cdiff_curl_result(const CURLMsg *message) { return message->data.result; }

#endif
