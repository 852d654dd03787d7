// The parts of OpenSSL that Swift uses; macros that Swift does not import are wrapped in functions.
#pragma once
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/obj_mac.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <openssl/x509err.h>

/// Writes the SHA-256 of the bytes, 32 bytes, to `digest`. Returns 0 if the library cannot. For a
/// short text, EVP_Digest(3) takes several times as long for its own contexts.
static inline int openssl_sha256(
    const void *_Nullable bytes, size_t count, unsigned char *_Nullable digest) {
  SHA256_CTX context;
  return SHA256_Init(&context) && SHA256_Update(&context, bytes, count) &&
         SHA256_Final(digest, &context);
}

/// Writes the SHA-1 of the bytes, 20 bytes, to `digest`. Returns 0 if the library cannot.
static inline int openssl_sha1(
    const void *_Nullable bytes, size_t count, unsigned char *_Nullable digest) {
  SHA_CTX context;
  return SHA1_Init(&context) && SHA1_Update(&context, bytes, count) &&
         SHA1_Final(digest, &context);
}

/// Writes a new key on the curve P-256 and a certificate that it signs itself, valid for a week, as
/// PEM files. `names`: the certificate's names in OpenSSL's form, such as "IP:127.0.0.1". Returns 0
/// if a file cannot be written, or the library cannot.
static inline int openssl_write_self_signed(
    const char *_Nonnull names, const char *_Nonnull certificate_path,
    const char *_Nonnull key_path) {
  int done = 0;
  EVP_PKEY *key = EVP_EC_gen("P-256");
  X509 *certificate = X509_new();
  BIO *certificate_file = BIO_new_file(certificate_path, "wb");
  BIO *key_file = BIO_new_file(key_path, "wb");
  X509_EXTENSION *extension = NULL;
  if (key && certificate && certificate_file && key_file) {
    extension = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, names);
    done = extension && X509_set_version(certificate, 2) &&
           ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1) &&
           X509_gmtime_adj(X509_getm_notBefore(certificate), -3600) &&
           X509_gmtime_adj(X509_getm_notAfter(certificate), 7 * 86400) &&
           X509_set_pubkey(certificate, key) &&
           X509_add_ext(certificate, extension, -1) &&
           X509_sign(certificate, key, EVP_sha256()) &&
           PEM_write_bio_X509(certificate_file, certificate) &&
           PEM_write_bio_PrivateKey(key_file, key, NULL, NULL, 0, NULL, NULL);
  }
  X509_EXTENSION_free(extension);
  done = done && BIO_flush(key_file) == 1 && BIO_flush(certificate_file) == 1;
  BIO_free(key_file);
  BIO_free(certificate_file);
  X509_free(certificate);
  EVP_PKEY_free(key);
  return done;
}

static inline int openssl_no_passphrase(char *text, int size, int writes, void *data) {
  (void)text, (void)size, (void)writes, (void)data;
  return -1;
}

