/* Protocol of a connection: the upgrade or the request, the greeting, and then messages. */

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "load.h"
#include "websocket.h"

static const char key[] = "bG9ja3N0ZXAgbWVhc3VyZQ==";

static struct subject subject_of(const struct connection *connection) {
  return (struct subject){.account = connection->account,
                          .device = connection->device,
                          .token = account_token(connection),
                          .cursor = connection->cursor};
}

static void become_ready(struct connection *connection) {
  connection->state = READY;
  if (connection->role == PUBLISHER) {
    load.publishers_ready++;
  } else {
    load.in_flight--;
    load.ready++;
  }
}

static bool polls(const struct connection *connection) {
  return load.options.mode == MODE_LONGPOLL && connection->role == RECEIVER;
}

static void send_expanded(struct connection *connection, struct text text) {
  static struct buffer said, frame;
  struct subject subject = subject_of(connection);
  said.length = frame.length = 0;
  dialect_expand(&said, text, &subject);
  frame_append(&frame, load.options.dialect->opcode, said.bytes, said.length);
  connection_send(connection, frame.bytes, frame.length);
}

/* Writes a request up to the header fields of its kind; the dialect's own fields are included. */
static void begin_request(struct buffer *out, const struct connection *connection,
                          const char *method, struct text path) {
  struct subject subject = subject_of(connection);
  char line[64];
  int length = snprintf(line, sizeof line, "%s ", method);
  buffer_append(out, line, (size_t)length);
  dialect_expand(out, path, &subject);
  length = snprintf(line, sizeof line, " HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n", load.options.ports[0]);
  buffer_append(out, line, (size_t)length);
  dialect_expand(out, load.options.dialect->fields, &subject);
}

static void send_poll(struct connection *connection) {
  static struct buffer request;
  const struct dialect *dialect = load.options.dialect;
  request.length = 0;
  begin_request(&request, connection, "GET", dialect->poll_path);
  struct subject subject = subject_of(connection);
  /* A first poll has no cursor and sends none. */
  if (connection->cursor[0]) dialect_expand(&request, dialect->poll_fields, &subject);
  if (connection->modified[0]) {
    buffer_append(&request, "If-Modified-Since: ", 19);
    buffer_append(&request, connection->modified, strlen(connection->modified));
    buffer_append(&request, "\r\n", 2);
  }
  buffer_append(&request, "\r\n", 2);
  connection_send(connection, request.bytes, request.length);
}

void conversation_begin(struct connection *connection) {
  const struct dialect *dialect = load.options.dialect;
  const char *cursor = load.accounts[connection->account].cursor;
  if (cursor) snprintf(connection->cursor, sizeof connection->cursor, "%s", cursor);
  if (polls(connection)) {
    send_poll(connection);
    if (connection->state != GONE) become_ready(connection);
    return;
  }
  if (connection->role == PUBLISHER && dialect->posts) {
    become_ready(connection);
    return;
  }
  static struct buffer request;
  request.length = 0;
  bool publishes = connection->role == PUBLISHER;
  begin_request(&request, connection, "GET", publishes ? dialect->publisher_path : dialect->path);
  char fields[160];
  int length = snprintf(fields, sizeof fields,
                        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: %s\r\n"
                        "Sec-WebSocket-Version: 13\r\n\r\n", key);
  buffer_append(&request, fields, (size_t)length);
  connection->state = UPGRADING;
  connection_send(connection, request.bytes, request.length);
}

