#define _GNU_SOURCE
#include "CLinux.h"

#include <features.h>
#include <malloc.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static int wait_in_milliseconds(
    int descriptor, struct epoll_event *events, int capacity, int64_t timeout_nanoseconds) {
  if (timeout_nanoseconds < 0) return epoll_wait(descriptor, events, capacity, -1);
  int64_t milliseconds =
      timeout_nanoseconds / 1000000 + (timeout_nanoseconds % 1000000 != 0 ? 1 : 0);
  if (milliseconds > INT_MAX) milliseconds = INT_MAX;
  return epoll_wait(descriptor, events, capacity, (int)milliseconds);
}

int linux_epoll_wait(
    int descriptor, struct epoll_event *events, int capacity, int64_t timeout_nanoseconds) {
#ifdef SYS_epoll_pwait2
  static atomic_bool is_missing = false;
  if (!atomic_load_explicit(&is_missing, memory_order_relaxed)) {
    struct timespec timeout = {
        .tv_sec = timeout_nanoseconds / 1000000000,
        .tv_nsec = timeout_nanoseconds % 1000000000,
    };
    int count = (int)syscall(
        SYS_epoll_pwait2, descriptor, events, capacity,
        timeout_nanoseconds < 0 ? NULL : &timeout, NULL, (size_t)0);
    // A sandbox may answer EPERM to a system call that it does not know.
    if (count >= 0 || (errno != ENOSYS && errno != EPERM)) return count;
    atomic_store_explicit(&is_missing, true, memory_order_relaxed);
  }
#endif
  return wait_in_milliseconds(descriptor, events, capacity, timeout_nanoseconds);
}

int linux_accept(int listener, struct sockaddr_storage *peer, socklen_t *peer_length) {
  *peer_length = sizeof *peer;
  return accept4(listener, (struct sockaddr *)peer, peer_length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

ssize_t linux_getrandom(void *bytes, size_t count) { return getrandom(bytes, count, 0); }

void linux_name_thread(const char *name) {
  char kept[16];
  strncpy(kept, name, sizeof kept - 1);
  kept[sizeof kept - 1] = 0;
  pthread_setname_np(pthread_self(), kept);
}

void linux_set_slice(uint64_t nanoseconds) {
  // sched_setattr(2); the C library has no wrapper for it yet.
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
  } attributes = {.size = sizeof attributes, .policy = SCHED_OTHER, .runtime = nanoseconds};
  if (sched_getscheduler(0) != SCHED_OTHER) return;
  errno = 0;
  attributes.nice = getpriority(PRIO_PROCESS, 0);
  if (errno == 0) syscall(SYS_sched_setattr, 0, &attributes, 0);
}

void linux_set_niceness(int niceness) {
  if (getpriority(PRIO_PROCESS, 0) < niceness) setpriority(PRIO_PROCESS, 0, niceness);
}

void linux_never_preempt_others(void) {
  struct sched_param none = {0};
  if (sched_getscheduler(0) == SCHED_OTHER) sched_setscheduler(0, SCHED_BATCH, &none);
}

int linux_open_instruction_counter(void) {
  struct perf_event_attr attributes = {
      .type = PERF_TYPE_HARDWARE,
      .size = sizeof attributes,
      .config = PERF_COUNT_HW_INSTRUCTIONS,
      .exclude_kernel = 1,
      .exclude_hv = 1,
  };
  return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

int linux_sync_filesystem(int descriptor) { return syncfs(descriptor); }

size_t linux_unix_path_capacity(void) {
  return sizeof((struct sockaddr_un *)0)->sun_path - 1;
}

int linux_rename_new(const char *from, const char *to) {
  if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) return -1;
  if (link(from, to) != 0) return -1;
  return unlink(from);
}

int linux_exchange(const char *one, const char *other) {
  return renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE);
}

int linux_file_birth(const char *path, uint64_t *number, int64_t *seconds, uint32_t *nanoseconds) {
  struct statx status;
  if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME, &status) != 0) return -1;
  if (!(status.stx_mask & STATX_BTIME)) {
    errno = ENOTSUP;
    return -1;
  }
  *number = status.stx_ino;
  *seconds = status.stx_btime.tv_sec;
  *nanoseconds = status.stx_btime.tv_nsec;
  return 0;
}

int linux_has_writers(int descriptor) {
  // While the lease is held, another open of the file sends a signal to this process, and the
  // default signal ends the process. SIGURG is ignored by default.
  if (fcntl(descriptor, F_SETSIG, SIGURG) != 0) return 0;
  if (fcntl(descriptor, F_SETLEASE, F_RDLCK) != 0) return errno == EAGAIN;
  fcntl(descriptor, F_SETLEASE, F_UNLCK);
  return 0;
}

void linux_map_blocks_from(int bytes) { mallopt(M_MMAP_THRESHOLD, bytes); }

size_t linux_free_heap_bytes(void) {
#if __GLIBC_PREREQ(2, 33)
    struct mallinfo2 info = mallinfo2();
    return info.fordblks;
#else
    return 0;
#endif
}

void linux_trim_heap(void) { malloc_trim(0); }

int linux_keep_reading(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
  if (syscall(SYS_capget, &header, data) != 0) return -1;
  for (size_t word = 0; word < _LINUX_CAPABILITY_U32S_3; word++) data[word].effective = 0;
  data[CAP_TO_INDEX(CAP_DAC_READ_SEARCH)].effective = CAP_TO_MASK(CAP_DAC_READ_SEARCH);
  return (int)syscall(SYS_capset, &header, data);
}