/// Configures a client or server context: TLS 1.2 and 1.3, only ciphers with forward secrecy and
/// authenticated encryption, no renegotiation, no compression, buffers released while a connection
/// is idle, and no passphrase prompt on the terminal. Returns 0 if the library cannot.
static inline int openssl_restrict(SSL_CTX *_Nonnull context) {
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(
      context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                   SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_default_passwd_cb(context, openssl_no_passphrase);
  SSL_CTX_set_read_ahead(context, 1);
  return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
         SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1;
}

#define OPENSSL_HTTP_1_1 (const unsigned char *)"\x08http/1.1", 9

/// Returns 1 if the handshake validates a name for a certificate authority (RFC 8737): it carries
/// no data.
static inline int openssl_is_validation(SSL *_Nonnull ssl) {
  const char *mark = (const char *)SSL_get_app_data(ssl);
  return mark && mark[0] == 'a';
}

/// Lets a server's connection, of which only the client's first message has come, answer with this
/// certificate that it validates a name (RFC 8737). Returns 0 if the library cannot.
static inline int openssl_validate(
    SSL *_Nonnull ssl, X509 *_Nonnull certificate, EVP_PKEY *_Nonnull key) {
  SSL_set_options(ssl, SSL_OP_NO_TICKET);
  return SSL_set_num_tickets(ssl, 0) == 1 && SSL_use_certificate(ssl, certificate) == 1 &&
         SSL_use_PrivateKey(ssl, key) == 1 && SSL_set_app_data(ssl, (void *)"acme") == 1;
}

static inline int openssl_choose_http(
    SSL *ssl, const unsigned char **chosen, unsigned char *chosen_length,
    const unsigned char *offered, unsigned int offered_length, void *data) {
  (void)data;
  if (openssl_is_validation(ssl)) {
    // The offer was read before: it is this protocol alone.
    *chosen = offered + 1;
    *chosen_length = offered[0];
    return SSL_TLSEXT_ERR_OK;
  }
  int answer = SSL_select_next_proto(
      (unsigned char **)chosen, chosen_length, OPENSSL_HTTP_1_1, offered, offered_length);
  return answer == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

/// Configures a server context: selects HTTP/1.1 if the client offers it, and refuses a client that
/// offers only other protocols (RFC 7301 section 3.2). Session state is kept by the client, in a
/// ticket. Key exchange uses only the curves of Mozilla's intermediate configuration. Returns 0 if
/// the library cannot.
static inline int openssl_serve_http(SSL_CTX *_Nonnull context) {
  SSL_CTX_set_alpn_select_cb(context, openssl_choose_http, NULL);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  return SSL_CTX_set1_groups_list(context, "X25519:prime256v1:secp384r1") == 1;
}

/// Sets the callback `keys`, which supplies the key of each ticket
/// (SSL_CTX_set_tlsext_ticket_key_evp_cb(3)). Returns 0 if the library cannot.
static inline int openssl_set_ticket_keys(
    SSL_CTX *_Nonnull context,
    int (*_Nonnull keys)(
        SSL *_Nonnull ssl, unsigned char *_Nonnull name, unsigned char *_Nonnull iv,
        EVP_CIPHER_CTX *_Nonnull cipher, EVP_MAC_CTX *_Nonnull hash, int seals)) {
  return (int)SSL_CTX_set_tlsext_ticket_key_evp_cb(context, keys);
}

/// Sets the keys, 32 bytes each, to seal (`seals` is 1) or open a ticket. Returns 0 if the library
/// cannot.
static inline int openssl_key_ticket(
    EVP_CIPHER_CTX *_Nonnull cipher, EVP_MAC_CTX *_Nonnull hash,
    const unsigned char *_Nonnull cipher_key, const unsigned char *_Nonnull hash_key,
    const unsigned char *_Nonnull iv, int seals) {
  OSSL_PARAM terms[] = {
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, (void *)hash_key, 32),
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0),
      OSSL_PARAM_construct_end(),
  };
  return EVP_MAC_CTX_set_params(hash, terms) == 1 &&
         EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), NULL, cipher_key, iv, seals) == 1;
}

/// Configures a client context: offers HTTP/1.1, and requires a certificate chain to a trusted
/// authority. Returns 0 if the library cannot.
static inline int openssl_ask_http(SSL_CTX *_Nonnull context) {
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
  return SSL_CTX_set_alpn_protos(context, OPENSSL_HTTP_1_1) == 0;
}

/// Lets a client's connection offer HTTP/2 alone, and marks it. Returns 0 if the library cannot.
static inline int openssl_offer_http2(SSL *_Nonnull ssl) {
  return SSL_set_alpn_protos(ssl, (const unsigned char *)"\x02h2", 3) == 0 &&
         SSL_set_app_data(ssl, (void *)"h2") == 1;
}

/// Returns 1 if the connection has offered HTTP/2 alone and the handshake has not selected it.
static inline int openssl_lacks_http2(SSL *_Nonnull ssl) {
  const char *mark = (const char *)SSL_get_app_data(ssl);
  if (!mark || mark[0] != 'h') return 0;
  const unsigned char *chosen;
  unsigned int length;
  SSL_get0_alpn_selected(ssl, &chosen, &length);
  return length != 2 || chosen[0] != 'h' || chosen[1] != '2';
}