static size_t receive_upgrade(struct connection *connection, uint8_t *bytes, size_t count) {
  static char accept[ACCEPT_LENGTH + 1];
  if (!accept[0]) accept_key(key, accept);
  uint8_t *end = memmem(bytes, count, "\r\n\r\n", 4);
  if (!end) return 0;
  size_t length = (size_t)(end - bytes) + 4;
  if (length < 12 || memcmp(bytes, "HTTP/1.1 101", 12) ||
      !memmem(bytes, length, accept, ACCEPT_LENGTH)) {
    if (!load.failed) fprintf(stderr, "load: %.*s\n", (int)(length < 300 ? length : 300), bytes);
    connection_drop(connection, "the server refuses the upgrade");
    return length;
  }
  const struct dialect *dialect = load.options.dialect;
  bool publishes = connection->role == PUBLISHER;
  struct text greeting = publishes ? dialect->publisher_greeting : dialect->greeting;
  struct text welcome = publishes ? dialect->publisher_welcome : dialect->welcome;
  connection->state = GREETING;
  if (greeting.length) send_expanded(connection, greeting);
  if (connection->state != GONE && !welcome.length) become_ready(connection);
  return length;
}

/* A refused message counts as acknowledged too, so that the publisher goes on. */
static void receive_acknowledgements(struct connection *connection, const char *text,
                                     size_t length) {
  struct text mark = load.options.dialect->acknowledgement;
  struct text refusal = load.options.dialect->refusal;
  const char *end = text + length, *at = text;
  if (memmem(text, length, refusal.bytes, refusal.length) && !load.refusals++) {
    fprintf(stderr, "load: refused: %.*s\n", (int)length, text);
  }
  while ((at = memmem(at, (size_t)(end - at), mark.bytes, mark.length))) {
    at += mark.length;
    acknowledged(connection);
  }
}

static void receive_data(struct connection *connection, const struct frame *frame) {
  const struct dialect *dialect = load.options.dialect;
  if (connection->state == GREETING) {
    struct text welcome =
        connection->role == PUBLISHER ? dialect->publisher_welcome : dialect->welcome;
    if (memmem(frame->payload, frame->length, welcome.bytes, welcome.length)) {
      become_ready(connection);
      return;
    }
  }
  const char *said = (char *)frame->payload;
  if (dialect->acknowledgement.length) {
    receive_acknowledgements(connection, said, frame->length);
  }
  if (dialect->has_accounts && !lockstep_receive(connection, said, frame->length)) return;
  if (connection->role == RECEIVER) delivery_scan(connection, said, frame->length);
}

static size_t receive_frame(struct connection *connection, uint8_t *bytes, size_t count) {
  struct frame frame;
  if (!frame_read(bytes, count, &frame)) return 0;
  if (frame.opcode == OPCODE_PING) {
    static struct buffer pong;
    pong.length = 0;
    frame_append(&pong, OPCODE_PONG, frame.payload, frame.length);
    connection_send(connection, pong.bytes, pong.length);
  } else if (frame.opcode == OPCODE_CLOSE) {
    char reason[64];
    unsigned code = frame.length >= 2 ? (unsigned)frame.payload[0] << 8 | frame.payload[1] : 0;
    snprintf(reason, sizeof reason, "the server says close, code %u", code);
    connection_drop(connection, reason);
  } else if (frame.opcode != OPCODE_PONG) {
    receive_data(connection, &frame);
  }
  return frame.whole;
}

/* Value of a header field; NULL if the field is missing. */
static const char *field(const char *head, size_t length, const char *name, size_t *value_length) {
  const char *line = head, *end = head + length;
  size_t name_length = strlen(name);
  while (line < end) {
    const char *next = memmem(line, (size_t)(end - line), "\r\n", 2);
    if (!next) return NULL;
    size_t count = (size_t)(next - line);
    if (count > name_length && line[name_length] == ':' && !strncasecmp(line, name, name_length)) {
      const char *value = line + name_length + 1;
      while (value < next && *value == ' ') value++;
      *value_length = (size_t)(next - value);
      return value;
    }
    line = next + 2;
  }
  return NULL;
}

static void copy_text(char *place, size_t room, const char *value, size_t length) {
  if (length >= room) give_up("the server's place has %zu bytes", length);
  memcpy(place, value, length);
  place[length] = 0;
}

