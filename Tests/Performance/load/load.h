/* load: declarations shared by its files. One thread runs one load on one server; state of the
   whole run is in `load`. */

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

/* A message: the time at which it was due, its number in its account (from 1), and the account. */
struct message {
  uint64_t due, number;
  uint32_t account;
};

/* An account of the load. On a server without accounts of its own it has no tokens. */
struct account {
  char *cursor;
  char **tokens;
  uint32_t token_count;
  uint64_t published;
};

/* Messages that a receiver has received: one bit for each number. */
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
  /* The first bytes of a marker that a frame boundary cut. */
  char cut[MARKER_BYTES];
  uint32_t cut_length;
  /* Cursor: a change token, or the values that a long-poll sends back. */
  char cursor[64], modified[64];
  /* For a sequential publisher: waiting messages, and the time at which the last save was sent. */
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
  int epoll_file;

  enum phase phase;
  /* Time of the last read. */
  uint64_t received_at;
  uint32_t begun, in_flight, ready, failed, broken, publishers_ready;
  uint64_t published, acknowledged, delivered;
  uint64_t measured_from, measured_until;
  uint64_t measured_published, measured_acknowledged, measured_delivered;
  uint64_t duplicates, out_of_order, misrouted, hints, gaps, refusals, failed_requests;
  struct histogram latency;
  /* Cost of the server: before the first connection, with all connections idle, and at both ends
     of the measured period. */
  struct server_cost empty, full, from, until;
  /* Processor time of this program at both ends of the measured period. */
  double own_from, own_until;
};

extern struct load load;

uint64_t now(void);
/* Prints the reason and ends the program. */
void give_up(const char *form, ...) __attribute__((format(printf, 1, 2), noreturn));

/* connection.c: sockets. */
void connection_open(struct connection *connection);
void connection_send(struct connection *connection, const void *bytes, size_t count);
void connection_event(struct connection *connection, uint32_t events);
void connection_drop(struct connection *connection, const char *reason);

/* conversation.c: the protocol of a connection. */
void conversation_begin(struct connection *connection);
/* Handles the complete messages at the front; returns their length in bytes. */
size_t conversation_receive(struct connection *connection, uint8_t *bytes, size_t count);
void conversation_publish(struct connection *connection, struct message message);

/* lockstep.c: messages that only a Lockstep relay sends. True if the message contains changes to
   count. */
bool lockstep_receive(struct connection *connection, const char *text, size_t length);

/* delivery.c: delivery of messages. */
void delivery_mark(char payload[PAYLOAD_BYTES], struct message message);
void delivery_scan(struct connection *connection, const char *bytes, size_t count);
uint64_t delivery_lost(void);

/* accounts.c: the accounts of the load. */
void accounts_make(void);
const char *account_token(const struct connection *connection);

/* phases.c: the sequence of a run. */
void phases_begin(void);
void phases_publish(void);
void phases_turn(void);
/* Nanoseconds until something is due. */
uint64_t phases_wait(void);
void acknowledged(struct connection *connection);

/* report.c: the results. */
void report(void);

#endif
