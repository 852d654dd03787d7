/* Dialect of a push server: templates with these placeholders:

     %a  the account, six digits     %t  the device's token     %p  the payload
     %d  the device, five digits     %c  the device's cursor    %u  a new UUID
     %n  a record's name             %z  the payload's length

   Widths are fixed because some protocols send a byte count before the bytes. */

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
  /* Header fields of every request, each with its line end. */
  struct text fields;
  /* Receivers: the socket's path, the first message sent, and a text that the answer
     contains. */
  struct text path, greeting, welcome;
  /* Publishers likewise; `message` is a message on a socket, or the body of a POST. */
  struct text publisher_path, publisher_greeting, publisher_welcome, message;
  bool posts;
  /* Number of publishers; 0: one for each account. */
  uint32_t publishers;
  /* True if devices need tokens; true if each message is acknowledged. */
  bool has_accounts, acknowledges;
  /* A text that each acknowledgement contains once, and one that only refusals contain, if no code
     of the dialect's own reads them. */
  struct text acknowledgement, refusal;
  /* Long-poll: the path (empty if unsupported), and the fields that carry the cursor. */
  struct text poll_path, poll_fields;
  enum cursor cursor;
};

/* Values of the placeholders. */
struct subject {
  uint32_t account, device;
  const char *token, *cursor, *payload;
  uint64_t number;
};

/* Returns the dialect of this name, or NULL. */
const struct dialect *dialect_named(const char *name);
void dialect_list(struct buffer *names);
/* Appends the template with its placeholders replaced. */
void dialect_expand(struct buffer *out, struct text text, const struct subject *subject);

#endif
