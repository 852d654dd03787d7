/* Bytes that grow: what was cut off, what waits to leave, what is put together. */

#ifndef BUFFER_H
#define BUFFER_H

#include <stddef.h>
#include <stdint.h>

struct buffer {
  uint8_t *bytes;
  size_t length, room;
};

/* Gives room for so many bytes behind those that are there; ends the program without memory. */
uint8_t *buffer_reserve(struct buffer *buffer, size_t count);
void buffer_append(struct buffer *buffer, const void *bytes, size_t count);
/* Removes so many bytes at the front. */
void buffer_consume(struct buffer *buffer, size_t count);
/* Gives its memory back: an idle connection holds none. */
void buffer_free(struct buffer *buffer);

#endif
