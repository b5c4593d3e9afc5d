/* What Debian's C++ library needs of glibc and musl lacks, so that smoke.ts can run executables for musl on Debian. */
#include <stddef.h>
#include <sys/syscall.h>

long syscall(long, ...);
size_t strftime_l(char *, size_t, const char *, const void *, void *);

unsigned arc4random(void) {
  unsigned number = 0;
  syscall(SYS_getrandom, &number, sizeof number, 0);
  return number;
}
size_t __strftime_l(char *to, size_t most, const char *format, const void *time, void *locale) {
  return strftime_l(to, most, format, time, locale);
}
int __cxa_thread_atexit_impl(void (*end)(void *), void *object, void *library) { return 0; }
int _dl_find_object(void *address, void *result) { return -1; }
int __cpu_indicator_init(void) { return 0; }
char __libc_single_threaded = 0;
struct { unsigned vendor, type, subtype, features[1]; } __cpu_model;
