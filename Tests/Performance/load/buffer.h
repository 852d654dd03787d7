/* Growable byte buffer: for incomplete input, unsent output, and assembled messages. */

#ifndef BUFFER_H
#define BUFFER_H

#include <stddef.h>
#include <stdint.h>

struct buffer {
  uint8_t *bytes;
  size_t length, room;
};

/* Reserves this many bytes after the content; ends the program if there is no memory. */
uint8_t *buffer_reserve(struct buffer *buffer, size_t count);
void buffer_append(struct buffer *buffer, const void *bytes, size_t count);
/* Removes this many bytes from the front. */
void buffer_consume(struct buffer *buffer, size_t count);
/* Frees the memory: an idle connection holds none. */
void buffer_free(struct buffer *buffer);

#endif
