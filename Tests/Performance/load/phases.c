/* Phases of a run: connect, rest, warm up, measure, wait for messages under way.

   A storm is measured from its first connection to its last welcome. Other modes are measured for
   a time, or, with --messages, for a number of messages: from the moment when all earlier messages
   have arrived to the moment when all of these have, so that the server does the same work in
   every run. */

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "load.h"

enum { MESSAGES_AT_ONCE = 64, WARM_MESSAGES = 50 };

static uint64_t phase_ends, publishing_from, due_count, goal;

static uint64_t nanoseconds(double seconds) { return (uint64_t)(seconds * 1e9); }

static double own_seconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* With --pause: prints its position on standard output, and continues after a line of standard
   input, so that another program can count the server's work in between. */
static void pause_at(const char *place) {
  if (!load.options.pauses) return;
  printf("%s\n", place);
  fflush(stdout);
  char line[16];
  if (!fgets(line, sizeof line, stdin)) give_up("nobody says how to go on after %s", place);
}

static void begin_measuring(void) {
  pause_at("begin");
  load.phase = MEASURING;
  load.from = server_read(false);
  load.own_from = own_seconds();
  load.measured_from = now();
  goal = load.published + load.options.messages;
  phase_ends = load.measured_from + nanoseconds(load.options.seconds);
}

static void end_measuring(void) {
  load.measured_until = now();
  load.own_until = own_seconds();
  load.until = server_read(false);
  pause_at("end");
  phase_ends = now() + nanoseconds(load.options.drain);
  load.phase = DRAINING;
}

static bool all_arrived(void) {
  bool acknowledges = load.options.dialect->acknowledges;
  return load.delivered >= load.published * load.options.devices &&
         (!acknowledges || load.acknowledged >= load.published);
}

static void publish(uint64_t due) {
  uint32_t account = (uint32_t)(load.published % load.options.accounts);
  struct message message = {due, ++load.accounts[account].published, account};
  load.published++;
  if (load.phase == MEASURING) load.measured_published++;
  conversation_publish(&load.publishers[account % load.publisher_count], message);
}

/* True if messages are left to publish; applies if a number of messages is measured. */
static bool may_publish(void) {
  if (load.phase != WARMING && load.phase != MEASURING) return false;
  return !load.options.messages || load.published < goal;
}

static void publish_within_window(void) {
  uint64_t window = load.options.window, devices = load.options.devices;
  bool acknowledges = load.options.dialect->acknowledges;
  while (may_publish() && (load.published < window ||
                           ((load.published - window) * devices < load.delivered &&
                            (!acknowledges || load.published - window < load.acknowledged)))) {
    publish(now());
  }
}

/* Each device saves again as soon as its last save is durable. */
static void save_next(struct connection *connection) {
  if (load.options.mode == MODE_SAVES && may_publish()) {
    struct account *account = &load.accounts[connection->account];
    struct message message = {now(), ++account->published, connection->account};
    load.published++;
    if (load.phase == MEASURING) load.measured_published++;
    conversation_publish(connection, message);
  }
}

void acknowledged(struct connection *connection) {
  load.acknowledged++;
  if (load.phase == MEASURING) {
    load.measured_acknowledged++;
    if (load.options.mode == MODE_SAVES && connection->sent_at >= load.measured_from) {
      histogram_add(&load.latency, load.received_at - connection->sent_at);
    }
  }
  save_next(connection);
}

static uint64_t due_at(uint64_t index) {
  return publishing_from + (uint64_t)((double)index * 1e9 / load.options.rate);
}

void phases_publish(void) {
  if (!may_publish() || load.options.mode == MODE_SAVES) return;
  if (load.options.window) {
    publish_within_window();
    return;
  }
  uint64_t moment = now();
  for (int i = 0; i < MESSAGES_AT_ONCE && may_publish() && due_at(due_count) <= moment; i++) {
    publish(due_at(due_count++));
  }
}

uint64_t phases_wait(void) {
  static const uint64_t longest = 5000000;
  bool has_rate = may_publish() && !load.options.window && load.options.mode != MODE_SAVES;
  if (!has_rate) return longest;
  uint64_t due = due_at(due_count), moment = now();
  if (due <= moment) return 0;
  return due - moment < longest ? due - moment : longest;
}

static void start_publishing(void) {
  load.phase = WARMING;
  publishing_from = now();
  phase_ends = publishing_from + nanoseconds(load.options.warm);
  goal = WARM_MESSAGES;
  if (load.options.mode != MODE_SAVES) return;
  for (uint32_t i = 0; i < load.publisher_count; i++) save_next(&load.publishers[i]);
}

static void connect_some(void) {
  while (load.begun < load.receiver_count && load.in_flight < load.options.in_flight) {
    load.in_flight++;
    connection_open(&load.receivers[load.begun++]);
  }
  if (load.ready + load.failed < load.receiver_count) return;
  bool is_storm = load.options.mode == MODE_STORM;
  if (is_storm) end_measuring();
  load.phase = SETTLING;
  phase_ends = now() + nanoseconds(load.options.settle);
}

static void end_settling(void) {
  load.full = server_read(true);
  if (load.options.mode == MODE_STORM) {
    load.phase = ENDED;
    return;
  }
  load.phase = PUBLISHERS_CONNECTING;
  for (uint32_t i = 0; i < load.publisher_count; i++) connection_open(&load.publishers[i]);
}

void phases_turn(void) {
  uint64_t moment = now();
  switch (load.phase) {
    case CONNECTING: connect_some(); break;
    case SETTLING:
      if (moment >= phase_ends) end_settling();
      break;
    case PUBLISHERS_CONNECTING:
      if (load.broken) give_up("a publisher was not let in");
      if (load.publishers_ready == load.publisher_count) start_publishing();
      break;
    case WARMING:
      if (load.options.messages ? load.published >= goal : moment >= phase_ends) {
        if (load.options.messages) load.phase = RESTING;
        else begin_measuring();
      }
      break;
    case RESTING:
      if (!all_arrived()) break;
      begin_measuring();
      publishing_from = now();
      due_count = 0;
      if (load.options.mode != MODE_SAVES) break;
      for (uint32_t i = 0; i < load.publisher_count; i++) save_next(&load.publishers[i]);
      break;
    case MEASURING:
      if (load.options.messages ? load.published >= goal && all_arrived() : moment >= phase_ends) {
        end_measuring();
      }
      break;
    case DRAINING:
      if (all_arrived() || moment >= phase_ends) load.phase = ENDED;
      break;
    case ENDED: break;
  }
}

void phases_begin(void) {
  load.empty = server_read(true);
  if (load.options.mode == MODE_STORM) {
    begin_measuring();
  }
  load.phase = CONNECTING;
}
