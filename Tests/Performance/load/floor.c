/* floor: the minimum work with which one thread and epoll can push messages on this kernel. It
   validates nothing, limits nothing and stores nothing: a baseline for servers, not a server.

     GET /ws/ACCOUNT/DEVICE   a WebSocket that receives the account's messages
     GET /pub                 a WebSocket whose messages are "ACCOUNT payload"
     GET /lp/ACCOUNT/DEVICE   a long-poll; If-None-Match has the Etag of the previous answer

   ACCOUNT has six digits.

     floor PORT               sends each message to each subscriber when it arrives
     floor PORT batch         joins the messages of one loop turn into one send per subscriber
     floor PORT broken        loses, duplicates, misroutes and delays some messages on purpose, to
                              check that the load generator detects it */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "websocket.h"

enum { ACCOUNTS = 1000000, FILES = 65536, ANSWERS_KEPT = 64, EVENTS = 512, READ_BYTES = 1 << 20 };
enum role { UNKNOWN, SUBSCRIBER, PUBLISHER, POLLER };

struct list {
  int *files;
  uint32_t count, room;
};

struct channel {
  struct list subscribers, waiting;
  /* Frames received in this loop turn, if sends are joined; or frames that are held back. */
  struct buffer turn;
  /* The last messages as long-poll answers, by number; none before the first poll. */
  struct buffer *answers;
  uint64_t newest;
};

struct client {
  enum role role;
  struct channel *channel;
  /* Index in its list; a poller has one only while it waits. */
  uint32_t place;
  int waits;
  /* Incomplete bytes at the end of the last read. */
  struct buffer rest;
};

static struct channel *channels[ACCOUNTS];
static struct client clients[FILES];
static struct channel *pending[ACCOUNTS];
static uint32_t pending_count;
static int is_batch, is_broken, epoll_file;
static uint64_t dropped;

static void transmit(int file, const void *bytes, size_t count) {
  if (send(file, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)count) dropped++;
}

static void list_add(struct list *list, int file) {
  if (list->count == list->room) {
    list->room = list->room ? list->room * 2 : 8;
    list->files = realloc(list->files, list->room * sizeof *list->files);
    if (!list->files) exit(1);
  }
  clients[file].place = list->count;
  list->files[list->count++] = file;
}

/* The last entry moves to the free index. */
static void list_remove(struct list *list, int file) {
  int last = list->files[--list->count];
  list->files[clients[file].place] = last;
  clients[last].place = clients[file].place;
}

static struct channel *channel_of(const uint8_t *digits) {
  uint32_t account = 0;
  for (int i = 0; i < 6; i++) account = account * 10 + (uint32_t)(digits[i] - '0');
  if (account >= ACCOUNTS) account = 0;
  if (!channels[account]) channels[account] = calloc(1, sizeof **channels);
  if (!channels[account]) exit(1);
  return channels[account];
}

static void leave(int file) {
  struct client *client = &clients[file];
  if (client->role == SUBSCRIBER) list_remove(&client->channel->subscribers, file);
  if (client->waits) list_remove(&client->channel->waiting, file);
  buffer_free(&client->rest);
  *client = (struct client){0};
  close(file);
}

static void answer_polls(struct channel *channel, const uint8_t *payload, size_t length) {
  struct buffer *answer = &channel->answers[++channel->newest % ANSWERS_KEPT];
  answer->length = 0;
  char head[100];
  int count = snprintf(head, sizeof head,
                       "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nEtag: %lu\r\n\r\n", length,
                       (unsigned long)channel->newest);
  buffer_append(answer, head, (size_t)count);
  buffer_append(answer, payload, length);
  for (uint32_t i = 0; i < channel->waiting.count; i++) {
    clients[channel->waiting.files[i]].waits = 0;
    transmit(channel->waiting.files[i], answer->bytes, answer->length);
  }
  channel->waiting.count = 0;
}

static void send_to_all(struct channel *channel, const struct buffer *frames, uint32_t first) {
  for (uint32_t i = first; i < channel->subscribers.count; i++) {
    transmit(channel->subscribers.files[i], frames->bytes, frames->length);
  }
}

/* Of seven messages, one is not sent to the first subscriber, one is sent to it twice, one is also
   sent to another account, and one is sent after the next. */
static void publish_badly(struct channel *channel, const struct buffer *frame) {
  enum { RIGHT, LOST, DOUBLED, MISROUTED, HELD_BACK };
  static uint64_t count;
  static struct channel *other;
  uint64_t fault = count++ % 7;
  if (fault == HELD_BACK) {
    buffer_append(&channel->turn, frame->bytes, frame->length);
  } else {
    send_to_all(channel, frame, fault == LOST);
    if (fault == DOUBLED) transmit(channel->subscribers.files[0], frame->bytes, frame->length);
    if (fault == MISROUTED && other) send_to_all(other, frame, 0);
    if (channel->turn.length) send_to_all(channel, &channel->turn, 0);
    channel->turn.length = 0;
  }
  other = channel;
}

static void publish(const uint8_t *message, size_t length) {
  if (length < 7) return;
  struct channel *channel = channel_of(message);
  const uint8_t *payload = message + 7;
  length -= 7;
  static struct buffer single;
  struct buffer *frame = is_batch ? &channel->turn : &single;
  if (!is_batch) frame->length = 0;
  if (is_batch && !frame->length && channel->subscribers.count) {
    pending[pending_count++] = channel;
  }
  if (channel->subscribers.count) {
    uint8_t head[FRAME_HEAD_ROOM];
    buffer_append(frame, head, frame_head(head, OPCODE_TEXT, length));
    buffer_append(frame, payload, length);
  }
  if (is_broken && channel->subscribers.count) publish_badly(channel, frame);
  else if (!is_batch) send_to_all(channel, frame, 0);
  if (channel->answers) answer_polls(channel, payload, length);
}

