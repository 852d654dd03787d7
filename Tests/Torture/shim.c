/* Failing and traced disk: a library between a program and the C library (LD_PRELOAD).

   TORTURE_DISK names a file that is mapped by the program and by the process that controls the faults;
   it contains the rates at which syncs and writes of regular files fail, and their error.
   TORTURE_TRACE names a file that receives all operations on regular files and folders, in their
   order; from them a disk without unsynced data is reconstructed (format: replay.py). */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Layout as written by shim.py. */
struct control {
  uint32_t sync_failures;  /* per million */
  uint32_t write_failures; /* per million */
  uint32_t error;          /* errno of the failures */
  uint32_t no_sync;        /* syncs do nothing, and report success */
  uint64_t failed_syncs;
  uint64_t failed_writes;
};

enum operation { WRITE = 1, SYNC_BEGIN, SYNC_END, TRUNCATE, RENAME, UNLINK, LINK, MAKE, MKDIR };

static struct control *control;
static int trace = -1;
static pthread_mutex_t trace_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread uint64_t dice;
static __thread uint32_t syncs;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("TORTURE_DISK");
  if (path) {
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file >= 0) {
      void *map = mmap(0, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      if (map != MAP_FAILED) control = map;
      syscall(SYS_close, file);
    }
  }
  path = getenv("TORTURE_TRACE");
  int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC;
  if (path) trace = syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
}

