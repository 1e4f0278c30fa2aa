// The floor: what the system calls of a FastCGI request cost, and nothing else. One thread waits with epoll, receives once, walks the
// records of the request, and answers with one send of a finished response. No server can be cheaper without another kernel interface.
// It trusts its peer: one request at a time on a connection, params below 64 KiB. Usage: floor PORT | PATH
#define _GNU_SOURCE
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { BEGIN_REQUEST = 1, STDIN = 5, STDOUT = 6, END_REQUEST = 3, HEADER = 8, KEEP_CONN = 1 };

struct connection { int socket, keep; size_t length; unsigned char *rest; };

static unsigned char response[256];
static size_t response_length;

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static void add_record(int type, const char *content, size_t length) {
  unsigned char header[HEADER] = {1, (unsigned char)type, 0, 1, 0, (unsigned char)length, (unsigned char)(-length & 7), 0};
  memcpy(response + response_length, header, HEADER);
  memcpy(response + response_length + HEADER, content, length);
  response_length += HEADER + length + (-length & 7);
}

static int listen_at(const char *where) {
  struct sockaddr_in tcp = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(where)), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  struct sockaddr_un path = {.sun_family = AF_UNIX};
  int is_path = *where == '/', one = 1, listener = socket(is_path ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (is_path) {
    strncpy(path.sun_path, where, sizeof path.sun_path - 1);
    unlink(where);
    if (bind(listener, (struct sockaddr *)&path, sizeof path)) fail(where);
  } else {
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&tcp, sizeof tcp)) fail(where);
  }
  if (listen(listener, 4096)) fail("listen");
  return listener;
}

static void accept_all(int epoll, int listener) {
  for (int socket, one = 1; (socket = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0;) {
    struct connection *connection = calloc(1, sizeof *connection);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    connection->socket = socket;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event);
  }
}

static void end(struct connection *connection) {
  close(connection->socket);
  free(connection->rest);
  free(connection);
}

// Answers what is whole, keeps the rest.
static void receive(struct connection *connection) {
  static unsigned char buffer[1 << 18];
  memcpy(buffer, connection->rest, connection->length);
  ssize_t received = recv(connection->socket, buffer + connection->length, sizeof buffer / 2, 0);
  if (received <= 0) return end(connection);

  size_t at = 0, length = connection->length + (size_t)received;
  while (length - at >= HEADER) {
    unsigned char *record = buffer + at;
    size_t content = (size_t)record[4] << 8 | record[5], whole = HEADER + content + record[6];
    if (length - at < whole) break;
    if (record[1] == BEGIN_REQUEST) connection->keep = record[HEADER + 2] & KEEP_CONN;
    if (record[1] == STDIN && content == 0) {
      if (send(connection->socket, response, response_length, MSG_NOSIGNAL) < 0 || !connection->keep) return end(connection);
    }
    at += whole;
  }

  connection->length = length - at;
  if (connection->length > 0) {
    connection->rest = realloc(connection->rest, connection->length);
    memcpy(connection->rest, buffer + at, connection->length);
  }
}

int main(int count, char **arguments) {
  if (count != 2) return fprintf(stderr, "usage: floor PORT | PATH\n"), 1;

  const char *page = "Content-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, world!";
  add_record(STDOUT, page, strlen(page));
  add_record(STDOUT, "", 0);
  add_record(END_REQUEST, "\0\0\0\0\0\0\0", 8);

  int listener = listen_at(arguments[1]), epoll = epoll_create1(0);
  struct epoll_event events[256], accepting = {.events = EPOLLIN};
  epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &accepting);
  while (1) {
    int ready = epoll_wait(epoll, events, 256, -1);
    for (int i = 0; i < ready; i++)
      if (events[i].data.ptr) receive(events[i].data.ptr);
      else accept_all(epoll, listener);
  }
}
