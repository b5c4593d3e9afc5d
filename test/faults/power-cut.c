/*
 * Stands between SQLite and the disk (LD_PRELOAD). It writes down what is done to the files of one folder, in order,
 * together with every answer that leaves through a socket: enough to build the disk as a power cut would have left it
 * at any moment, and to know who had been told what. And it can be a bad disk.
 *
 * FAULT_FOLDER      the folder, as an absolute path
 * FAULT_LOG         the record, a file of its full size that is mapped, so that a killed process loses nothing of it
 * FAULT_NO_SYNC     fsync does nothing and says that it did
 * FAULT_FULL        while a file of this name exists, the disk is full
 * FAULT_WRITE_FAILS while a file of this name exists, writing fails
 * FAULT_SYNC_MS     how long an fsync takes at least
 * FAULT_SYNC_FAILS  while a file of this name exists, fsync fails
 * FAULT_NO_SHM      the file system takes no shared memory, as network ones
 *
 * What Bun itself does to files (link, rename, unlink in JavaScript) goes past libc and is not seen.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { NAME = 1, WRITE, TRUNCATE, SYNC, ANSWER, UNLINK };
enum { FDS = 65536, FILES = 64, START = 64 };

/* followed by its data; `kind` is written last, so that a half-made one is seen as none */
struct record {
  _Atomic uint32_t kind;
  uint32_t file;
  uint64_t offset, length, begun;
};

static _Atomic uint64_t *head;
static char *map;
static uint64_t map_bytes;
static const char *folder, *full_flag, *write_flag, *sync_flag;
static int no_sync, no_shm, sync_ms;
static _Atomic int file_of[FDS];
static char *names[FILES];
static int name_count = 1;

__attribute__((constructor)) static void begin(void) {
  folder = getenv("FAULT_FOLDER");
  full_flag = getenv("FAULT_FULL");
  write_flag = getenv("FAULT_WRITE_FAILS");
  sync_flag = getenv("FAULT_SYNC_FAILS");
  sync_ms = atoi(getenv("FAULT_SYNC_MS") ? getenv("FAULT_SYNC_MS") : "0");
  no_sync = getenv("FAULT_NO_SYNC") != NULL;
  no_shm = getenv("FAULT_NO_SHM") != NULL;
  const char *path = getenv("FAULT_LOG");
  if (!path) return;
  int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR);
  struct stat st;
  if (fd < 0 || fstat(fd, &st) != 0) abort();
  map_bytes = (uint64_t)st.st_size;
  map = (char *)syscall(SYS_mmap, NULL, map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED) abort();
  head = (_Atomic uint64_t *)map;
  atomic_store(head, START);
}

static uint64_t now(void) { return head ? atomic_load(head) : 0; }

static void note(struct record fields, const struct iovec *data, int count) {
  if (!head) return;
  uint64_t room = (sizeof(struct record) + fields.length + 7) & ~7ull;
  uint64_t at = atomic_fetch_add(head, room);
  if (at + room + sizeof(struct record) > map_bytes) abort();
  struct record *r = (struct record *)(map + at);
  char *to = (char *)(r + 1);
  uint64_t left = fields.length;
  for (int i = 0; i < count && left > 0; i++) {
    uint64_t part = data[i].iov_len < left ? data[i].iov_len : left;
    memcpy(to, data[i].iov_base, part);
    to += part;
    left -= part;
  }
  r->file = fields.file;
  r->offset = fields.offset;
  r->length = fields.length;
  r->begun = fields.begun;
  atomic_store(&r->kind, fields.kind);
}

static int is_ours(const char *path) {
  size_t length = folder ? strlen(folder) : 0;
  return length > 0 && strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == 0);
}

static int is_set(const char *flag) { return flag && syscall(SYS_faccessat, AT_FDCWD, flag, F_OK, 0) == 0; }

static int file(int fd) { return fd >= 0 && fd < FDS ? atomic_load(&file_of[fd]) : 0; }

static int number_of(const char *path) {
  static atomic_flag busy = ATOMIC_FLAG_INIT;
  while (atomic_flag_test_and_set(&busy)) sched_yield();
  int number = 1;
  while (number < name_count && strcmp(names[number], path) != 0) number++;
  if (number >= FILES) abort();
  if (number == name_count) {
    names[number] = strdup(path);
    name_count = number + 1;
  }
  atomic_flag_clear(&busy);
  return number;
}

static int is_shm(int number) {
  size_t length = number ? strlen(names[number]) : 0;
  return length > 4 && strcmp(names[number] + length - 4, "-shm") == 0;
}

static int open_at(int dir, const char *path, int flags, mode_t mode) {
  int ours = is_ours(path);
  int is_new = ours && (flags & O_CREAT) && syscall(SYS_faccessat, AT_FDCWD, path, F_OK, 0) != 0;
  if (is_new && is_set(full_flag)) return errno = ENOSPC, -1;
  int fd = (int)syscall(SYS_openat, dir, path, flags, mode);
  if (fd < 0 || fd >= FDS) return fd;
  int number = ours ? number_of(path) : 0;
  atomic_store(&file_of[fd], number);
  struct iovec name = {(void *)path, strlen(path)};
  if (number) note((struct record){NAME, number, is_new, name.iov_len, 0}, &name, 1);
  return fd;
}