/* Stores the cursor from which the receiver continues after this answer. */
static void store_cursor(struct connection *connection, const char *head, size_t head_length,
                       const char *body, size_t body_length) {
  size_t length;
  if (load.options.dialect->cursor == CURSOR_TOKEN) {
    static const char name[] = "\"token\":\"";
    const char *value = memmem(body, body_length, name, sizeof name - 1);
    const char *end = body + body_length;
    if (!value) return;
    value += sizeof name - 1;
    end = memchr(value, '"', (size_t)(end - value));
    if (end) copy_text(connection->cursor, sizeof connection->cursor, value, (size_t)(end - value));
    return;
  }
  const char *value = field(head, head_length, "Etag", &length);
  if (value) copy_text(connection->cursor, sizeof connection->cursor, value, length);
  value = field(head, head_length, "Last-Modified", &length);
  if (value) copy_text(connection->modified, sizeof connection->modified, value, length);
}

static void post_next(struct connection *connection) {
  struct message message;
  if (connection->is_busy || connection->waiting.length < sizeof message) return;
  memcpy(&message, connection->waiting.bytes, sizeof message);
  buffer_consume(&connection->waiting, sizeof message);
  static struct buffer request;
  static char payload[PAYLOAD_BYTES];
  request.length = 0;
  delivery_mark(payload, message);
  connection->account = message.account;
  begin_request(&request, connection, "POST", load.options.dialect->publisher_path);
  char fields[64];
  int length =
      snprintf(fields, sizeof fields, "Content-Length: %u\r\n\r\n", (unsigned)PAYLOAD_BYTES);
  buffer_append(&request, fields, (size_t)length);
  buffer_append(&request, payload, PAYLOAD_BYTES);
  connection->is_busy = true;
  connection_send(connection, request.bytes, request.length);
}

/* Handles one answer with Content-Length. */
static size_t receive_response(struct connection *connection, uint8_t *bytes, size_t count) {
  const char *head = (const char *)bytes, *end = memmem(bytes, count, "\r\n\r\n", 4);
  if (!end) return 0;
  size_t head_length = (size_t)(end - head) + 4, digits;
  const char *value = field(head, head_length, "Content-Length", &digits);
  size_t body_length = value ? strtoul(value, NULL, 10) : 0;
  if (count - head_length < body_length) return 0;
  int status = head_length > 12 ? atoi(head + 9) : 0;
  if (status < 200 || status >= 300) {
    if (status != 304 && !load.failed_requests++) {
      fprintf(stderr, "load: %.*s\n", (int)(head_length + body_length), head);
    }
  }
  if (connection->role == RECEIVER) {
    const char *body = head + head_length;
    store_cursor(connection, head, head_length, body, body_length);
    delivery_scan(connection, body, body_length);
    send_poll(connection);
  } else {
    connection->is_busy = false;
    acknowledged(connection);
    post_next(connection);
  }
  return head_length + body_length;
}

size_t conversation_receive(struct connection *connection, uint8_t *bytes, size_t count) {
  if (connection->state == UPGRADING) return receive_upgrade(connection, bytes, count);
  bool speaks_http = polls(connection) ||
                     (connection->role == PUBLISHER && load.options.dialect->posts);
  return (speaks_http ? receive_response : receive_frame)(connection, bytes, count);
}

void conversation_publish(struct connection *connection, struct message message) {
  const struct dialect *dialect = load.options.dialect;
  if (connection->state != READY) return;
  if (dialect->posts) {
    buffer_append(&connection->waiting, &message, sizeof message);
    post_next(connection);
    return;
  }
  static struct buffer said, frame;
  static char payload[PAYLOAD_BYTES];
  delivery_mark(payload, message);
  struct subject subject = {.account = message.account, .payload = payload};
  subject.number = load.options.saves_one_record ? 1 : message.number;
  said.length = frame.length = 0;
  dialect_expand(&said, dialect->message, &subject);
  frame_append(&frame, dialect->opcode, said.bytes, said.length);
  connection->sent_at = message.due;
  connection_send(connection, frame.bytes, frame.length);
}
