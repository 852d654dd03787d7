/* load: what its parts know of each other. One thread runs one load on one server; what belongs to
   the whole of it stands in `load`. */

#ifndef LOAD_H
#define LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "dialect.h"
#include "histogram.h"
#include "server.h"

enum mode { MODE_STORM, MODE_RATE, MODE_WINDOW, MODE_SAVES, MODE_LONGPOLL };
enum phase { CONNECTING, SETTLING, PUBLISHERS_CONNECTING, WARMING, RESTING, MEASURING, DRAINING,
             ENDED };
enum role { RECEIVER, PUBLISHER };
enum state { UNBORN, DIALLING, UPGRADING, GREETING, READY, GONE };

/* A message: when it was due, its number in its account from 1 on, and the account. */
struct message {
  uint64_t due, number;
  uint32_t account;
};

/* A person of the load. A peer without accounts of its own has no tokens. */
struct account {
  char *cursor;
  char **tokens;
  uint32_t token_count;
  uint64_t published;
};

/* Which messages a receiver has got: a bit a number. */
struct seen {
  uint8_t *bits;
  uint64_t room, newest, count;
};

struct connection {
  int file;
  uint32_t account, device;
  enum role role;
  enum state state;
  bool waits_to_write, is_busy;
  struct buffer rest, unsent;
  struct seen seen;
  /* The beginning of a marker that a frame cut. */
  char cut[MARKER_BYTES];
  uint32_t cut_length;
  /* Where it stands: a change token, or what a long-poll gives back. */
  char cursor[64], modified[64];
  /* For one that publishes one after the other: messages that wait. When a save left. */
  struct buffer waiting;
  uint64_t sent_at;
};

enum { PORTS = 16 };

struct options {
  const struct dialect *dialect;
  enum mode mode;
  uint16_t ports[PORTS];
  uint32_t port_count;
  uint32_t accounts, devices, window, in_flight, messages;
  double rate, warm, seconds, settle, drain, limit;
  bool pauses, saves_one_record;
  const char *account_file;
};

struct load {
  struct options options;
  struct account *accounts;
  struct connection *receivers, *publishers;
  uint32_t receiver_count, publisher_count;
  int poll_file;

  enum phase phase;
  /* When the last read came in. */
  uint64_t heard_at;
  uint32_t begun, in_flight, ready, failed, broken, publishers_ready;
  uint64_t published, acknowledged, delivered;
  uint64_t measured_from, measured_until;
  uint64_t measured_published, measured_acknowledged, measured_delivered;
  uint64_t duplicates, out_of_order, misrouted, hints, gaps, refusals, failed_requests;
  struct histogram latency;
  /* The server, before the first connection, with all of them at rest, and around what is
     measured. */
  struct server_cost empty, full, from, until;
  /* Of this program's own time, in the measured window. */
  double own_from, own_until;
};

extern struct load load;

uint64_t now(void);
/* Ends the program with what is wrong. */
void give_up(const char *form, ...) __attribute__((format(printf, 1, 2), noreturn));

/* connection.c: sockets. */
void connection_open(struct connection *connection);
void connection_send(struct connection *connection, const void *bytes, size_t count);
void connection_event(struct connection *connection, uint32_t events);
void connection_drop(struct connection *connection, const char *reason);

/* conversation.c: what is said on them. */
void conversation_begin(struct connection *connection);
/* Takes what is whole at the front; says how many bytes that were. */
size_t conversation_hear(struct connection *connection, uint8_t *bytes, size_t count);
void conversation_publish(struct connection *connection, struct message message);

/* lockstep.c: what only a relay of Lockstep says. Whether it brings what is to be counted. */
bool lockstep_hear(struct connection *connection, const char *text, size_t length);

/* delivery.c: which messages came. */
void delivery_mark(char payload[PAYLOAD_BYTES], struct message message);
void delivery_scan(struct connection *connection, const char *bytes, size_t count);
uint64_t delivery_lost(void);

/* accounts.c: who takes part. */
void accounts_make(void);
const char *account_token(const struct connection *connection);

/* phases.c: what is done when. */
void phases_begin(void);
void phases_publish(void);
void phases_turn(void);
/* Until something is due, in nanoseconds. */
uint64_t phases_wait(void);
void acknowledged(struct connection *connection);

/* report.c */
void report(void);

#endif
