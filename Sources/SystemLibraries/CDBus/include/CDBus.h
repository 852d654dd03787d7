// A client of the session bus for UnifiedPush (specification DBUS_0.3.0, with a fallback to its
// version 1), by libdbus. All functions of one bus are called by one thread.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Loads libdbus, which is not linked into the program: few devices need it. Call it before any
/// other function, from any thread. Returns NULL if libdbus is loaded, else the system's error
/// message, valid as long as the process runs.
const char *_Nullable lockstep_bus_load(void);

/// A connection to a bus, private to its caller.
typedef struct lockstep_bus lockstep_bus;

/// Connects to the bus at `address`, and takes `name` there. Returns NULL after a failure, with the
/// reason in `reason`. Waits for at most 10 seconds for each of the bus's three answers.
///
/// `name`, and each distributor's name below: a valid name on a bus; libdbus ends the process if it
/// is none.
lockstep_bus *_Nullable lockstep_bus_open(
    const char *_Nonnull address, const char *_Nonnull name, char *_Nonnull reason,
    size_t capacity);

void lockstep_bus_close(lockstep_bus *_Nonnull bus);

/// Descriptor that is readable when `lockstep_bus_next` may have something.
int lockstep_bus_descriptor(lockstep_bus *_Nonnull bus);

/// Writes the names of the distributors, each followed by a newline: the running ones first, then
/// those that the bus can start. Returns false after a failure, with the reason in `reason`. Waits
/// for at most 10 seconds for each of the bus's two answers.
bool lockstep_bus_distributors(
    lockstep_bus *_Nonnull bus, char *_Nonnull names, size_t capacity, char *_Nonnull reason,
    size_t reason_capacity);

enum lockstep_bus_registration {
  LOCKSTEP_BUS_REGISTERED,
  /// The answer is the reason that the distributor gave, a word of the specification.
  LOCKSTEP_BUS_REFUSED,
  /// The distributor did not answer in time, or with an error; the answer is its text.
  LOCKSTEP_BUS_FAILED,
};

/// Registers `token` at a distributor, which then reports the endpoint. `vapid`: the sender's
/// public key; distributors of version 1 do not get it. Blocks for at most `milliseconds`, twice if
/// the distributor has only version 1.
enum lockstep_bus_registration lockstep_bus_register(
    lockstep_bus *_Nonnull bus, const char *_Nonnull distributor, const char *_Nonnull token,
    const char *_Nonnull description, const char *_Nonnull vapid, int milliseconds,
    char *_Nonnull answer, size_t capacity);

/// Ends a registration. Returns false after a failure, with the reason in `reason`. Waits for at
/// most 10 seconds for the answer; distributors of version 1 give none.
bool lockstep_bus_unregister(
    lockstep_bus *_Nonnull bus, const char *_Nonnull distributor, const char *_Nonnull token,
    char *_Nonnull reason, size_t capacity);

enum lockstep_bus_kind {
  /// There is nothing more for now.
  LOCKSTEP_BUS_NOTHING,
  /// `text` is the endpoint of `token`.
  LOCKSTEP_BUS_ENDPOINT,
  /// `bytes` are a push for `token`.
  LOCKSTEP_BUS_MESSAGE,
  /// `token` is not registered any more.
  LOCKSTEP_BUS_UNREGISTERED,
  /// The distributor `text` has appeared on the bus, or has left it.
  LOCKSTEP_BUS_APPEARED,
  LOCKSTEP_BUS_LEFT,
  /// The connection to the bus has ended: the bus has, or a message over 1 MiB came.
  LOCKSTEP_BUS_ENDED,
};

/// An event of the bus. What it points to is valid until the next call with this bus.
struct lockstep_bus_event {
  enum lockstep_bus_kind kind;
  const char *_Nullable token;
  const char *_Nullable text;
  const uint8_t *_Nullable bytes;
  size_t count;
};

/// Reads without blocking, and returns the next event.
struct lockstep_bus_event lockstep_bus_next(lockstep_bus *_Nonnull bus);
