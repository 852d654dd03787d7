/* Sockets: opening, reading, writing, and failures. Connects only to this machine. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load.h"

enum { READ_BYTES = 1 << 18, CONNECTIONS_PER_ADDRESS = 10000 };

static void watch(struct connection *connection, int operation, bool waits_to_write) {
  struct epoll_event event = {.events = EPOLLIN | (waits_to_write ? EPOLLOUT : 0),
                              .data.ptr = connection};
  connection->waits_to_write = waits_to_write;
  if (epoll_ctl(load.epoll_file, operation, connection->file, &event)) {
    give_up("epoll_ctl: %s", strerror(errno));
  }
}

static uint16_t port_of(const struct connection *connection) {
  const struct options *options = &load.options;
  if (options->mode == MODE_SAVES) {
    return options->ports[connection->account % options->port_count];
  }
  if (options->mode == MODE_STORM) {
    return options->ports[connection->device % options->port_count];
  }
  if (connection->role == PUBLISHER || options->port_count == 1) return options->ports[0];
  return options->ports[1 + connection->device % (options->port_count - 1)];
}

void connection_open(struct connection *connection) {
  static uint32_t opened;
  int one = 1, file = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (file < 0) give_up("socket: %s (ulimit -n says how many may be open)", strerror(errno));
  connection->file = file;
  connection->state = DIALLING;
  /* Closing sends RST, so that thousands of closed connections leave no state behind. */
  struct linger linger = {1, 0};
  setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  setsockopt(file, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
  /* One source address has a limited number of ports; all of 127.0.0.0/8 is this machine. */
  setsockopt(file, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
  struct sockaddr_in source = {.sin_family = AF_INET};
  source.sin_addr.s_addr = htonl(INADDR_LOOPBACK + opened++ / CONNECTIONS_PER_ADDRESS);
  struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons(port_of(connection)),
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (bind(file, (struct sockaddr *)&source, sizeof source)) {
    give_up("bind: %s", strerror(errno));
  }
  if (connect(file, (struct sockaddr *)&server, sizeof server) && errno != EINPROGRESS) {
    give_up("connect: %s", strerror(errno));
  }
  watch(connection, EPOLL_CTL_ADD, true);
}

/* Prints the reason for the first failure only; messages lost by it are counted at the end. */
void connection_drop(struct connection *connection, const char *reason) {
  if (connection->state == GONE) return;
  if (!load.failed && !load.broken) fprintf(stderr, "load: a connection is lost: %s\n", reason);
  if (connection->role == RECEIVER && connection->state != READY) {
    load.in_flight--;
    load.failed++;
  } else {
    load.broken++;
  }
  connection->state = GONE;
  close(connection->file);
  buffer_free(&connection->rest);
  buffer_free(&connection->unsent);
}

static void transmit_rest(struct connection *connection) {
  struct buffer *unsent = &connection->unsent;
  ssize_t sent = send(connection->file, unsent->bytes, unsent->length, MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN) {
    connection_drop(connection, strerror(errno));
    return;
  }
  if (sent > 0) buffer_consume(unsent, (size_t)sent);
  if (unsent->length) return;
  buffer_free(unsent);
  watch(connection, EPOLL_CTL_MOD, false);
}

void connection_send(struct connection *connection, const void *bytes, size_t count) {
  if (connection->state == GONE) return;
  if (!connection->unsent.length) {
    ssize_t sent = send(connection->file, bytes, count, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) {
      connection_drop(connection, strerror(errno));
      return;
    }
    if (sent == (ssize_t)count) return;
    if (sent > 0) {
      bytes = (const char *)bytes + sent;
      count -= (size_t)sent;
    }
    watch(connection, EPOLL_CTL_MOD, true);
  }
  buffer_append(&connection->unsent, bytes, count);
}

static void receive(struct connection *connection) {
  static struct buffer received;
  received.length = 0;
  buffer_append(&received, connection->rest.bytes, connection->rest.length);
  uint8_t *end = buffer_reserve(&received, READ_BYTES);
  ssize_t got = recv(connection->file, end, READ_BYTES, 0);
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0) {
    connection_drop(connection, got ? strerror(errno) : "the server closed it");
    return;
  }
  received.length += (size_t)got;
  load.received_at = now();
  size_t consumed = 0, more;
  while (consumed < received.length && connection->state != GONE &&
         (more = conversation_receive(connection, received.bytes + consumed,
                                      received.length - consumed))) {
    consumed += more;
  }
  if (connection->state == GONE) return;
  connection->rest.length = 0;
  if (consumed < received.length) {
    buffer_append(&connection->rest, received.bytes + consumed, received.length - consumed);
  } else if (connection->rest.room) {
    buffer_free(&connection->rest);
  }
}

void connection_event(struct connection *connection, uint32_t events) {
  if (connection->state == GONE) return;
  if (connection->state == DIALLING) {
    int fault = 0;
    socklen_t length = sizeof fault;
    getsockopt(connection->file, SOL_SOCKET, SO_ERROR, &fault, &length);
    if (fault) {
      connection_drop(connection, strerror(fault));
      return;
    }
    watch(connection, EPOLL_CTL_MOD, false);
    conversation_begin(connection);
    return;
  }
  if (events & EPOLLOUT && connection->waits_to_write) transmit_rest(connection);
  if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) receive(connection);
}