/* True for regular files and folders of the store; false for the program's log and sockets. */
static int is_watched(int file) {
  struct stat status;
  int saved = errno;
  int is = (control || trace >= 0) && file > 2 && fstat(file, &status) == 0 &&
           (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
  errno = saved;
  return is;
}

static int fails(uint32_t of_a_million, uint64_t *count) {
  if (!of_a_million) return 0;
  if (!dice) dice = (uintptr_t)&dice ^ ((uint64_t)getpid() << 32) ^ 0x9e3779b97f4a7c15;
  dice ^= dice << 13;
  dice ^= dice >> 7;
  dice ^= dice << 17;
  if (dice % 1000000 >= of_a_million) return 0;
  __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
  errno = control->error;
  return 1;
}

/* A record: operation, number, offset, length, the length of the path; path and bytes. */
static void record(enum operation operation, uint32_t number, const char *path, uint64_t offset,
                   const void *bytes, uint64_t length) {
  if (trace < 0) return;
  int saved = errno;
  struct {
    uint32_t operation, number;
    uint64_t offset, length;
    uint32_t path, spare;
  } head = {operation, number, offset, length, (uint32_t)strlen(path), 0};
  struct iovec parts[3] = {
      {&head, sizeof head}, {(void *)path, head.path}, {(void *)bytes, bytes ? length : 0}};
  syscall(SYS_writev, trace, parts, 3);
  errno = saved;
}

static void record_file(enum operation operation, uint32_t number, int file, uint64_t offset,
                        const void *bytes, uint64_t length) {
  if (trace < 0) return;
  int saved = errno;
  char link[32], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t count = readlink(link, path, sizeof path - 1);
  if (count > 0) {
    path[count] = 0;
    record(operation, number, path, offset, bytes, length);
  }
  errno = saved;
}

static void lock(void) {
  if (trace >= 0) pthread_mutex_lock(&trace_lock);
}

static void unlock(void) {
  if (trace >= 0) pthread_mutex_unlock(&trace_lock);
}

/* Writes and records in one step, so that the trace has the order of the disk. */

static ssize_t plain_put(int file, const void *bytes, size_t length, off_t offset, int is_at) {
  return is_at ? syscall(SYS_pwrite64, file, bytes, length, offset)
               : syscall(SYS_write, file, bytes, length);
}

static ssize_t put(int file, const void *bytes, size_t length, off_t offset, int is_at) {
  if (!is_watched(file)) return plain_put(file, bytes, length, offset, is_at);
  if (control && fails(control->write_failures, &control->failed_writes)) return -1;
  lock();
  off_t at = is_at ? offset : lseek(file, 0, SEEK_CUR);
  ssize_t count = plain_put(file, bytes, length, offset, is_at);
  if (count > 0 && !is_at && (fcntl(file, F_GETFL) & O_APPEND))
    at = lseek(file, 0, SEEK_CUR) - count;
  if (count > 0) record_file(WRITE, 0, file, at, bytes, count);
  unlock();
  return count;
}

ssize_t write(int file, const void *bytes, size_t length) {
  return put(file, bytes, length, 0, 0);
}
ssize_t pwrite(int file, const void *bytes, size_t length, off_t offset) {
  return put(file, bytes, length, offset, 1);
}
ssize_t pwrite64(int file, const void *bytes, size_t length, off_t offset) {
  return put(file, bytes, length, offset, 1);
}

ssize_t writev(int file, const struct iovec *parts, int count) {
  if (!is_watched(file)) return syscall(SYS_writev, file, parts, count);
  ssize_t sum = 0;
  for (int part = 0; part < count; part++) {
    ssize_t done = put(file, parts[part].iov_base, parts[part].iov_len, 0, 0);
    if (done < 0) return sum ? sum : -1;
    sum += done;
    if ((size_t)done < parts[part].iov_len) break;
  }
  return sum;
}

/* A sync does not promise to include data written during the sync: hence two records. */
static int sync_file(int file, long number) {
  if (!is_watched(file)) return syscall(number, file);
  if (control && control->no_sync) return 0;
  if (control && fails(control->sync_failures, &control->failed_syncs)) return -1;
  uint32_t id = ((uint32_t)syscall(SYS_gettid) << 12) | (++syncs & 0xfff);
  lock();
  record_file(SYNC_BEGIN, id, file, 0, 0, 0);
  unlock();
  int result = syscall(number, file);
  if (result == 0) {
    lock();
    record_file(SYNC_END, id, file, 0, 0, 0);
    unlock();
  }
  return result;
}

int fsync(int file) { return sync_file(file, SYS_fsync); }
int fdatasync(int file) { return sync_file(file, SYS_fdatasync); }

int ftruncate(int file, off_t length) {
  lock();
  int result = syscall(SYS_ftruncate, file, length);
  if (result == 0 && is_watched(file)) record_file(TRUNCATE, 0, file, length, 0, 0);
  unlock();
  return result;
}
int ftruncate64(int file, off_t length) { return ftruncate(file, length); }

/* Absolute path. A relative one is relative to the working folder. */

static void whole(int folder, const char *path, char *to) {
  char link[64];
  ssize_t count = 0;
  if (path[0] != '/') {
    if (folder == AT_FDCWD) strcpy(link, "/proc/self/cwd");
    else snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    count = readlink(link, to, PATH_MAX - 1);
    if (count < 0) count = 0;
    to[count++] = '/';
  }
  snprintf(to + count, PATH_MAX - count, "%s", path);
}

static int named(enum operation operation, int folder, const char *from, int to_folder,
                 const char *to, int flags) {
  char first[PATH_MAX + 1], second[PATH_MAX + 1];
  lock();
  int result = operation == UNLINK ? syscall(SYS_unlinkat, folder, from, flags)
               : operation == LINK ? syscall(SYS_linkat, folder, from, to_folder, to, flags)
               : operation == MKDIR ? syscall(SYS_mkdirat, folder, from, flags)
                                    : syscall(SYS_renameat2, folder, from, to_folder, to, flags);
  if (result == 0 && trace >= 0) {
    whole(folder, from, first);
    if (to) whole(to_folder, to, second);
    record(operation, 0, first, 0, to ? second : 0, to ? strlen(second) : 0);
  }
  unlock();
  return result;
}

int rename(const char *from, const char *to) {
  return named(RENAME, AT_FDCWD, from, AT_FDCWD, to, 0);
}
int renameat(int folder, const char *from, int to_folder, const char *to) {
  return named(RENAME, folder, from, to_folder, to, 0);
}
int renameat2(int folder, const char *from, int to_folder, const char *to, unsigned flags) {
  return named(RENAME, folder, from, to_folder, to, flags);
}
int link(const char *from, const char *to) {
  return named(LINK, AT_FDCWD, from, AT_FDCWD, to, 0);
}
int unlink(const char *path) { return named(UNLINK, AT_FDCWD, path, 0, 0, 0); }
int unlinkat(int folder, const char *path, int flags) {
  return named(UNLINK, folder, path, 0, 0, flags);
}
int mkdir(const char *path, mode_t mode) { return named(MKDIR, AT_FDCWD, path, 0, 0, mode); }

/* An open is recorded only if it creates or truncates a file. */
static int opened(int folder, const char *path, int flags, mode_t mode) {
  if (trace < 0 || !(flags & (O_CREAT | O_TRUNC)))
    return syscall(SYS_openat, folder, path, flags, mode);
  lock();
  int is_there = faccessat(folder, path, F_OK, 0) == 0;
  int file = syscall(SYS_openat, folder, path, flags, mode);
  if (file >= 0 && is_watched(file)) {
    if (!is_there) record_file(MAKE, 0, file, 0, 0, 0);
    else if (flags & O_TRUNC) record_file(TRUNCATE, 0, file, 0, 0, 0);
  }
  unlock();
  return file;
}

#define OPENED(folder) \
  va_list rest; \
  va_start(rest, flags); \
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
  va_end(rest); \
  return opened(folder, path, flags, mode)

int open(const char *path, int flags, ...) { OPENED(AT_FDCWD); }
int open64(const char *path, int flags, ...) { OPENED(AT_FDCWD); }
int openat(int folder, const char *path, int flags, ...) { OPENED(folder); }
int openat64(int folder, const char *path, int flags, ...) { OPENED(folder); }
