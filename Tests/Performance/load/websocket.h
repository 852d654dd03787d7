/* The part of WebSocket (RFC 6455) that the baseline and the load generator need. */

#ifndef WEBSOCKET_H
#define WEBSOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"

enum { OPCODE_TEXT = 1, OPCODE_BINARY = 2, OPCODE_CLOSE = 8, OPCODE_PING = 9, OPCODE_PONG = 10 };
enum { KEY_LENGTH = 24, ACCEPT_LENGTH = 28, FRAME_HEAD_ROOM = 14 };

struct frame {
  uint8_t opcode;
  uint8_t *payload;
  size_t length;
  /* Length of the frame including its header. */
  size_t whole;
};

/* Reads the frame at the front and unmasks it in place. Returns false if it is incomplete. */
bool frame_read(uint8_t *bytes, size_t count, struct frame *frame);
/* Writes the header of a server's frame; returns its length. */
size_t frame_head(uint8_t *head, uint8_t opcode, size_t length);
/* Appends a client's frame, masked. */
void frame_append(struct buffer *buffer, uint8_t opcode, const void *payload, size_t length);
/* Writes the server's answer to a client's key, with a final zero. */
void accept_key(const char *key, char answer[ACCEPT_LENGTH + 1]);

#endif
