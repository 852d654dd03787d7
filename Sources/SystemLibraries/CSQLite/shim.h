#pragma once
#include <sqlite3.h>

// On other systems the library is the system's own, in a process that may use it itself: it gets no
// settings, and its files keep their methods.
#ifdef __linux__

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/// True if SQLite keeps no statistics of its memory, which cost a lock for each allocation. Call it
/// before any other function.
static inline bool lockstep_sqlite_uncounted(void) {
  return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) == SQLITE_OK;
}

// The write-ahead log file. An open file of SQLite begins with a pointer to its table of methods;
// for the log file, that pointer is set to a copy of the table with three methods replaced:
//
//     xWrite   gathers consecutive writes, up to the page that ends a commit: SQLite writes each
//              page separately, and its header too
//     xRead    flushes the gathered bytes first if it reads any of them
//     xSync    flushes the gathered bytes first, and is timed
//
// A log is a header followed by frames. A frame is 24 bytes, of which the second four are 0 except
// in the frame that ends a commit, and a page (sqlite.org/fileformat.html, section 4.1).

enum {
  LOCKSTEP_FRAME_HEADER = 24,
  // Maximum that SQLite's own xWrite writes at once (`seekAndWriteFd` in os_unix.c).
  LOCKSTEP_LOG_BYTES = 0x1ffff,
};

typedef void (*lockstep_sync_observer)(void *_Nullable context, int64_t nanoseconds);

struct lockstep_log {
  // First member, so that the file's pointer to its methods also points to this struct.
  sqlite3_io_methods methods;
  const sqlite3_io_methods *_Nonnull original;
  lockstep_sync_observer _Nullable observer;
  void *_Nullable context;
  // Position in the file of the gathered bytes, and their number.
  sqlite3_int64 offset;
  int count;
  // End of everything written.
  sqlite3_int64 end;
  // True if the next page ends a commit.
  bool ends_commit;
  unsigned char gathered[LOCKSTEP_LOG_BYTES];
};

static inline struct lockstep_log *_Nonnull lockstep_log_of(sqlite3_file *_Nonnull file) {
  return (struct lockstep_log *)file->pMethods;
}

static inline int64_t lockstep_nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// If the write fails, the gathered bytes are dropped: SQLite then rolls the transaction back.
static inline int lockstep_log_flush(sqlite3_file *_Nonnull file) {
  struct lockstep_log *log = lockstep_log_of(file);
  int count = log->count;
  if (count == 0) return SQLITE_OK;
  log->count = 0;
  int code = log->original->xWrite(file, log->gathered, count, log->offset);
  if (code != SQLITE_OK) log->end = log->offset;
  return code;
}

// Writes without gathering: overwritten parts, and the log's own header.
static inline int lockstep_log_write_through(
    sqlite3_file *_Nonnull file, const void *_Nonnull bytes, int count, sqlite3_int64 offset) {
  struct lockstep_log *log = lockstep_log_of(file);
  int code = lockstep_log_flush(file);
  if (code == SQLITE_OK) code = log->original->xWrite(file, bytes, count, offset);
  if (code == SQLITE_OK && (offset == 0 || log->end < offset + count)) log->end = offset + count;
  return code;
}

static inline int lockstep_log_write(
    sqlite3_file *_Nonnull file, const void *_Nonnull bytes, int count, sqlite3_int64 offset) {
  struct lockstep_log *log = lockstep_log_of(file);
  bool ends_commit = log->ends_commit;
  static const char nothing[4] = {0};
  log->ends_commit =
      count == LOCKSTEP_FRAME_HEADER && memcmp((const char *)bytes + 4, nothing, 4) != 0;
  if (offset != log->end) return lockstep_log_write_through(file, bytes, count, offset);
  if (count > LOCKSTEP_LOG_BYTES - log->count) {
    int code = lockstep_log_flush(file);
    if (code != SQLITE_OK) return code;
  }
  if (log->count == 0) log->offset = offset;
  memcpy(log->gathered + log->count, bytes, (size_t)count);
  log->count += count;
  log->end += count;
  return ends_commit ? lockstep_log_flush(file) : SQLITE_OK;
}

