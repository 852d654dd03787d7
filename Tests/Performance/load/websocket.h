/* As much of WebSocket (RFC 6455) as a yardstick and a load generator need. */

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
  /* The frame with its head. */
  size_t whole;
};

/* Reads the frame at the front and takes its mask off where it lies. False where it is cut off. */
bool frame_read(uint8_t *bytes, size_t count, struct frame *frame);
/* Writes the head of a server's frame; says how long it is. */
size_t frame_head(uint8_t *head, uint8_t opcode, size_t length);
/* Appends a client's frame, which is masked. */
void frame_append(struct buffer *buffer, uint8_t opcode, const void *payload, size_t length);
/* What a server answers to a client's key; ends with a zero. */
void accept_key(const char *key, char answer[ACCEPT_LENGTH + 1]);

#endif
