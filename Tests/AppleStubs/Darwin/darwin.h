// The part of Darwin's C library that Lockstep uses. Values are those of the headers of XNU.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int32_t dev_t;
typedef uint16_t mode_t;
typedef uint16_t nlink_t;
typedef uint64_t ino_t;
typedef uint32_t uid_t;
typedef uint32_t gid_t;
typedef int64_t off_t;
typedef int64_t blkcnt_t;
typedef int32_t blksize_t;
typedef int32_t pid_t;
typedef long ssize_t;
typedef long time_t;

struct timespec {
  time_t tv_sec;
  long tv_nsec;
};

struct timeval {
  time_t tv_sec;
  int32_t tv_usec;
};

struct stat {
  dev_t st_dev;
  mode_t st_mode;
  nlink_t st_nlink;
  ino_t st_ino;
  uid_t st_uid;
  gid_t st_gid;
  dev_t st_rdev;
  struct timespec st_atimespec;
  struct timespec st_mtimespec;
  struct timespec st_ctimespec;
  struct timespec st_birthtimespec;
  off_t st_size;
  blkcnt_t st_blocks;
  blksize_t st_blksize;
  uint32_t st_flags;
  uint32_t st_gen;
};

struct statvfs {
  unsigned long f_bsize;
  unsigned long f_frsize;
  uint32_t f_blocks;
  uint32_t f_bfree;
  uint32_t f_bavail;
  uint32_t f_files;
  uint32_t f_ffree;
  uint32_t f_favail;
  unsigned long f_fsid;
  unsigned long f_flag;
  unsigned long f_namemax;
};

struct dirent {
  uint64_t d_ino;
  uint64_t d_seekoff;
  uint16_t d_reclen;
  uint16_t d_namlen;
  uint8_t d_type;
  char d_name[1024];
};

typedef struct _dirdesc DIR;
typedef enum { CLOCK_REALTIME = 0, CLOCK_MONOTONIC = 6 } clockid_t;

#define O_RDONLY 0x0000
#define O_WRONLY 0x0001
#define O_RDWR 0x0002
#define O_NONBLOCK 0x00000004
#define O_NOFOLLOW 0x00000100
#define O_CREAT 0x00000200
#define O_TRUNC 0x00000400
#define O_EXCL 0x00000800
#define O_NOCTTY 0x00020000
#define O_DIRECTORY 0x00100000
#define O_CLOEXEC 0x01000000
#define F_OK 0
#define F_FULLFSYNC 51
#define AT_SYMLINK_NOFOLLOW 0x0020
#define AT_REMOVEDIR 0x0080
#define LOCK_EX 0x02
#define LOCK_NB 0x04
#define ENOENT 2
#define EINTR 4
#define ENXIO 6
#define EEXIST 17
#define EXDEV 18
#define EMLINK 31
#define EPERM 1
#define EACCES 13
#define EISDIR 21
#define EINVAL 22
#define ENFILE 23
#define EMFILE 24
#define EDQUOT 69
#define EROFS 30
#define ENOSPC 28
#define EWOULDBLOCK 35
#define ENOTSUP 45
#define EOPNOTSUPP 102
#define ENOSYS 78
#define NAME_MAX 255
#define ELOOP 62
#define ENOTEMPTY 66

int *__error(void);
int access(const char *, int);
int clock_gettime(clockid_t, struct timespec *);
int close(int);
int closedir(DIR *);
int fchmod(int, mode_t);
int fchown(int, uid_t, gid_t);
DIR *fdopendir(int);
int flock(int, int);
int fstat(int, struct stat *);
int fstatat(int, const char *, struct stat *, int);
int fsync(int);
int ftruncate(int, off_t);
uid_t geteuid(void);
DIR *opendir(const char *);
pid_t getpid(void);
int linkat(int, const char *, int, const char *, int);
int mkdir(const char *, mode_t);
int mkdirat(int, const char *, mode_t);
ssize_t pread(int, void *, size_t, off_t);
ssize_t pwrite(int, const void *, size_t, off_t);
ssize_t read(int, void *, size_t);
struct dirent *readdir(DIR *);
int rename(const char *, const char *);
int renameat(int, const char *, int, const char *);
int rmdir(const char *);
int lstat(const char *, struct stat *);
int sysctlbyname(const char *, void *, size_t *, void *, size_t);
int stat(const char *, struct stat *);
int statvfs(const char *, struct statvfs *);
int fstatvfs(int, struct statvfs *);
char *strerror(int);
time_t time(time_t *);
int unlink(const char *);
int unlinkat(int, const char *, int);
int usleep(uint32_t);
int utimes(const char *, const struct timeval *);
ssize_t write(int, const void *, size_t);