static inline int lockstep_log_sync(sqlite3_file *_Nonnull file, int flags) {
  struct lockstep_log *log = lockstep_log_of(file);
  int code = lockstep_log_flush(file);
  if (code != SQLITE_OK) return code;
  int64_t begun = log->observer ? lockstep_nanoseconds() : 0;
  code = log->original->xSync(file, flags);
  if (log->observer) log->observer(log->context, lockstep_nanoseconds() - begun);
  return code;
}

static inline int lockstep_log_read(
    sqlite3_file *_Nonnull file, void *_Nonnull bytes, int count, sqlite3_int64 offset) {
  struct lockstep_log *log = lockstep_log_of(file);
  if (offset < log->offset + log->count && log->offset < offset + count) {
    int code = lockstep_log_flush(file);
    if (code != SQLITE_OK) return code;
  }
  return log->original->xRead(file, bytes, count, offset);
}

/// Replaces the log methods of a connection; returns NULL if it has no log. Call
/// `lockstep_forget_log` with the result once the connection is closed.
static inline struct lockstep_log *_Nullable lockstep_take_log(sqlite3 *_Nonnull connection) {
  sqlite3_file *file = NULL;
  int code = sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
  if (code != SQLITE_OK || file == NULL || file->pMethods == NULL) return NULL;
  struct lockstep_log *log = malloc(sizeof *log);
  if (log == NULL) return NULL;
  log->methods = *file->pMethods;
  log->original = file->pMethods;
  log->observer = NULL;
  log->context = NULL;
  log->offset = 0;
  log->count = 0;
  log->end = 0;
  log->ends_commit = false;
  log->methods.xSync = lockstep_log_sync;
  // Without this property SQLite pads writes to whole sectors and writes a frame in parts.
  if (file->pMethods->xDeviceCharacteristics(file) & SQLITE_IOCAP_POWERSAFE_OVERWRITE) {
    log->methods.xWrite = lockstep_log_write;
    log->methods.xRead = lockstep_log_read;
  }
  file->pMethods = &log->methods;
  return log;
}

static inline void lockstep_observe_log(
    struct lockstep_log *_Nonnull log, lockstep_sync_observer _Nonnull observer,
    void *_Nonnull context) {
  log->observer = observer;
  log->context = context;
}

/// Fills the log file with zeros beyond its end, up to twice `bytes`, if there are fewer than
/// `bytes`, and syncs it. SQLite takes them for no frames (sqlite.org/fileformat.html, section 4.3).
/// Call it outside transactions. After an error the log is as usable as before.
static inline int lockstep_reserve_log(
    sqlite3 *_Nonnull connection, struct lockstep_log *_Nonnull log, sqlite3_int64 bytes) {
  sqlite3_file *file = NULL;
  int code = sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
  if (code != SQLITE_OK) return code;
  if (file == NULL || file->pMethods != &log->methods) return SQLITE_MISUSE;
  code = lockstep_log_flush(file);
  if (code != SQLITE_OK) return code;
  sqlite3_int64 size = 0;
  code = log->original->xFileSize(file, &size);
  if (code != SQLITE_OK || size - log->end >= bytes) return code;
  static const char zeros[1 << 16] = {0};
  sqlite3_int64 end = log->end + 2 * bytes;
  for (sqlite3_int64 offset = size > log->end ? size : log->end; offset < end;) {
    sqlite3_int64 count = end - offset;
    if (count > (sqlite3_int64)sizeof zeros) count = sizeof zeros;
    code = log->original->xWrite(file, zeros, (int)count, offset);
    if (code != SQLITE_OK) {
      log->original->xTruncate(file, size);
      return code;
    }
    offset += count;
  }
  return log->original->xSync(file, SQLITE_SYNC_NORMAL);
}

static inline void lockstep_forget_log(struct lockstep_log *_Nonnull log) { free(log); }

#endif
