#pragma once
#include <sqlite3.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

// Times the syncs of a write-ahead log. An open file of SQLite begins with a pointer to its table
// of methods; the log's file is pointed at a copy of it, in which only xSync is another.

typedef void (*lockstep_sync_observer)(void *_Nullable context, int64_t nanoseconds);

struct lockstep_observed_log {
  // First, so that the file's pointer to its methods is a pointer to all of this.
  sqlite3_io_methods methods;
  const sqlite3_io_methods *_Nonnull original;
  lockstep_sync_observer _Nonnull observer;
  void *_Nullable context;
};

static inline int64_t lockstep_nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int lockstep_observed_sync(sqlite3_file *_Nonnull file, int flags) {
  const struct lockstep_observed_log *log = (const struct lockstep_observed_log *)file->pMethods;
  int64_t begun = lockstep_nanoseconds();
  int code = log->original->xSync(file, flags);
  log->observer(log->context, lockstep_nanoseconds() - begun);
  return code;
}

/// Begins to observe; NULL where the connection has no open log. What it gives must be forgotten
/// once the connection is closed.
static inline struct lockstep_observed_log *_Nullable lockstep_observe_log(
    sqlite3 *_Nonnull connection, lockstep_sync_observer _Nonnull observer,
    void *_Nullable context) {
  sqlite3_file *file = NULL;
  int code = sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
  if (code != SQLITE_OK || file == NULL || file->pMethods == NULL) return NULL;
  struct lockstep_observed_log *log = malloc(sizeof *log);
  if (log == NULL) return NULL;
  log->methods = *file->pMethods;
  log->original = file->pMethods;
  log->methods.xSync = lockstep_observed_sync;
  log->observer = observer;
  log->context = context;
  file->pMethods = &log->methods;
  return log;
}

static inline void lockstep_forget_log(struct lockstep_observed_log *_Nullable log) { free(log); }
