/* The part of WebSocket that the baseline and the load generator need: fragments are not sent, and
   protocol errors are not detected. */

#include "websocket.h"

#include <string.h>

bool frame_read(uint8_t *bytes, size_t count, struct frame *frame) {
  if (count < 2) return false;
  size_t head = 2, length = bytes[1] & 0x7f;
  bool is_masked = bytes[1] & 0x80;
  size_t wide = length == 126 ? 2 : length == 127 ? 8 : 0;
  if (count < head + wide) return false;
  if (wide) {
    length = 0;
    for (size_t index = 0; index < wide; index++) length = length << 8 | bytes[2 + index];
    head += wide;
  }
  const uint8_t *mask = bytes + head;
  if (is_masked) head += 4;
  if (count < head || count - head < length) return false;
  *frame = (struct frame){bytes[0] & 0x0f, bytes + head, length, head + length};
  if (is_masked) {
    for (size_t index = 0; index < length; index++) frame->payload[index] ^= mask[index & 3];
  }
  return true;
}

size_t frame_head(uint8_t *head, uint8_t opcode, size_t length) {
  head[0] = 0x80 | opcode;
  size_t wide = length < 126 ? 0 : length < 65536 ? 2 : 8;
  head[1] = (uint8_t)(wide == 0 ? length : wide == 2 ? 126 : 127);
  for (size_t index = 0; index < wide; index++) {
    head[2 + index] = (uint8_t)((uint64_t)length >> (8 * (wide - 1 - index)));
  }
  return 2 + wide;
}

void frame_append(struct buffer *buffer, uint8_t opcode, const void *payload, size_t length) {
  /* A constant mask: the cost for the server is the same with any. */
  static const uint8_t mask[4] = {0x5c, 0xa1, 0x0e, 0x93};
  uint8_t *out = buffer_reserve(buffer, FRAME_HEAD_ROOM + length);
  size_t head = frame_head(out, opcode, length);
  out[1] |= 0x80;
  memcpy(out + head, mask, 4);
  head += 4;
  const uint8_t *in = payload;
  for (size_t index = 0; index < length; index++) out[head + index] = in[index] ^ mask[index & 3];
  buffer->length += head + length;
}

static uint32_t rotated(uint32_t value, int bits) { return value << bits | value >> (32 - bits); }

/* One block of SHA-1 (RFC 3174). */
static void sha1_block(uint32_t state[5], const uint8_t block[64]) {
  uint32_t words[80];
  for (int i = 0; i < 16; i++) {
    words[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
  }
  for (int i = 16; i < 80; i++) {
    words[i] = rotated(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
  }
  static const uint32_t constants[4] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
  for (int i = 0; i < 80; i++) {
    uint32_t mixed = i < 20 ? (b & c) | (~b & d) : i >= 40 && i < 60 ? (b & c) | (b & d) | (c & d)
                                                                     : b ^ c ^ d;
    uint32_t next = rotated(a, 5) + mixed + e + constants[i / 20] + words[i];
    e = d;
    d = c;
    c = rotated(b, 30);
    b = a;
    a = next;
  }
  uint32_t sums[5] = {a, b, c, d, e};
  for (int i = 0; i < 5; i++) state[i] += sums[i];
}

void accept_key(const char *key, char answer[ACCEPT_LENGTH + 1]) {
  static const char salt[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  enum { LENGTH = KEY_LENGTH + sizeof salt - 1 };
  uint8_t message[128] = {0}, hash[21] = {0};
  memcpy(message, key, KEY_LENGTH);
  memcpy(message + KEY_LENGTH, salt, sizeof salt - 1);
  message[LENGTH] = 0x80;
  message[126] = (uint8_t)(LENGTH * 8 >> 8);
  message[127] = (uint8_t)(LENGTH * 8);
  uint32_t state[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  sha1_block(state, message);
  sha1_block(state, message + 64);
  for (int i = 0; i < 20; i++) hash[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
  for (int i = 0; i < 7; i++) {
    uint32_t three = (uint32_t)hash[3 * i] << 16 | (uint32_t)hash[3 * i + 1] << 8 | hash[3 * i + 2];
    for (int j = 0; j < 4; j++) answer[4 * i + j] = letters[three >> (18 - 6 * j) & 63];
  }
  answer[ACCEPT_LENGTH - 1] = '=';
  answer[ACCEPT_LENGTH] = 0;
}