/// Calls `take` with each host name in the certificate (RFC 5280 section 4.2.1.6), or with its
/// common name if it lists none.
static inline void openssl_each_name(
    X509 *_Nonnull certificate, void *_Nonnull context,
    void (*_Nonnull take)(void *_Nonnull context, const char *_Nonnull name, int length)) {
  GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
  int count = names ? sk_GENERAL_NAME_num(names) : 0, listed = 0;
  for (int index = 0; index < count; index++) {
    const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, index);
    if (name->type != GEN_DNS) continue;
    listed++;
    take(context, (const char *)ASN1_STRING_get0_data(name->d.dNSName),
         ASN1_STRING_length(name->d.dNSName));
  }
  GENERAL_NAMES_free(names);
  if (listed > 0) return;
  X509_NAME *subject = X509_get_subject_name(certificate);
  int place = subject ? X509_NAME_get_index_by_NID(subject, NID_commonName, -1) : -1;
  ASN1_STRING *common =
      place < 0 ? NULL : X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, place));
  if (common) take(context, (const char *)ASN1_STRING_get0_data(common), ASN1_STRING_length(common));
}

/// Sets the server name that the client requests (RFC 6066 section 3). Returns 0 if the name is not
/// valid.
static inline int openssl_set_server_name(SSL *_Nonnull ssl, const char *_Nonnull name) {
  return (int)SSL_set_tlsext_host_name(ssl, name);
}

/// Signs a digest of 32 bytes with ECDSA on P-256. `scalar` and `nonce` are 32 bytes, from 1 to the
/// order of the curve less 1. Writes r and s, 32 bytes each. Returns 0 if the nonce gives no
/// signature, which a random nonce does once in 2^256.
///
/// The functions that OpenSSL recommends instead choose the nonce themselves; OpenSSL 3.2 is the
/// first to offer them the nonce of RFC 6979.
static inline int openssl_p256_sign(
    const unsigned char *_Nonnull scalar, const unsigned char *_Nonnull digest,
    const unsigned char *_Nonnull nonce, unsigned char *_Nonnull signature) {
  EC_KEY *key = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1);
  const EC_GROUP *group = key ? EC_KEY_get0_group(key) : NULL;
  const BIGNUM *order = group ? EC_GROUP_get0_order(group) : NULL;
  BN_CTX *context = BN_CTX_new();
  EC_POINT *point = group ? EC_POINT_new(group) : NULL;
  BIGNUM *secret = BN_bin2bn(scalar, 32, NULL), *factor = BN_bin2bn(nonce, 32, NULL);
  BIGNUM *inverse = BN_new(), *exponent = BN_new(), *r = BN_new();
  ECDSA_SIG *pair = NULL;
  if (order && context && point && secret && factor && inverse && exponent && r) {
    BN_set_flags(secret, BN_FLG_CONSTTIME);
    BN_set_flags(factor, BN_FLG_CONSTTIME);
    // The order is prime, so a power gives the inverse, in a time that does not depend on it.
    if (EC_KEY_set_private_key(key, secret) == 1 && BN_copy(exponent, order) &&
        BN_sub_word(exponent, 2) == 1 &&
        BN_mod_exp_mont_consttime(inverse, factor, exponent, order, context, NULL) == 1 &&
        EC_POINT_mul(group, point, factor, NULL, NULL, context) == 1 &&
        EC_POINT_get_affine_coordinates(group, point, r, NULL, context) == 1 &&
        BN_nnmod(r, r, order, context) == 1 && !BN_is_zero(r))
      pair = ECDSA_do_sign_ex(digest, 32, inverse, r, key);
  }
  int done = pair && BN_bn2binpad(ECDSA_SIG_get0_r(pair), signature, 32) == 32 &&
             BN_bn2binpad(ECDSA_SIG_get0_s(pair), signature + 32, 32) == 32;
  ECDSA_SIG_free(pair);
  BN_clear_free(secret);
  BN_clear_free(factor);
  BN_clear_free(inverse);
  BN_free(exponent);
  BN_free(r);
  EC_POINT_clear_free(point);
  BN_CTX_free(context);
  EC_KEY_free(key);
  return done;
}

