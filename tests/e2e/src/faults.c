/* Faults of the operating system under a server: a shim that is loaded before the C library (LD_PRELOAD).
 *
 * FAULTS_FOLDER names a folder of orders and accounts, FAULTS_ROOT the only folder whose files are touched, FAULTS_CLOCK_SECONDS what is added
 * to the wall clock. An order is a file "<number> <pattern>"; a pattern is a path below the root as a shell matches it, with
 * a slash at its end for a folder that is synced; * is every path, and * with a slash every folder:
 *   fail_sync   as many syncs of matching paths fail with EIO
 *   hang_sync   while there is this order, a sync of a matching path does not return
 *   fail_write  every change of a matching path fails with this errno
 * While the file hang_log exists, a write to standard error does not return.
 * The account "syncs" has one line for each sync, in order; "hung" exists once something has not returned.
 * Whoever gives an order renames it into place, so it is never read half written.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define POLL_MICROSECONDS 5000

static pthread_mutex_t orders = PTHREAD_MUTEX_INITIALIZER;

/* The path of an entry of FAULTS_FOLDER; none without the variable. */
static int entry(char *path, const char *name) {
  const char *folder = getenv("FAULTS_FOLDER");
  return folder != NULL && snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX;
}

/* The path below the root; none for any other path. */
static const char *below_root(const char *path) {
  const char *root = getenv("FAULTS_ROOT");
  size_t length = root == NULL ? 0 : strlen(root);
  if (length == 0 || strncmp(path, root, length) != 0) return NULL;
  return path[length] == '/' ? path + length + 1 : path[length] == 0 ? path + length : NULL;
}

static int exists(const char *name) {
  char file[PATH_MAX];
  return entry(file, name) && access(file, F_OK) == 0;
}

