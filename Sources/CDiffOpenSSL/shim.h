// OpenSSL 3. Many of its calls are macros, which Swift does not import; those in use are functions here.
#pragma once
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

static inline void tls_context_set_versions(SSL_CTX *context, int lowest, int highest) {
    SSL_CTX_set_min_proto_version(context, lowest);
    SSL_CTX_set_max_proto_version(context, highest);
}

static inline void tls_context_set_mode(SSL_CTX *context, long mode) { SSL_CTX_set_mode(context, mode); }

static inline void tls_context_set_read_ahead(SSL_CTX *context) { SSL_CTX_set_read_ahead(context, 1); }

static inline int tls_context_set_groups(SSL_CTX *context, const char *groups) {
    return SSL_CTX_set1_groups_list(context, groups);
}

static inline void tls_context_cache_sessions(SSL_CTX *context, long count) {
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_SERVER);
    SSL_CTX_sess_set_cache_size(context, count);
}

static inline void tls_bio_should_retry_read(BIO *bio) { BIO_set_retry_read(bio); }

static inline void tls_bio_should_retry_write(BIO *bio) { BIO_set_retry_write(bio); }

static inline void tls_bio_clear_retry(BIO *bio) { BIO_clear_retry_flags(bio); }

static inline void tls_context_set_options(SSL_CTX *context) {
    SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                     SSL_OP_PRIORITIZE_CHACHA);
}

static inline int tls_set_server_name(SSL *ssl, const char *name) { return (int)SSL_set_tlsext_host_name(ssl, name); }