static mode_t mode_of(int flags, va_list rest) { return flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; }

#define OPENER(name)                              \
  int name(const char *path, int flags, ...) {    \
    va_list rest;                                 \
    va_start(rest, flags);                        \
    mode_t mode = mode_of(flags, rest);           \
    va_end(rest);                                 \
    return open_at(AT_FDCWD, path, flags, mode);  \
  }
OPENER(open)
OPENER(open64)

int openat(int dir, const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return open_at(dir, path, flags, mode);
}

int close(int fd) {
  if (fd >= 0 && fd < FDS) atomic_store(&file_of[fd], 0);
  return (int)syscall(SYS_close, fd);
}

static int is_answer(const char *data, size_t length) { return length > 12 && memcmp(data, "HTTP/1.1 20", 11) == 0; }

/* before it leaves: whoever reads it was told */
static void note_answer(const struct iovec *data, int count) {
  if (!head || count < 1 || !is_answer(data[0].iov_base, data[0].iov_len)) return;
  uint64_t length = 0;
  for (int i = 0; i < count; i++) length += data[i].iov_len;
  note((struct record){ANSWER, 0, 0, length, 0}, data, count);
}

ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) {
  int number = file(fd);
  if (number && is_set(full_flag)) return errno = ENOSPC, -1;
  if (number && is_set(write_flag)) return errno = EIO, -1;
  ssize_t done = syscall(SYS_pwrite64, fd, data, length, offset);
  struct iovec written = {(void *)data, done > 0 ? (size_t)done : 0};
  if (number && done > 0 && !is_shm(number))
    note((struct record){WRITE, number, (uint64_t)offset, (uint64_t)done, 0}, &written, 1);
  return done;
}
ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) { return pwrite64(fd, data, length, offset); }

ssize_t write(int fd, const void *data, size_t length) {
  struct iovec part = {(void *)data, length};
  if (file(fd)) return pwrite64(fd, data, length, lseek(fd, (off_t)length, SEEK_CUR) - (off_t)length);
  note_answer(&part, 1);
  return syscall(SYS_write, fd, data, length);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  if (file(fd)) abort();
  note_answer(parts, count);
  return syscall(SYS_writev, fd, parts, count);
}

ssize_t sendto(int fd, const void *data, size_t length, int flags, const struct sockaddr *to, socklen_t to_length) {
  struct iovec part = {(void *)data, length};
  note_answer(&part, 1);
  return syscall(SYS_sendto, fd, data, length, flags, to, to_length);
}
ssize_t send(int fd, const void *data, size_t length, int flags) { return sendto(fd, data, length, flags, NULL, 0); }

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
  note_answer(message->msg_iov, (int)message->msg_iovlen);
  return syscall(SYS_sendmsg, fd, message, flags);
}

int ftruncate64(int fd, off64_t length) {
  int number = file(fd);
  struct stat st;
  if (number && is_set(full_flag) && fstat(fd, &st) == 0 && length > st.st_size) return errno = ENOSPC, -1;
  int result = (int)syscall(SYS_ftruncate, fd, length);
  if (number && result == 0 && !is_shm(number)) note((struct record){TRUNCATE, number, (uint64_t)length, 0, 0}, NULL, 0);
  return result;
}
int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

int fallocate(int fd, int mode, off_t offset, off_t length) {
  if (file(fd)) return errno = EOPNOTSUPP, -1;
  return (int)syscall(SYS_fallocate, fd, mode, offset, length);
}

/* what was written before it began is on the disk once it has returned */
static int sync_file(int fd, long call) {
  int number = file(fd);
  if (number && is_set(sync_flag)) return errno = EIO, -1;
  if (number && no_sync) return 0;
  if (number && sync_ms) usleep((useconds_t)sync_ms * 1000);
  uint64_t begun = now();
  /* recorded as a disk that obeys; the real one is left alone where only the record counts */
  int result = number && head ? 0 : (int)syscall(call, fd);
  if (number && result == 0) note((struct record){SYNC, number, 0, 0, begun}, NULL, 0);
  return result;
}
int fsync(int fd) { return sync_file(fd, SYS_fsync); }
int fdatasync(int fd) { return sync_file(fd, SYS_fdatasync); }

int unlink(const char *path) {
  if (is_ours(path)) note((struct record){UNLINK, number_of(path), 0, 0, 0}, NULL, 0);
  return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

void *mmap64(void *at, size_t length, int protection, int flags, int fd, off64_t offset) {
  if (no_shm && is_shm(file(fd))) return errno = ENODEV, MAP_FAILED;
  return (void *)syscall(SYS_mmap, at, length, protection, flags, fd, offset);
}
void *mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset) {
  return mmap64(at, length, protection, flags, fd, offset);
}
