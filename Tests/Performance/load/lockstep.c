/* Messages that only a Lockstep relay sends: acknowledgements, hints, and the chain of tokens by
   which a device detects that changes are missing. Like a device, this fetches after a hint or a
   gap. */

#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "load.h"
#include "websocket.h"

static bool begins(const char *text, size_t length, const char *begin) {
  size_t count = strlen(begin);
  return length >= count && !memcmp(text, begin, count);
}

/* Finds a text member near the beginning of the message; returns its length, 0 if missing. */
static size_t member(const char *text, size_t length, const char *name, const char **value) {
  /* Tokens come before members of variable length. */
  if (length > 300) length = 300;
  const char *found = memmem(text, length, name, strlen(name));
  if (!found) return 0;
  *value = found + strlen(name);
  const char *end = memchr(*value, '"', length - (size_t)(*value - text));
  return end ? (size_t)(end - *value) : 0;
}

static void fetch(struct connection *connection) {
  if (connection->is_busy) return;
  char said[160];
  static struct buffer frame;
  int length = snprintf(said, sizeof said, "{\"op\":\"fetch\",\"id\":\"f\",\"since\":\"%s\"}",
                        connection->cursor);
  frame.length = 0;
  frame_append(&frame, OPCODE_TEXT, said, (size_t)length);
  connection->is_busy = true;
  connection_send(connection, frame.bytes, frame.length);
}

/* True if the changes count. Changes that do not follow the cursor are ignored and refetched. */
static bool receive_changes(struct connection *connection, const char *text, size_t length) {
  const char *since = NULL, *token = NULL;
  size_t since_length = member(text, length, "\"since\":\"", &since);
  size_t token_length = member(text, length, "\"token\":\"", &token);
  bool follows = since_length == strlen(connection->cursor) &&
                 !memcmp(since, connection->cursor, since_length);
  if (!token_length || token_length >= sizeof connection->cursor || !follows) {
    load.gaps++;
    fetch(connection);
    return false;
  }
  memcpy(connection->cursor, token, token_length);
  connection->cursor[token_length] = 0;
  if (begins(text, length, "{\"op\":\"changes\",\"id\":")) connection->is_busy = false;
  if (memmem(text, length < 300 ? length : 300, "\"more\":true", 11)) fetch(connection);
  return true;
}

static void receive_saved(struct connection *connection, const char *text, size_t length) {
  if (memmem(text, length, "\"error\"", 7) || memmem(text, length, "\"conflict\"", 10)) {
    if (!load.refusals++) fprintf(stderr, "load: refused: %.*s\n", (int)length, text);
  }
  acknowledged(connection);
}

bool lockstep_receive(struct connection *connection, const char *text, size_t length) {
  bool receives = connection->role == RECEIVER;
  if (begins(text, length, "{\"op\":\"saved\"")) {
    receive_saved(connection, text, length);
  } else if (begins(text, length, "{\"op\":\"error\"")) {
    if (!load.refusals++) fprintf(stderr, "load: refused: %.*s\n", (int)length, text);
  } else if (receives && begins(text, length, "{\"op\":\"changes\"")) {
    return receive_changes(connection, text, length);
  } else if (receives && begins(text, length, "{\"op\":\"changed\"")) {
    load.hints++;
    fetch(connection);
  }
  return false;
}
