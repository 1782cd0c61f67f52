#pragma once
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

/* Macros and variadic functions, as functions. All but the certificates made for trials serve every
   connection that uses TLS: to APNs, to Redis, and of the simulator. */
static inline int ossl_set_minimum_version(SSL_CTX *context, int version) {
  return SSL_CTX_set_min_proto_version(context, version) == 1;
}
static inline void ossl_set_modes(SSL_CTX *context) {
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}
static inline void ossl_refuse_renegotiation(SSL_CTX *context) {
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
}
static inline int ossl_set_server_name(SSL *ssl, const char *host) {
  return SSL_set_tlsext_host_name(ssl, host) == 1;
}
static inline int ossl_error_reason(unsigned long error) { return ERR_GET_REASON(error); }
static inline void ossl_session_cache_off(SSL_CTX *context) {
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}
static inline EVP_PKEY *ossl_generate_p256(void) { return EVP_EC_gen("P-256"); }
static inline int ossl_is_p256(const EVP_PKEY *key) {
  char name[64];
  size_t length = 0;
  if (EVP_PKEY_get_group_name(key, name, sizeof name, &length) != 1) return 0;
  return OBJ_sn2nid(name) == NID_X9_62_prime256v1 || OBJ_ln2nid(name) == NID_X9_62_prime256v1;
}
static inline int ossl_add_extension(X509 *certificate, X509 *issuer, int nid, const char *value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
  X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
  if (extension == NULL) return 0;
  int added = X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
  return added;
}
static inline int ossl_certificate_count(const STACK_OF(X509) *certificates) {
  return certificates == NULL ? 0 : sk_X509_num(certificates);
}
static inline X509 *ossl_certificate_at(const STACK_OF(X509) *certificates, int index) {
  return sk_X509_value(certificates, index);
}
static inline void ossl_free_certificates(STACK_OF(X509) *certificates) {
  sk_X509_pop_free(certificates, X509_free);
}
static inline int ossl_add_to_chain(SSL_CTX *context, X509 *certificate) {
  return SSL_CTX_add1_chain_cert(context, certificate) == 1;
}
/* An extension that OpenSSL has no name for: its value is what stands in the octet string. */
static inline int ossl_add_raw_extension(
    X509 *certificate, const char *identifier, const unsigned char *value, int length) {
  ASN1_OBJECT *object = OBJ_txt2obj(identifier, 1);
  ASN1_OCTET_STRING *text = ASN1_OCTET_STRING_new();
  X509_EXTENSION *extension = NULL;
  int added = 0;
  if (object != NULL && text != NULL && ASN1_OCTET_STRING_set(text, value, length) == 1)
    extension = X509_EXTENSION_create_by_OBJ(NULL, object, 0, text);
  if (extension != NULL) added = X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
  ASN1_OCTET_STRING_free(text);
  ASN1_OBJECT_free(object);
  return added;
}
static inline long ossl_memory_bio_data(BIO *bio, char **data) { return BIO_get_mem_data(bio, data); }
static inline void ossl_bio_clear_retry(BIO *bio) { BIO_clear_retry_flags(bio); }
static inline void ossl_bio_set_retry_read(BIO *bio) { BIO_set_retry_read(bio); }
/* Counts the handshake messages that come in; `count` must live as long as the session. */
static void ossl_note_message(
    int is_sent, int version, int type, const void *bytes, size_t length, SSL *ssl, void *count) {
  (void)version;
  (void)bytes;
  (void)length;
  (void)ssl;
  if (!is_sent && type == SSL3_RT_HANDSHAKE && count != NULL) ++*(long *)count;
}
static inline void ossl_count_messages(SSL *ssl, long *count) {
  SSL_set_msg_callback_arg(ssl, count);
  SSL_set_msg_callback(ssl, ossl_note_message);
}
static inline void ossl_read_ahead(SSL_CTX *context) { SSL_CTX_set_read_ahead(context, 1); }
