#pragma once
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* prctl is variadic. The kernel cuts names at 15 bytes. */
static inline void linux_set_thread_name(const char *name) {
  prctl(PR_SET_NAME, (unsigned long)name, 0ul, 0ul, 0ul);
}

/* accept4 is declared for _GNU_SOURCE only, which would change types that Glibc's module has too. */
static inline int linux_accept(int listener) {
  return (int)syscall(SYS_accept4, listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

/* As above, and who it is. */
static inline int linux_accept_from(int listener, struct sockaddr_storage *peer) {
  socklen_t length = sizeof *peer;
  return (int)syscall(
      SYS_accept4, listener, (struct sockaddr *)peer, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

/* What a TCP socket was given and the peer has not acknowledged (tcp(7), SIOCOUTQ); -1: unknown.
   ioctl is variadic. */
static inline int linux_unacknowledged_bytes(int connection) {
  int bytes = 0;
  return ioctl(connection, TIOCOUTQ, &bytes) == 0 ? bytes : -1;
}

/* A child gets `signal` when the thread that started it ends. prctl is variadic. */
static inline int linux_signal_on_parent_death(int signal) {
  return prctl(PR_SET_PDEATHSIG, (unsigned long)signal, 0ul, 0ul, 0ul);
}

/* Declared for _GNU_SOURCE only, and a variable that Swift cannot know to be safe. */
extern char **environ;
static inline char *const *linux_environment(void) { return environ; }

/* glibc raises the size from which memory is mapped, and so given back, with every large block that is
   freed; then the peak of one moment stays for ever. This keeps it. A batch of pushes is smaller: its
   memory is used again, and not mapped and cleared for each batch. */
static inline void linux_give_back_large_memory(void) {
  mallopt(M_MMAP_THRESHOLD, 512 * 1024);
  mallopt(M_TRIM_THRESHOLD, 512 * 1024);
  mallopt(M_TOP_PAD, 128 * 1024);
}

/* Whether something keeps the system's clock right (NTP, or a hypervisor that says so): 1 or 0; -1 where
   the kernel does not tell. `error` gets the most that the clock may be wrong by, in microseconds. Changes
   nothing. */
static inline int linux_clock_is_kept(long *error) {
  struct timex state = {0};
  int result = adjtimex(&state);
  if (result < 0) return -1;
  *error = state.maxerror;
  return result != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
}
