// Functions missing from Swift's Glibc module: epoll, eventfd, signalfd, and calls that are GNU
// extensions or variadic. This header does not define _GNU_SOURCE, because that would change the
// types of the socket calls. All wrappers return -1 and set errno, like the calls that they wrap.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/types.h>

/// epoll_wait with a timeout in nanoseconds; a negative timeout waits without limit. If the kernel
/// lacks epoll_pwait2, the timeout is rounded up to milliseconds.
int linux_epoll_wait(
    int descriptor, struct epoll_event *_Nonnull events, int capacity, int64_t timeout_nanoseconds);

/// accept4 with SOCK_NONBLOCK and SOCK_CLOEXEC.
int linux_accept(
    int listener, struct sockaddr_storage *_Nonnull peer, socklen_t *_Nonnull peer_length);

/// getrandom without flags: blocks only until the kernel's pool has been initialised once after
/// boot.
ssize_t linux_getrandom(void *_Nonnull bytes, size_t count);

/// Names the calling thread for debuggers and top; at most 15 bytes are kept.
void linux_name_thread(const char *_Nonnull name);

/// Sets the calling thread's scheduler time slice, in nanoseconds; 0 selects the default length. A
/// thread with short slices gets the processor sooner when it wakes (Linux 6.12 and newer; older
/// kernels ignore the value).
void linux_set_slice(uint64_t nanoseconds);

/// Sets the calling thread's niceness; other threads of the process keep theirs (setpriority(2), "C
/// library/kernel differences"). Raising the niceness is always allowed.
void linux_set_niceness(int niceness);

/// Makes the calling thread wait for its turn when it wakes, instead of interrupting another thread
/// (SCHED_BATCH, sched(7)). Allowed without privileges; a thread of another policy keeps it.
void linux_never_preempt_others(void);

/// Returns a descriptor that counts the calling thread's instructions in user mode; an 8-byte read
/// returns the count so far.
int linux_open_instruction_counter(void);

/// syncfs: makes everything written to the descriptor's file system durable.
int linux_sync_filesystem(int descriptor);

/// Capacity of a Unix socket address for its path, in bytes, without the final zero.
size_t linux_unix_path_capacity(void);

/// renameat2 with RENAME_NOREPLACE: fails with EEXIST if `to` exists. If the file system lacks it,
/// a link and an unlink are used instead.
int linux_rename_new(const char *_Nonnull from, const char *_Nonnull to);

/// renameat2 with RENAME_EXCHANGE: two files exchange names in one step. Fails with EINVAL, ENOSYS
/// or ENOTSUP if the file system lacks it.
int linux_exchange(const char *_Nonnull one, const char *_Nonnull other);

/// Makes the allocator map each block of at least this size separately, so that freeing the block
/// returns it to the system. By default the allocator raises this threshold to the size freed last,
/// up to 32 MiB.
void linux_map_blocks_from(int bytes);

/// Free bytes kept by the allocator; 0 if the library does not report them.
size_t linux_free_heap_bytes(void);

/// Returns free pages of the heap to the system (malloc_trim).
void linux_trim_heap(void);

/// Number of the file in its file system, and the time at which it was made (statx(2)). Fails with
/// ENOTSUP if the file system does not record that time.
int linux_file_birth(
    const char *_Nonnull path, uint64_t *_Nonnull number, int64_t *_Nonnull seconds,
    uint32_t *_Nonnull nanoseconds);

/// 1 if another open description of this file may write to it, 0 if none is known (fcntl(2),
/// F_SETLEASE). The descriptor must be open for reading.
int linux_has_writers(int descriptor);

/// For a root process that currently runs as another user (seteuid): lets the calling thread read
/// files and search folders as root does (CAP_DAC_READ_SEARCH), without any other right of root.
int linux_keep_reading(void);
