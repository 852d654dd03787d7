#pragma once
#include <errno.h>
#if __has_include(<libpq-fe.h>)
#include <libpq-fe.h>
#else
#include <postgresql/libpq-fe.h>
#endif
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/// Finds libpq, which the program does not carry: few relays need it, and it brings others along
/// (Kerberos, LDAP) that every start would pay for. To be called before any function of libpq, from
/// any thread. NULL where it is there, or else what the system says, for as long as the process
/// lives.
const char *_Nullable lockstep_postgres_load(void);

// What libpq names by macros that do not import.
enum {
  LOCKSTEP_SQLSTATE = PG_DIAG_SQLSTATE,
  LOCKSTEP_MESSAGE = PG_DIAG_MESSAGE_PRIMARY,
};

enum {
  LOCKSTEP_READABLE = 1,
  LOCKSTEP_WRITABLE = 2,
  LOCKSTEP_INTERRUPTED = 4,
};

/// Milliseconds of a clock that never jumps, for deadlines alone.
static inline int64_t lockstep_postgres_milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/// Waits until `socket` can be read, or written where `writes`, or `interrupt` can be read, or
/// `deadline` is over: 0 then. A descriptor below 0 is not looked at.
static inline int lockstep_postgres_wait(
    int socket, bool writes, int interrupt, int64_t deadline) {
  struct pollfd watched[2] = {
    {.fd = socket, .events = writes ? POLLIN | POLLOUT : POLLIN},
    {.fd = interrupt, .events = POLLIN},
  };
  for (;;) {
    int64_t left = deadline - lockstep_postgres_milliseconds();
    int ready = poll(watched, 2, left < 0 ? 0 : left > 600000 ? 600000 : (int)left);
    if (ready > 0) break;
    if (ready == 0 && left <= 600000) return 0;
    if (ready < 0 && errno != EINTR) return 0;
  }
  // A socket that was closed can be read: what is read then tells why.
  return (watched[0].revents & ~POLLOUT ? LOCKSTEP_READABLE : 0)
      | (watched[0].revents & POLLOUT ? LOCKSTEP_WRITABLE : 0)
      | (watched[1].revents ? LOCKSTEP_INTERRUPTED : 0);
}

/// A descriptor that another thread makes readable; below 0 where there is none left.
static inline int lockstep_postgres_event(void) {
  return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}