/* Reads an order; the pattern, or none without such an order. */
static const char *read_order(const char *name, char *text, size_t size) {
  char file[PATH_MAX];
  if (!entry(file, name)) return NULL;
  int fd = REAL(open64)(file, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return NULL;
  ssize_t length = read(fd, text, size - 1);
  close(fd);
  text[length < 0 ? 0 : length] = 0;
  char *pattern = strchr(text, ' ');
  return pattern == NULL ? NULL : pattern + 1;
}

/* The number of the order `name`, if there is one whose pattern the path matches; else 0. */
static int ordered(const char *name, const char *path) {
  char text[PATH_MAX + 16];
  const char *below = below_root(path);
  const char *pattern = below == NULL ? NULL : read_order(name, text, sizeof text);
  if (pattern == NULL) return 0;
  int is_folder = below[0] != 0 && below[strlen(below) - 1] == '/';
  int is_any = strcmp(pattern, "*") == 0 || (is_folder && strcmp(pattern, "*/") == 0);
  return is_any || fnmatch(pattern, below, FNM_PATHNAME) == 0 ? atoi(text) : 0;
}

static int path_of(int fd, char *path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  path[length < 0 ? 0 : length] = 0;
  return length > 0;
}

/* An absolute path as it was given. */
static int absolute(int folder, const char *given, char *path) {
  if (given[0] == '/') return snprintf(path, PATH_MAX, "%s", given) < PATH_MAX;
  char base[PATH_MAX];
  if (folder == AT_FDCWD ? getcwd(base, sizeof base) == NULL : !path_of(folder, base)) return 0;
  return snprintf(path, PATH_MAX, "%s/%s", base, given) < PATH_MAX;
}

/* Appends a line to an account. */
static void account(const char *name, const char *path) {
  char file[PATH_MAX], line[PATH_MAX + 2];
  if (!entry(file, name)) return;
  int fd = REAL(open64)(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  int length = snprintf(line, sizeof line, "%s\n", path);
  if (fd < 0 || REAL(write)(fd, line, length) != length) abort();
  close(fd);
}

/* Takes one from the number of the order; whether there was one to take. */
static int take(const char *name, const char *path) {
  char file[PATH_MAX], next[PATH_MAX + 8], text[PATH_MAX + 16];
  pthread_mutex_lock(&orders);
  int number = ordered(name, path);
  const char *pattern = number > 0 ? read_order(name, text, sizeof text) : NULL;
  if (pattern != NULL && entry(file, name)) {
    snprintf(next, sizeof next, "%s.next", file);
    FILE *out = fopen(next, "w");
    if (out == NULL || fprintf(out, "%d %s", number - 1, pattern) < 0 || fclose(out) != 0) abort();
    if (REAL(rename)(next, file) != 0) abort();
  }
  pthread_mutex_unlock(&orders);
  return number > 0;
}

static int before_sync(int fd) {
  char path[PATH_MAX];
  struct stat kind;
  if (!path_of(fd, path)) return 0;
  if (fstat(fd, &kind) == 0 && S_ISDIR(kind.st_mode) && strlen(path) + 1 < sizeof path) strcat(path, "/");
  if (below_root(path) != NULL) account("syncs", path);
  if (ordered("hang_sync", path)) {
    account("hung", path);
    while (ordered("hang_sync", path)) usleep(POLL_MICROSECONDS);
  }
  if (!take("fail_sync", path)) return 0;
  errno = EIO;
  return -1;
}

int fsync(int fd) { return before_sync(fd) != 0 ? -1 : REAL(fsync)(fd); }
int fdatasync(int fd) { return before_sync(fd) != 0 ? -1 : REAL(fdatasync)(fd); }

/* Whether a change of the path fails; sets errno. */
static int refused(int folder, const char *given) {
  char path[PATH_MAX];
  if (getenv("FAULTS_ROOT") == NULL || !absolute(folder, given, path)) return 0;
  int number = ordered("fail_write", path);
  if (number != 0) errno = number;
  return number != 0;
}

/* The same for an open file. A write to standard error hangs where that is ordered. */
static int refused_fd(int fd) {
  char path[PATH_MAX];
  if (fd == STDERR_FILENO && exists("hang_log")) {
    account("hung", "standard error");
    while (exists("hang_log")) usleep(POLL_MICROSECONDS);
  }
  if (!exists("fail_write") || !path_of(fd, path)) return 0;
  int number = ordered("fail_write", path);
  if (number != 0) errno = number;
  return number != 0;
}

ssize_t write(int fd, const void *bytes, size_t count) { return refused_fd(fd) ? -1 : REAL(write)(fd, bytes, count); }
ssize_t writev(int fd, const struct iovec *parts, int count) { return refused_fd(fd) ? -1 : REAL(writev)(fd, parts, count); }
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
  return refused_fd(fd) ? -1 : REAL(pwrite64)(fd, bytes, count, at);
}

static int changes(int flags) { return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0; }

/* Whether opening fails: on a full disk a new file can often be made, and only its bytes have no place. */
static int open_refused(int folder, const char *path, int flags) {
  if (!changes(flags) || !refused(folder, path)) return 0;
  return errno != ENOSPC;
}

int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return open_refused(AT_FDCWD, path, flags) ? -1 : REAL(open64)(path, flags, mode);
}

int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return open_refused(AT_FDCWD, path, flags) ? -1 : REAL(open)(path, flags, mode);
}

int mkdir(const char *path, mode_t mode) { return refused(AT_FDCWD, path) ? -1 : REAL(mkdir)(path, mode); }

int link(const char *from, const char *to) { return refused(AT_FDCWD, to) ? -1 : REAL(link)(from, to); }

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
  return refused(to_folder, to) ? -1 : REAL(linkat)(from_folder, from, to_folder, to, flags);
}

/* Removing needs no space. */
static int removal_refused(int folder, const char *path) { return refused(folder, path) && errno != ENOSPC; }

int unlink(const char *path) { return removal_refused(AT_FDCWD, path) ? -1 : REAL(unlink)(path); }
int rmdir(const char *path) { return removal_refused(AT_FDCWD, path) ? -1 : REAL(rmdir)(path); }
int unlinkat(int folder, const char *path, int flags) {
  return removal_refused(folder, path) ? -1 : REAL(unlinkat)(folder, path, flags);
}
int rename(const char *from, const char *to) { return removal_refused(AT_FDCWD, to) ? -1 : REAL(rename)(from, to); }

int clock_gettime(clockid_t clock, struct timespec *time) {
  static __typeof__(&clock_gettime) real;
  if (real == NULL) real = REAL(clock_gettime);
  int outcome = real(clock, time);
  const char *seconds = getenv("FAULTS_CLOCK_SECONDS");
  if (outcome == 0 && clock == CLOCK_REALTIME && seconds != NULL) time->tv_sec += atoll(seconds);
  return outcome;
}
