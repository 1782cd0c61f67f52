#pragma once
#include <string.h>
#include <unistd.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <microhttpd.h>

/* What the variadic functions of libmicrohttpd are called for here. */

struct fanfare_http_options {
  unsigned int connections;
  size_t connection_memory;
  /* PEM; NULL both: no TLS. They stay where they are until the daemon is stopped. */
  const char *certificates;
  const char *private_key;
  void *closure;
  MHD_AccessHandlerCallback received;
  MHD_RequestCompletedCallback completed;
  MHD_NotifyConnectionCallback connected;
};

/* Paths and arguments stay as they came: a decoded NUL would end a C string. */
static inline size_t fanfare_http_keep(void *closure, struct MHD_Connection *connection, char *text) {
  (void)closure;
  (void)connection;
  return strlen(text);
}

/* No thread, no time-outs and no listening socket of its own: the caller has all three. */
static inline struct MHD_Daemon *fanfare_http_start(const struct fanfare_http_options *options) {
  struct MHD_OptionItem secured[] = {
      {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)options->certificates},
      {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)options->private_key},
      {MHD_OPTION_HTTPS_PRIORITIES, 0, "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"},
      {MHD_OPTION_END, 0, NULL}};
  struct MHD_OptionItem plain[] = {{MHD_OPTION_END, 0, NULL}};
  int has_tls = options->certificates != NULL;
  return MHD_start_daemon(
      MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET | (has_tls ? MHD_USE_TLS : 0),
      0, NULL, NULL, options->received, options->closure,
      MHD_OPTION_CONNECTION_LIMIT, options->connections,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, options->connection_memory,
      MHD_OPTION_CONNECTION_TIMEOUT, 0u,
      MHD_OPTION_NOTIFY_COMPLETED, options->completed, options->closure,
      MHD_OPTION_NOTIFY_CONNECTION, options->connected, options->closure,
      MHD_OPTION_UNESCAPE_CALLBACK, fanfare_http_keep, NULL,
      MHD_OPTION_STRICT_FOR_CLIENT, 1,
      MHD_OPTION_ARRAY, has_tls ? secured : plain, MHD_OPTION_END);
}

static inline int fanfare_http_descriptor(struct MHD_Daemon *daemon) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
  return info ? info->epoll_fd : -1;
}

/* The next client that waits; -1 and errno when there is none. accept4 is declared for _GNU_SOURCE
   only, which would change types that Glibc's module has too. */
static inline int fanfare_http_accept(int listener, struct sockaddr_storage *peer, socklen_t *length) {
  *length = sizeof *peer;
  return (int)syscall(
      SYS_accept4, listener, (struct sockaddr *)peer, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

/* The daemon owns the descriptor from here on, and closes it when this fails. */
static inline int fanfare_http_add(
    struct MHD_Daemon *daemon, int descriptor, const struct sockaddr_storage *peer,
    socklen_t length) {
  return MHD_add_connection(daemon, descriptor, (const struct sockaddr *)peer, length) == MHD_YES;
}

static inline int fanfare_http_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}
