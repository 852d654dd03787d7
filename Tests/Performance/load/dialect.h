/* How a push server wants to be spoken to: templates, in which these stand for something:

     %a  the account, six digits     %t  the device's token     %p  the payload
     %d  the device, five digits     %c  where it stands        %u  a fresh UUID
     %n  a record's name             %z  the payload's length

   Widths are fixed where a protocol counts bytes before it says them. */

#ifndef DIALECT_H
#define DIALECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"

enum { PAYLOAD_BYTES = 200, MARKER_BYTES = 40 };

struct text {
  const char *bytes;
  size_t length;
};

enum cursor { CURSOR_FIELDS, CURSOR_TOKEN };

struct dialect {
  const char *name;
  uint8_t opcode;
  /* Header fields of every request, each with its line's end. */
  struct text fields;
  /* Receivers: the socket's path, what is said first, and what stands in the answer. */
  struct text path, greeting, welcome;
  /* Publishers likewise; `message` is one of a socket, or the body of a POST. */
  struct text publisher_path, publisher_greeting, publisher_welcome, message;
  bool posts;
  /* How many publish; 0: one an account. */
  uint32_t publishers;
  /* Whether devices need tokens, and each message is acknowledged. */
  bool has_accounts, acknowledges;
  /* Long-poll: no path where there is none; how the place is told where it goes on. */
  struct text poll_path, poll_fields;
  enum cursor cursor;
};

/* What placeholders stand for. */
struct subject {
  uint32_t account, device;
  const char *token, *cursor, *payload;
  uint64_t number;
};

/* By name; nothing where there is none. */
const struct dialect *dialect_named(const char *name);
void dialect_list(struct buffer *names);
/* Appends the template with what it stands for. */
void dialect_expand(struct buffer *out, struct text text, const struct subject *subject);

#endif
