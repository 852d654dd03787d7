// The part of CommonCrypto that Lockstep uses.
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef uint32_t CC_LONG;
typedef uint64_t CC_LONG64;

#define CC_SHA1_DIGEST_LENGTH 20
#define CC_SHA256_DIGEST_LENGTH 32

typedef struct CC_SHA256state_st {
  CC_LONG count[2];
  CC_LONG hash[8];
  CC_LONG wbuf[16];
} CC_SHA256_CTX;

int CC_SHA256_Init(CC_SHA256_CTX *c);
int CC_SHA256_Update(CC_SHA256_CTX *c, const void *data, CC_LONG len);
int CC_SHA256_Final(unsigned char *md, CC_SHA256_CTX *c);
unsigned char *CC_SHA256(const void *data, CC_LONG len, unsigned char *md);
unsigned char *CC_SHA1(const void *data, CC_LONG len, unsigned char *md);

typedef uint32_t CCHmacAlgorithm;
enum { kCCHmacAlgSHA1, kCCHmacAlgMD5, kCCHmacAlgSHA256 };
void CCHmac(
    CCHmacAlgorithm algorithm, const void *key, size_t keyLength, const void *data,
    size_t dataLength, void *macOut);

typedef int32_t CCCryptorStatus;
typedef uint32_t CCOperation;
typedef uint32_t CCAlgorithm;
typedef uint32_t CCOptions;
enum { kCCSuccess = 0 };
enum { kCCEncrypt = 0, kCCDecrypt };
enum { kCCAlgorithmAES128 = 0, kCCAlgorithmAES = 0 };
enum { kCCOptionPKCS7Padding = 0x0001, kCCOptionECBMode = 0x0002 };
enum { kCCKeySizeAES256 = 32 };
CCCryptorStatus CCCrypt(
    CCOperation op, CCAlgorithm alg, CCOptions options, const void *key, size_t keyLength,
    const void *iv, const void *dataIn, size_t dataInLength, void *dataOut,
    size_t dataOutAvailable, size_t *dataOutMoved);
