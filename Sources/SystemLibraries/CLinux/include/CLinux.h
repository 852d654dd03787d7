// What Swift's Glibc module lacks: epoll, eventfd, signalfd, and calls that are GNU extensions or
// take a variable number of arguments. _GNU_SOURCE stays out of this header: it would change the
// types of the socket calls. All wrappers answer -1 with errno set, like the calls they stand for.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/types.h>

/// epoll_wait with a timeout in nanoseconds; a negative one waits without end. Where the kernel
/// lacks epoll_pwait2, the timeout is rounded up to milliseconds.
int linux_epoll_wait(
    int descriptor, struct epoll_event *_Nonnull events, int capacity, int64_t timeout_nanoseconds);

/// accept4 with SOCK_NONBLOCK and SOCK_CLOEXEC.
int linux_accept(
    int listener, struct sockaddr_storage *_Nonnull peer, socklen_t *_Nonnull peer_length);

/// getrandom without flags: blocks only until the kernel's pool has been filled once after boot.
ssize_t linux_getrandom(void *_Nonnull bytes, size_t count);

/// Names the calling thread for debuggers and top; at most 15 bytes are kept.
void linux_name_thread(const char *_Nonnull name);

/// Asks for the processor in slices of so many nanoseconds for the calling thread; 0: of the usual
/// length. Who asks for short ones gets it sooner when it wakes (Linux 6.12 and newer; others take
/// no notice).
void linux_set_slice(uint64_t nanoseconds);

/// Sets the calling thread's niceness, which others of the process keep (setpriority(2), "C library/
/// kernel differences"). A greater one than its own is always allowed.
void linux_set_niceness(int niceness);

/// A descriptor that counts the calling thread's instructions in user mode; an 8-byte read gives
/// the number so far.
int linux_open_instruction_counter(void);

/// syncfs: all that was written to the file system of this descriptor is durable.
int linux_sync_filesystem(int descriptor);

/// Bytes of path that a Unix socket's address has room for, the final zero left out.
size_t linux_unix_path_capacity(void);

/// renameat2 with RENAME_NOREPLACE: fails with EEXIST where `to` is taken. Where the file system
/// lacks it, a link and an unlink do the same.
int linux_rename_new(const char *_Nonnull from, const char *_Nonnull to);

/// renameat2 with RENAME_EXCHANGE: two files change names in one step. Fails with EINVAL, ENOSYS or
/// ENOTSUP where the file system lacks it.
int linux_exchange(const char *_Nonnull one, const char *_Nonnull other);

/// Has the allocator map blocks from this size on by themselves, so that each goes back to the system
/// when it is freed. Left to itself it raises that bound to what was freed last, up to 32 MiB.
void linux_map_blocks_from(int bytes);

/// Free bytes that the allocator keeps; 0 where the library does not tell.
size_t linux_free_heap_bytes(void);

/// Gives free pages of the heap back to the system (malloc_trim).
void linux_trim_heap(void);

/// 1 where another opening of this file may write into it, 0 where none is known of (fcntl(2),
/// F_SETLEASE). The descriptor must be open for reading.
int linux_has_writers(int descriptor);

/// For a process that was root's and is another user's for now (seteuid): the calling thread may
/// read files and pass through folders as root does (CAP_DAC_READ_SEARCH), and has no other right of
/// root's.
int linux_keep_reading(void);
