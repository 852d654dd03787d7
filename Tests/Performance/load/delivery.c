/* Delivery of messages. Every payload begins with a marker: the time at which it was due, its
   number in its account, and the account:

     @T<19 digits of nanoseconds>.<10 digits>.<6 digits>;

   The marker is searched for in the bytes of data frames, because a server may put several
   messages into a frame, or a header before them: a delivery is a marker, not a frame. */

#include <stdlib.h>
#include <string.h>

#include "load.h"

enum { NUMBER_AT = 22, ACCOUNT_AT = 33, END_AT = 39 };

static void put_digits(char *at, int width, uint64_t value) {
  while (width--) {
    at[width] = (char)('0' + value % 10);
    value /= 10;
  }
}

static uint64_t digits(const char *at, int width) {
  uint64_t value = 0;
  while (width--) value = value * 10 + (uint64_t)(*at++ - '0');
  return value;
}

void delivery_mark(char payload[PAYLOAD_BYTES], struct message message) {
  memset(payload, 'x', PAYLOAD_BYTES);
  payload[0] = '@';
  payload[1] = 'T';
  put_digits(payload + 2, 19, message.due);
  payload[NUMBER_AT - 1] = '.';
  put_digits(payload + NUMBER_AT, 10, message.number);
  payload[ACCOUNT_AT - 1] = '.';
  put_digits(payload + ACCOUNT_AT, 6, message.account);
  payload[END_AT] = ';';
}

/* Returns false if the number was already recorded. */
static bool mark_seen(struct seen *seen, uint64_t number) {
  if (number / 8 >= seen->room) {
    uint64_t room = seen->room ? seen->room * 2 : 8;
    while (number / 8 >= room) room *= 2;
    seen->bits = realloc(seen->bits, room);
    if (!seen->bits) give_up("no memory");
    memset(seen->bits + seen->room, 0, room - seen->room);
    seen->room = room;
  }
  uint8_t bit = (uint8_t)(1 << number % 8);
  if (seen->bits[number / 8] & bit) return false;
  seen->bits[number / 8] |= bit;
  seen->count++;
  return true;
}

static void deliver(struct connection *connection, const char *marker) {
  if (marker[1] != 'T' || marker[NUMBER_AT - 1] != '.' || marker[ACCOUNT_AT - 1] != '.' ||
      marker[END_AT] != ';') {
    return;
  }
  uint64_t due = digits(marker + 2, 19), number = digits(marker + NUMBER_AT, 10);
  if (digits(marker + ACCOUNT_AT, 6) != connection->account ||
      number > load.accounts[connection->account].published) {
    load.misrouted++;
    return;
  }
  if (!mark_seen(&connection->seen, number)) {
    load.duplicates++;
    return;
  }
  if (number < connection->seen.newest) load.out_of_order++;
  else connection->seen.newest = number;
  load.delivered++;
  if (load.phase == MEASURING) load.measured_delivered++;
  /* Messages due in the measured period count, however late they arrive. */
  bool counts = load.measured_from && due >= load.measured_from &&
                (!load.measured_until || due < load.measured_until);
  if (counts) histogram_add(&load.latency, load.received_at > due ? load.received_at - due : 0);
}

void delivery_scan(struct connection *connection, const char *bytes, size_t count) {
  const char *end = bytes + count;
  if (connection->cut_length) {
    size_t more = MARKER_BYTES - connection->cut_length;
    if (more > count) more = count;
    memcpy(connection->cut + connection->cut_length, bytes, more);
    connection->cut_length += (uint32_t)more;
    bytes += more;
    if (connection->cut_length < MARKER_BYTES) return;
    deliver(connection, connection->cut);
    connection->cut_length = 0;
  }
  while (bytes < end && (bytes = memchr(bytes, '@', (size_t)(end - bytes)))) {
    size_t left = (size_t)(end - bytes);
    if (left < MARKER_BYTES) {
      memcpy(connection->cut, bytes, left);
      connection->cut_length = (uint32_t)left;
      return;
    }
    deliver(connection, bytes);
    bytes += bytes[1] == 'T' ? MARKER_BYTES : 1;
  }
}

/* Number of published messages not delivered, over all receivers, including disconnected ones. */
uint64_t delivery_lost(void) {
  uint64_t lost = 0;
  for (uint32_t i = 0; i < load.receiver_count; i++) {
    struct connection *receiver = &load.receivers[i];
    lost += load.accounts[receiver->account].published - receiver->seen.count;
  }
  return lost;
}
