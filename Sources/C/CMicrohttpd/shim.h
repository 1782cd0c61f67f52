#pragma once
#include <string.h>
#include <netinet/in.h>
#include <microhttpd.h>

/* What the variadic functions of libmicrohttpd are called for here. */

struct fanfare_http_options {
  /* Network byte order; the daemon copies it. */
  const struct sockaddr *address;
  unsigned int connections;
  size_t connection_memory;
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

/* No thread of its own and no time-outs: the caller's loop has both. */
static inline struct MHD_Daemon *fanfare_http_start(const struct fanfare_http_options *options) {
  unsigned int flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME;
  if (options->address->sa_family == AF_INET6) flags |= MHD_USE_IPv6;
  return MHD_start_daemon(
      flags, 0, NULL, NULL, options->received, options->closure,
      MHD_OPTION_SOCK_ADDR, options->address,
      MHD_OPTION_CONNECTION_LIMIT, options->connections,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, options->connection_memory,
      MHD_OPTION_CONNECTION_TIMEOUT, 0u,
      MHD_OPTION_NOTIFY_COMPLETED, options->completed, options->closure,
      MHD_OPTION_NOTIFY_CONNECTION, options->connected, options->closure,
      MHD_OPTION_UNESCAPE_CALLBACK, fanfare_http_keep, NULL,
      MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
}

static inline int fanfare_http_descriptor(struct MHD_Daemon *daemon) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
  return info ? info->epoll_fd : -1;
}

static inline int fanfare_http_port(struct MHD_Daemon *daemon) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
  return info ? info->port : 0;
}

static inline int fanfare_http_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}
