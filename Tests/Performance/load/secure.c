/* secure: the minimum that a server with OpenSSL keeps for an idle connection: one thread with
   epoll, buffers released while the connection is idle, no sessions kept. It answers every read
   with two bytes. It is a baseline for servers, not a server.

     secure CERTIFICATE KEY */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FILES = 65536, EVENTS = 256, READ_BYTES = 1 << 16 };

static SSL *clients[FILES];

static void check(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "secure: %s\n", what);
  exit(1);
}

static SSL_CTX *context_of(const char *certificate, const char *key) {
  SSL_CTX *context = SSL_CTX_new(TLS_server_method());
  check(context != NULL, "OpenSSL gives no context");
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  check(SSL_CTX_use_certificate_chain_file(context, certificate) == 1, "the certificate is unfit");
  check(SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1, "the key is unfit");
  return context;
}

static void accept_client(int listener, SSL_CTX *context, int epoll_file) {
  int file;
  while ((file = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
    check(file < FILES, "too many connections");
    clients[file] = SSL_new(context);
    check(clients[file] && SSL_set_fd(clients[file], file) == 1, "OpenSSL takes no connection");
    SSL_set_accept_state(clients[file]);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = file};
    check(epoll_ctl(epoll_file, EPOLL_CTL_ADD, file, &event) == 0, "epoll takes no connection");
  }
}

static void serve(int file) {
  static char bytes[READ_BYTES];
  int count;
  while ((count = SSL_read(clients[file], bytes, sizeof bytes)) > 0) {
    SSL_write(clients[file], "ok", 2);
  }
  int why = SSL_get_error(clients[file], count);
  if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) return;
  SSL_free(clients[file]);
  clients[file] = NULL;
  close(file);
}

int main(int count, char **words) {
  check(count == 3, "usage: secure CERTIFICATE KEY");
  signal(SIGPIPE, SIG_IGN);
  SSL_CTX *context = context_of(words[1], words[2]);
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  check(bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 4096) == 0 &&
            getsockname(listener, (struct sockaddr *)&address, &size) == 0,
        "cannot listen");
  int epoll_file = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, events[EVENTS];
  check(epoll_ctl(epoll_file, EPOLL_CTL_ADD, listener, &event) == 0, "epoll takes no listener");
  printf("listening on 127.0.0.1:%d\n", ntohs(address.sin_port));
  fflush(stdout);
  for (;;) {
    int ready = epoll_wait(epoll_file, events, EVENTS, -1);
    for (int index = 0; index < ready; index++) {
      if (events[index].data.fd == listener) accept_client(listener, context, epoll_file);
      else serve(events[index].data.fd);
    }
  }
}