/// Returns 1 if `signature`, r and s of 32 bytes each, is one of the digest of 32 bytes with the key
/// whose public point is `point`, of 65 bytes.
static inline int openssl_p256_verify(
    const unsigned char *_Nonnull point, const unsigned char *_Nonnull digest,
    const unsigned char *_Nonnull signature) {
  EC_KEY *key = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1);
  ECDSA_SIG *pair = ECDSA_SIG_new();
  BIGNUM *r = BN_bin2bn(signature, 32, NULL), *s = BN_bin2bn(signature + 32, 32, NULL);
  int valid = 0;
  if (key && pair && r && s && ECDSA_SIG_set0(pair, r, s) == 1) {
    r = s = NULL;
    valid = EC_KEY_oct2key(key, point, 65, NULL) == 1 &&
            ECDSA_do_verify(digest, 32, pair, key) == 1;
  }
  BN_free(r);
  BN_free(s);
  ECDSA_SIG_free(pair);
  EC_KEY_free(key);
  return valid;
}

/// Makes a key on P-256 of a scalar of 32 bytes and its public point of 65 bytes. The caller frees
/// it. Returns NULL if the library cannot.
static inline EVP_PKEY *_Nullable openssl_p256_key(
    const unsigned char *_Nonnull scalar, const unsigned char *_Nonnull point) {
  EC_KEY *pair = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1);
  BIGNUM *secret = BN_bin2bn(scalar, 32, NULL);
  EVP_PKEY *key = EVP_PKEY_new();
  int done = pair && secret && key && EC_KEY_oct2key(pair, point, 65, NULL) == 1 &&
             EC_KEY_set_private_key(pair, secret) == 1 && EVP_PKEY_set1_EC_KEY(key, pair) == 1;
  BN_clear_free(secret);
  EC_KEY_free(pair);
  if (done) return key;
  EVP_PKEY_free(key);
  return NULL;
}

/// Calls `take` with what was written to a memory file, and frees the file. Returns 0 if it is
/// empty.
static inline int openssl_take_file(
    BIO *_Nullable file, void *_Nonnull context,
    void (*_Nonnull take)(void *_Nonnull context, const void *_Nonnull bytes, long count)) {
  char *bytes = NULL;
  long count = file ? BIO_get_mem_data(file, &bytes) : 0;
  if (count > 0 && bytes) take(context, bytes, count);
  BIO_free(file);
  return count > 0;
}

/// Calls `take` with a request for a certificate (RFC 2986) in DER form. `names`: host names in
/// OpenSSL's form, such as "DNS:example.org,DNS:example.net". Returns 0 if the library cannot.
static inline int openssl_certificate_request(
    const char *_Nonnull names, EVP_PKEY *_Nonnull key, void *_Nonnull context,
    void (*_Nonnull take)(void *_Nonnull context, const void *_Nonnull bytes, long count)) {
  X509_REQ *request = X509_REQ_new();
  X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, names);
  STACK_OF(X509_EXTENSION) *extensions = sk_X509_EXTENSION_new_null();
  BIO *file = BIO_new(BIO_s_mem());
  int done = request && extension && extensions && file &&
             sk_X509_EXTENSION_push(extensions, extension) == 1;
  if (!done) X509_EXTENSION_free(extension);
  done = done && X509_REQ_set_version(request, 0) == 1 &&
         X509_REQ_add_extensions(request, extensions) == 1 &&
         X509_REQ_set_pubkey(request, key) == 1 &&
         X509_REQ_sign(request, key, EVP_sha256()) > 0 && i2d_X509_REQ_bio(file, request) == 1;
  sk_X509_EXTENSION_pop_free(extensions, X509_EXTENSION_free);
  X509_REQ_free(request);
  if (done) return openssl_take_file(file, context, take);
  BIO_free(file);
  return 0;
}

