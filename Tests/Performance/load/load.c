/* load: one load generator for all push servers, in one thread with one epoll. phases.c has the
   sequence of a run, dialect.c the servers' protocols, report.c the results. */

#define _GNU_SOURCE
#include "load.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>

enum { EVENTS = 256, EVENTS_BETWEEN_MESSAGES = 32 };

struct load load;

static const char usage[] =
    "usage: load DIALECT MODE --port N [OPTIONS]\n"
    "\n"
    "Connects to a push server on this machine, publishes, and counts the messages that\n"
    "arrive. Prints one JSON object.\n"
    "\n"
    "Modes:\n"
    "  storm     all connect, with at most --in-flight at a time, and then send nothing\n"
    "  rate      open loop: --rate messages a second, to the accounts in turn\n"
    "  window    closed loop: at most --window messages are not yet delivered everywhere\n"
    "  saves     closed loop: one device for each account, each with one message until it\n"
    "            is acknowledged; there are no receivers\n"
    "  longpoll  as rate, or window if one is given, with receivers by long-poll\n"
    "\n"
    "Options:\n"
    "  --port N[,N...]     the server's ports on 127.0.0.1. Several ports are one service:\n"
    "                      in modes saves and storm the devices use them in turn; in\n"
    "                      others publishers use the first, and receivers the others\n"
    "  --accounts N        (default 1)\n"
    "  --devices N         receivers of each account (default 1)\n"
    "  --accounts-file F   one line for each account: its change token, and its devices'\n"
    "                      tokens; the first device publishes\n"
    "  --one-record        saves one record repeatedly, instead of new ones\n"
    "  --rate N            messages a second\n"
    "  --window N          messages under way (default 1 in window)\n"
    "  --messages N        measures this number of messages, instead of --seconds\n"
    "  --warm S            seconds before the measurement (default 1)\n"
    "  --seconds S         seconds of the measurement (default 5)\n"
    "  --drain S           time limit for messages still under way (default 3)\n"
    "  --settle S          pause after all have connected, before memory is read (default 0.5)\n"
    "  --in-flight N       maximum number of concurrent connection attempts (default 512)\n"
    "  --server PID,...    the server's processes, to measure their cost\n"
    "  --pause             prints `begin` and `end` around the measurement, and waits each time\n"
    "                      for a line on standard input\n"
    "  --limit S           gives up after this many seconds (default 120)\n"
    "\n"
    "The latency of a message counts from its due time, so that a stalled server or generator\n"
    "cannot hide it.\n"
    "\n"
    "Exit codes: 0 a report was printed; 1 none was; 2 a wrong option.\n";

uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000ull + (uint64_t)time.tv_nsec;
}

void give_up(const char *form, ...) {
  va_list arguments;
  va_start(arguments, form);
  fprintf(stderr, "load: ");
  vfprintf(stderr, form, arguments);
  fprintf(stderr, "\n");
  va_end(arguments);
  exit(1);
}

static void refuse(const char *form, ...) __attribute__((format(printf, 1, 2), noreturn));
static void refuse(const char *form, ...) {
  va_list arguments;
  va_start(arguments, form);
  fprintf(stderr, "load: ");
  vfprintf(stderr, form, arguments);
  fprintf(stderr, "; try load --help\n");
  va_end(arguments);
  exit(2);
}

static double positive(const char *option, const char *word, double most) {
  char *end = NULL;
  double value = strtod(word, &end);
  if (!*word || *end || !(value >= 0 && value <= most)) {
    refuse("--%s: %s is not a number from 0 to %.0f", option, word, most);
  }
  return value;
}

static void read_words(char **words, int count) {
  static const char *modes[] = {"storm", "rate", "window", "saves", "longpoll"};
  struct buffer names = {0};
  dialect_list(&names);
  if (count != 2) refuse("a dialect (%.*s) and a mode are wanted", (int)names.length, names.bytes);
  load.options.dialect = dialect_named(words[0]);
  if (!load.options.dialect) {
    refuse("there is no dialect %s; there are %.*s", words[0], (int)names.length, names.bytes);
  }
  buffer_free(&names);
  int mode = 0;
  while (mode <= MODE_LONGPOLL && strcmp(modes[mode], words[1])) mode++;
  if (mode > MODE_LONGPOLL) refuse("there is no mode %s", words[1]);
  load.options.mode = (enum mode)mode;
}

static void read_ports(struct options *options, const char *value) {
  for (char *end; *value; value = *end ? end + 1 : end) {
    long port = strtol(value, &end, 10);
    bool is_good = port > 0 && port < 65536 && (*end == ',' || !*end);
    if (!is_good || options->port_count == PORTS) {
      refuse("--port: at most %d ports, as in 7001,7002", PORTS);
    }
    options->ports[options->port_count++] = (uint16_t)port;
  }
}

