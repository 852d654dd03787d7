/* Table of the supported servers, one entry each, and expansion of templates into bytes. */

#include "dialect.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define TEXT(literal) {literal, sizeof literal - 1}
#define NATS_CONNECT \
  "CONNECT {\"verbose\":false,\"pedantic\":false,\"lang\":\"c\",\"version\":\"1\"}\r\n"
#define MQTT_CONNECT(kind) "\x10\x18\x00\x04MQTT\x04\x02\x00\x00\x00\x0c" kind "%a%d"

static const struct dialect dialects[] = {
    {.name = "floor",
     .opcode = 1,
     .path = TEXT("/ws/%a/%d"),
     .publisher_path = TEXT("/pub"),
     .message = TEXT("%a %p"),
     .poll_path = TEXT("/lp/%a/%d"),
     .poll_fields = TEXT("If-None-Match: %c\r\n")},
    {.name = "lockstep",
     .opcode = 1,
     .fields = TEXT("Authorization: Bearer %t\r\nSec-WebSocket-Protocol: lockstep.v1\r\n"),
     .path = TEXT("/v1/socket"),
     .greeting = TEXT("{\"op\":\"hello\",\"since\":\"%c\"}"),
     .welcome = TEXT("{\"op\":\"welcome\""),
     .publisher_path = TEXT("/v1/socket"),
     .publisher_greeting = TEXT("{\"op\":\"hello\",\"since\":\"%c\"}"),
     .publisher_welcome = TEXT("{\"op\":\"welcome\""),
     .message = TEXT("{\"op\":\"save\",\"id\":\"%u\",\"zone\":\"Load\",\"records\":["
                     "{\"name\":\"%n\",\"type\":\"Load\",\"fields\":{\"text\":\"%p\"},"
                     "\"modifiedAt\":0,\"baseTag\":\"any\"}]}"),
     .has_accounts = true,
     .acknowledges = true,
     .poll_path = TEXT("/v1/changes?since=%c&wait=50"),
     .cursor = CURSOR_TOKEN},
    /* nginx's module nchan: publishers use POST, its own interface. */
    {.name = "nchan",
     .opcode = 1,
     .path = TEXT("/ws/%a/%d"),
     .publisher_path = TEXT("/pub/%a"),
     .message = TEXT("%p"),
     .posts = true,
     .publishers = 16,
     .poll_path = TEXT("/lp/%a/%d"),
     .poll_fields = TEXT("If-None-Match: %c\r\n")},
    /* MQTT 3.1.1: the lengths are those of six and five digits and of the payload. */
    {.name = "mosquitto",
     .opcode = 2,
     .fields = TEXT("Sec-WebSocket-Protocol: mqtt\r\n"),
     .path = TEXT("/mqtt"),
     .greeting = TEXT(MQTT_CONNECT("c") "\x82\x0d\x00\x01\x00\x08" "a/%a\x00"),
     .welcome = TEXT("\x90\x03"),
     .publisher_path = TEXT("/mqtt"),
     .publisher_greeting = TEXT(MQTT_CONNECT("p")),
     .publisher_welcome = TEXT("\x20\x02"),
     .message = TEXT("\x30\xd2\x01\x00\x08" "a/%a%p")},
    {.name = "nats",
     .opcode = 2,
     .path = TEXT("/"),
     .greeting = TEXT(NATS_CONNECT "SUB a.%a 1\r\nPING\r\n"),
     .welcome = TEXT("PONG"),
     .publisher_path = TEXT("/"),
     .publisher_greeting = TEXT(NATS_CONNECT "PING\r\n"),
     .publisher_welcome = TEXT("PONG"),
     .message = TEXT("PUB a.%a %z\r\n%p\r\n")},
    /* NATS with a stream for the subjects s.ACCOUNT; publishers only. */
    {.name = "jetstream",
     .opcode = 2,
     .publisher_path = TEXT("/"),
     .publisher_greeting = TEXT(NATS_CONNECT "SUB r.%a 1\r\nPING\r\n"),
     .publisher_welcome = TEXT("PONG"),
     .message = TEXT("PUB s.%a r.%a %z\r\n%p\r\n"),
     .acknowledges = true,
     .acknowledgement = TEXT("\"seq\":"),
     .refusal = TEXT("\"error\":")},
};

enum { DIALECTS = sizeof dialects / sizeof *dialects };

const struct dialect *dialect_named(const char *name) {
  for (int i = 0; i < DIALECTS; i++) {
    if (!strcmp(dialects[i].name, name)) return &dialects[i];
  }
  return NULL;
}

void dialect_list(struct buffer *names) {
  for (int i = 0; i < DIALECTS; i++) {
    buffer_append(names, i ? ", " : "", i ? 2 : 0);
    buffer_append(names, dialects[i].name, strlen(dialects[i].name));
  }
}

/* SplitMix64, seeded from the system's randomness: batch ids are unique, also across runs. */
static uint64_t draw(void) {
  static uint64_t state;
  while (!state) {
    if (getrandom(&state, sizeof state, 0) != sizeof state) state = 0;
  }
  uint64_t mixed = state += 0x9e3779b97f4a7c15;
  mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
  return mixed ^ mixed >> 31;
}

static void append_uuid(struct buffer *out) {
  /* Version 4 and its variant (RFC 9562). */
  uint64_t high = (draw() & ~0xf000ull) | 0x4000, low = (draw() >> 2) | 0x8000000000000000;
  char text[37];
  snprintf(text, sizeof text, "%08x-%04x-%04x-%04x-%012llx", (unsigned)(high >> 32),
           (unsigned)(high >> 16 & 0xffff), (unsigned)(high & 0xffff), (unsigned)(low >> 48),
           (unsigned long long)(low & 0xffffffffffff));
  buffer_append(out, text, 36);
}

static void append_number(struct buffer *out, const char *form, uint64_t value) {
  char text[24];
  int length = snprintf(text, sizeof text, form, (unsigned long)value);
  buffer_append(out, text, (size_t)length);
}

static void append_text(struct buffer *out, const char *text) {
  if (text) buffer_append(out, text, strlen(text));
}

void dialect_expand(struct buffer *out, struct text text, const struct subject *subject) {
  const char *at = text.bytes, *end = text.bytes + text.length;
  while (at < end) {
    const char *mark = memchr(at, '%', (size_t)(end - at));
    if (!mark || mark + 1 == end) mark = end;
    buffer_append(out, at, (size_t)(mark - at));
    if (mark == end) return;
    switch (mark[1]) {
      case 'a': append_number(out, "%06lu", subject->account); break;
      case 'd': append_number(out, "%05lu", subject->device); break;
      case 'n': append_number(out, "r%lu", subject->number); break;
      case 'z': append_number(out, "%lu", PAYLOAD_BYTES); break;
      case 't': append_text(out, subject->token); break;
      case 'c': append_text(out, subject->cursor); break;
      case 'u': append_uuid(out); break;
      case 'p': buffer_append(out, subject->payload, PAYLOAD_BYTES); break;
      default: buffer_append(out, mark, 2);
    }
    at = mark + 2;
  }
}