static void send_turns(void) {
  for (uint32_t i = 0; i < pending_count; i++) {
    struct channel *channel = pending[i];
    send_to_all(channel, &channel->turn, 0);
    channel->turn.length = 0;
  }
  pending_count = 0;
}

/* Value of a header field, or NULL; `name` includes the colon and the space. */
static const uint8_t *field(const uint8_t *head, size_t length, const char *name) {
  const uint8_t *found = memmem(head, length, name, strlen(name));
  return found ? found + strlen(name) : NULL;
}

static void poll_request(int file, const uint8_t *head, size_t length) {
  struct client *client = &clients[file];
  if (client->role != POLLER) {
    client->role = POLLER;
    client->channel = channel_of(head + strlen("GET /lp/"));
  }
  struct channel *channel = client->channel;
  if (!channel->answers) channel->answers = calloc(ANSWERS_KEPT, sizeof *channel->answers);
  if (!channel->answers) exit(1);
  const uint8_t *known = field(head, length, "If-None-Match: ");
  uint64_t cursor = known ? strtoull((const char *)known, NULL, 10) : channel->newest;
  if (cursor < channel->newest) {
    struct buffer *answer = &channel->answers[(cursor + 1) % ANSWERS_KEPT];
    transmit(file, answer->bytes, answer->length);
  } else {
    list_add(&channel->waiting, file);
    client->waits = 1;
  }
}

static void upgrade(int file, const uint8_t *head, size_t length) {
  const uint8_t *key = field(head, length, "Sec-WebSocket-Key: ");
  if (!key) return;
  char accept[ACCEPT_LENGTH + 1], answer[200];
  accept_key((const char *)key, accept);
  int count = snprintf(answer, sizeof answer,
                       "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                       "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n", accept);
  struct client *client = &clients[file];
  client->role = PUBLISHER;
  if (!memcmp(head, "GET /ws/", 8)) {
    client->role = SUBSCRIBER;
    client->channel = channel_of(head + 8);
    list_add(&client->channel->subscribers, file);
  }
  transmit(file, answer, (size_t)count);
}

/* Handles one request or frame at the front; returns its length, 0 if it is incomplete. */
static size_t handle_input(int file, uint8_t *bytes, size_t count) {
  enum role role = clients[file].role;
  if (role == SUBSCRIBER || role == PUBLISHER) {
    struct frame frame;
    if (!frame_read(bytes, count, &frame)) return 0;
    if (role == PUBLISHER && frame.opcode <= OPCODE_BINARY) publish(frame.payload, frame.length);
    return frame.whole;
  }
  uint8_t *end = memmem(bytes, count, "\r\n\r\n", 4);
  if (!end) return 0;
  size_t length = (size_t)(end - bytes) + 4;
  if (length > 8 && !memcmp(bytes, "GET /lp/", 8)) poll_request(file, bytes, length);
  else upgrade(file, bytes, length);
  return length;
}

static void receive(int file) {
  static uint8_t bytes[READ_BYTES];
  struct client *client = &clients[file];
  size_t begun = client->rest.length;
  if (begun) memcpy(bytes, client->rest.bytes, begun);
  ssize_t got = recv(file, bytes + begun, sizeof bytes - begun, 0);
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0) {
    leave(file);
    return;
  }
  size_t count = begun + (size_t)got, consumed = 0, more;
  while (consumed < count && (more = handle_input(file, bytes + consumed, count - consumed))) {
    consumed += more;
  }
  client->rest.length = 0;
  if (consumed < count) buffer_append(&client->rest, bytes + consumed, count - consumed);
  else if (begun) buffer_free(&client->rest);
}

static void accept_clients(int listener) {
  int file;
  while ((file = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = file};
    if (file >= FILES || epoll_ctl(epoll_file, EPOLL_CTL_ADD, file, &event)) close(file);
  }
}

static int listen_on(uint16_t port) {
  int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  /* Accepted sockets inherit this option from the listener. */
  setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 4096) ||
      getsockname(listener, (struct sockaddr *)&address, &length)) {
    perror("floor: listen");
    exit(1);
  }
  fprintf(stderr, "floor: listening on 127.0.0.1:%u\n", ntohs(address.sin_port));
  return listener;
}

static volatile sig_atomic_t is_ended;
static void end(int number) {
  (void)number;
  is_ended = 1;
}

int main(int count, char **words) {
  is_batch = count == 3 && !strcmp(words[2], "batch");
  is_broken = count == 3 && !strcmp(words[2], "broken");
  if (count < 2 || count > 3 || (count == 3 && !is_batch && !is_broken)) {
    fprintf(stderr, "usage: floor PORT [batch | broken]; port 0 picks a free one\n");
    return 2;
  }
  struct sigaction action = {.sa_handler = end};
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGINT, &action, NULL);
  int listener = listen_on((uint16_t)atoi(words[1]));
  epoll_file = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event events[EVENTS], event = {.events = EPOLLIN, .data.fd = listener};
  epoll_ctl(epoll_file, EPOLL_CTL_ADD, listener, &event);
  while (!is_ended) {
    int ready = epoll_wait(epoll_file, events, EVENTS, -1);
    for (int i = 0; i < ready; i++) {
      if (events[i].data.fd == listener) accept_clients(listener);
      else receive(events[i].data.fd);
    }
    send_turns();
  }
  if (dropped) {
    fprintf(stderr, "floor: %lu sends did not go through whole\n", (unsigned long)dropped);
  }
  return 0;
}