static void read_options(int count, char **words) {
  static const struct option known[] = {
      {"port", 1, 0, 'p'},     {"accounts", 1, 0, 'a'},  {"devices", 1, 0, 'd'},
      {"rate", 1, 0, 'r'},     {"window", 1, 0, 'w'},    {"messages", 1, 0, 'm'},
      {"warm", 1, 0, 'W'},     {"seconds", 1, 0, 's'},   {"drain", 1, 0, 'D'},
      {"settle", 1, 0, 'S'},   {"in-flight", 1, 0, 'i'}, {"server", 1, 0, 'P'},
      {"pause", 0, 0, 'b'},    {"limit", 1, 0, 'l'},     {"accounts-file", 1, 0, 'f'},
      {"one-record", 0, 0, 'o'}, {"help", 0, 0, 'h'},    {0}};
  struct options *options = &load.options;
  *options = (struct options){.accounts = 1, .devices = 1, .in_flight = 512, .warm = 1,
                              .seconds = 5, .settle = 0.5, .drain = 3, .limit = 120};
  int letter, index = 0;
  while ((letter = getopt_long(count, words, "", known, &index)) != -1) {
    const char *name = letter == '?' ? "" : known[index].name;
    const char *value = optarg ? optarg : "0";
    switch (letter) {
      case 'p': read_ports(options, value); break;
      case 'a': options->accounts = (uint32_t)positive(name, value, 999999); break;
      case 'd': options->devices = (uint32_t)positive(name, value, 99999); break;
      case 'r': options->rate = positive(name, value, 1e7); break;
      case 'w': options->window = (uint32_t)positive(name, value, 1e6); break;
      case 'm': options->messages = (uint32_t)positive(name, value, 1e9); break;
      case 'W': options->warm = positive(name, value, 3600); break;
      case 's': options->seconds = positive(name, value, 3600); break;
      case 'D': options->drain = positive(name, value, 3600); break;
      case 'S': options->settle = positive(name, value, 3600); break;
      case 'l': options->limit = positive(name, value, 7200); break;
      case 'i': options->in_flight = (uint32_t)positive(name, value, 1e6); break;
      case 'P': server_name(value); break;
      case 'f': options->account_file = value; break;
      case 'b': options->pauses = true; break;
      case 'o': options->saves_one_record = true; break;
      case 'h': fputs(usage, stdout); exit(0);
      default: refuse("an option is wrong");
    }
  }
  read_words(words + optind, count - optind);
}

static void check_options(void) {
  struct options *options = &load.options;
  if (options->mode == MODE_WINDOW && !options->window) options->window = 1;
  if (options->mode == MODE_SAVES) options->devices = 0;
  if (!options->port_count) refuse("--port is missing");
  if (!options->accounts || !options->in_flight) refuse("--accounts and --in-flight: at least 1");
  bool publishes = options->mode == MODE_RATE || options->mode == MODE_LONGPOLL;
  if (publishes && !options->window && options->rate <= 0) refuse("--rate is missing");
  if (options->mode == MODE_LONGPOLL && !options->dialect->poll_path.length) {
    refuse("%s has no long-poll", options->dialect->name);
  }
  if (options->mode == MODE_SAVES && !options->dialect->acknowledges) {
    refuse("%s acknowledges nothing", options->dialect->name);
  }
}

static struct connection *connections(uint32_t count, enum role role) {
  struct connection *made = calloc(count ? count : 1, sizeof *made);
  if (!made) give_up("no memory");
  for (uint32_t i = 0; i < count; i++) {
    made[i].role = role;
    made[i].account = i % load.options.accounts;
    made[i].device = i / load.options.accounts;
  }
  return made;
}

static void prepare(void) {
  struct options *options = &load.options;
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  accounts_make();
  uint32_t publishers = options->dialect->publishers;
  if (!publishers || publishers > options->accounts) publishers = options->accounts;
  load.receiver_count = options->accounts * options->devices;
  load.publisher_count = options->mode == MODE_STORM ? 0 : publishers;
  load.receivers = connections(load.receiver_count, RECEIVER);
  load.publishers = connections(load.publisher_count, PUBLISHER);
  if (load.receiver_count + load.publisher_count + 50 > files.rlim_max) {
    give_up("%u connections are more than ulimit -n allows (%lu)",
            load.receiver_count + load.publisher_count, (unsigned long)files.rlim_max);
  }
  load.epoll_file = epoll_create1(EPOLL_CLOEXEC);
}

int main(int count, char **words) {
  read_options(count, words);
  check_options();
  signal(SIGPIPE, SIG_IGN);
  prepare();
  uint64_t begun = now();
  phases_begin();
  while (load.phase != ENDED) {
    phases_turn();
    phases_publish();
    if ((double)(now() - begun) / 1e9 > load.options.limit) {
      give_up("not done after %.0f s: %u of %u connected, %lu published, %lu delivered",
              load.options.limit, load.ready, load.receiver_count, (unsigned long)load.published,
              (unsigned long)load.delivered);
    }
    struct epoll_event events[EVENTS];
    struct timespec wait = {0, (long)phases_wait()};
    int ready = epoll_pwait2(load.epoll_file, events, EVENTS, &wait, NULL);
    if (ready < 0 && errno != EINTR) give_up("epoll_wait: %s", strerror(errno));
    for (int i = 0; i < ready; i++) {
      connection_event(events[i].data.ptr, events[i].events);
      if (i % EVENTS_BETWEEN_MESSAGES == EVENTS_BETWEEN_MESSAGES - 1) phases_publish();
    }
  }
  report();
  return 0;
}
