/* Growable byte buffer. It has no limit; each caller enforces its own. */

#include "buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint8_t *buffer_reserve(struct buffer *buffer, size_t count) {
  if (buffer->length + count > buffer->room) {
    size_t room = buffer->room ? buffer->room : 256;
    while (room < buffer->length + count) room *= 2;
    buffer->bytes = realloc(buffer->bytes, room);
    if (!buffer->bytes) {
      fprintf(stderr, "no memory for %zu bytes\n", room);
      exit(1);
    }
    buffer->room = room;
  }
  return buffer->bytes + buffer->length;
}

void buffer_append(struct buffer *buffer, const void *bytes, size_t count) {
  if (!count) return;
  memcpy(buffer_reserve(buffer, count), bytes, count);
  buffer->length += count;
}

void buffer_consume(struct buffer *buffer, size_t count) {
  buffer->length -= count;
  if (buffer->length) memmove(buffer->bytes, buffer->bytes + count, buffer->length);
}

void buffer_free(struct buffer *buffer) {
  free(buffer->bytes);
  *buffer = (struct buffer){0};
}
