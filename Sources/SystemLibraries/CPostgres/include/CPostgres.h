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

/// Loads libpq, which is not linked into the program: few relays need it, and it loads further
/// libraries (Kerberos, LDAP) that would slow down every start. Call it before any function of
/// libpq, from any thread. Returns NULL if libpq is loaded, else the system's error message, valid
/// as long as the process runs.
const char *_Nullable lockstep_postgres_load(void);

// Values that libpq defines as macros that Swift does not import.
enum {
  LOCKSTEP_SQLSTATE = PG_DIAG_SQLSTATE,
  LOCKSTEP_MESSAGE = PG_DIAG_MESSAGE_PRIMARY,
};

enum {
  LOCKSTEP_READABLE = 1,
  LOCKSTEP_WRITABLE = 2,
  LOCKSTEP_INTERRUPTED = 4,
};

/// Milliseconds of a monotonic clock, for deadlines only.
static inline int64_t lockstep_postgres_milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/// Waits until `socket` is readable (or writable, if `writes`), `interrupt` is readable, or
/// `deadline` has passed (returns 0). Descriptors below 0 are ignored.
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
  // A closed socket is readable; reading it returns the reason.
  return (watched[0].revents & ~POLLOUT ? LOCKSTEP_READABLE : 0)
      | (watched[0].revents & POLLOUT ? LOCKSTEP_WRITABLE : 0)
      | (watched[1].revents ? LOCKSTEP_INTERRUPTED : 0);
}

/// Creates a descriptor that another thread makes readable; below 0 if no descriptor is left.
static inline int lockstep_postgres_event(void) {
  return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}