/// Calls `take` with a certificate in PEM form that answers the validation of a host name over TLS
/// (RFC 8737 section 3): it is signed by its own key and contains the digest, of 32 bytes, in a
/// critical extension. It is valid for a week around `now`, in seconds since the Unix epoch. Returns
/// 0 if the library cannot.
static inline int openssl_validation_certificate(
    const char *_Nonnull name, const unsigned char *_Nonnull digest, EVP_PKEY *_Nonnull key,
    long long now, void *_Nonnull context,
    void (*_Nonnull take)(void *_Nonnull context, const void *_Nonnull bytes, long count)) {
  // OCTET STRING with the digest.
  unsigned char content[34] = {0x04, 32};
  for (int index = 0; index < 32; index++) content[2 + index] = digest[index];
  X509 *certificate = X509_new();
  ASN1_OCTET_STRING *value = ASN1_OCTET_STRING_new();
  ASN1_OBJECT *kind = OBJ_txt2obj("1.3.6.1.5.5.7.1.31", 1);
  X509_EXTENSION *names = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, name);
  X509_EXTENSION *extension = NULL;
  BIO *file = BIO_new(BIO_s_mem());
  time_t time = (time_t)now;
  int done = 0;
  if (certificate && value && kind && names && file &&
      ASN1_OCTET_STRING_set(value, content, sizeof content) == 1) {
    extension = X509_EXTENSION_create_by_OBJ(NULL, kind, 1, value);
    done = extension && X509_set_version(certificate, 2) == 1 &&
           ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1) == 1 &&
           X509_time_adj_ex(X509_getm_notBefore(certificate), -1, 0, &time) &&
           X509_time_adj_ex(X509_getm_notAfter(certificate), 6, 0, &time) &&
           X509_set_pubkey(certificate, key) == 1 && X509_add_ext(certificate, names, -1) == 1 &&
           X509_add_ext(certificate, extension, -1) == 1 &&
           X509_sign(certificate, key, EVP_sha256()) > 0 &&
           PEM_write_bio_X509(file, certificate) == 1;
  }
  X509_EXTENSION_free(extension);
  X509_EXTENSION_free(names);
  ASN1_OBJECT_free(kind);
  ASN1_OCTET_STRING_free(value);
  X509_free(certificate);
  if (done) return openssl_take_file(file, context, take);
  BIO_free(file);
  return 0;
}

/// Calls `take` with a private key in PEM form (PKCS #8), without a passphrase. Returns 0 if the
/// library cannot.
static inline int openssl_key_text(
    EVP_PKEY *_Nonnull key, void *_Nonnull context,
    void (*_Nonnull take)(void *_Nonnull context, const void *_Nonnull bytes, long count)) {
  BIO *file = BIO_new(BIO_s_secmem());
  if (file && PEM_write_bio_PKCS8PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) == 1)
    return openssl_take_file(file, context, take);
  BIO_free(file);
  return 0;
}

/// Calls `take` with a certificate in PEM form. Returns 0 if the library cannot.
static inline int openssl_certificate_text(
    X509 *_Nonnull certificate, void *_Nonnull context,
    void (*_Nonnull take)(void *_Nonnull context, const void *_Nonnull bytes, long count)) {
  BIO *file = BIO_new(BIO_s_mem());
  if (file && PEM_write_bio_X509(file, certificate) == 1)
    return openssl_take_file(file, context, take);
  BIO_free(file);
  return 0;
}

/// Calls `take` with the bytes of a certificate's serial number as DER has them, without type and
/// length. Returns 0 if it has more than 20, or none (RFC 5280 section 4.1.2.2).
static inline int openssl_serial_number(
    X509 *_Nonnull certificate, void *_Nonnull context,
    void (*_Nonnull take)(void *_Nonnull context, const void *_Nonnull bytes, long count)) {
  unsigned char bytes[2 + 21], *end = bytes;
  const ASN1_INTEGER *number = X509_get0_serialNumber(certificate);
  int count = number ? i2d_ASN1_INTEGER(number, NULL) : 0;
  if (count < 3 || count > (int)sizeof bytes) return 0;
  i2d_ASN1_INTEGER(number, &end);
  take(context, bytes + 2, count - 2);
  return 1;
}
