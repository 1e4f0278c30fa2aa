// httppace: HTTP GETs at a given rate, as fcgiload --rate makes them of FastCGI; wrk has no rate. It sends the headers of the same
// browser, takes only whole answers with status 200, and measures latency from the time each request was due.
// Usage: httppace HOST PORT PATH CONNECTIONS SECONDS RATE. Reports the line of wrk-report.lua.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct connection { int socket; uint64_t due; size_t length; char answer[16384]; };

static struct connection *connections, **idle;
static int idle_first, idle_count, size, epoll, open_count;
static char request[2048];
static size_t request_length;
static uint64_t answers, errors, *latencies;

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static void make_request(const char *host, const char *port, const char *path) {
  request_length = (size_t)snprintf(request, sizeof request,
    "GET %s HTTP/1.1\r\nHost: %s:%s\r\n"
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n"
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/png,image/svg+xml,*/*;q=0.8\r\n"
    "Accept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n"
    "Cookie: _ga=GA1.2.1532886274.1718018342; sid=8d0f6c1e2b7a4c59a3f1e0d2c4b6a8971f2e3d4c; theme=light; tz=120\r\n"
    "Upgrade-Insecure-Requests: 1\r\n\r\n", path, host, port);
  if (request_length >= sizeof request) fail("path");
}

// The free ones take turns.
static void add_idle(struct connection *connection) {
  idle[(idle_first + idle_count++) % size] = connection;
}

static struct connection *take_idle(void) {
  struct connection *connection = idle[idle_first];
  idle_first = (idle_first + 1) % size;
  idle_count--;
  return connection;
}

static void open_all(const char *host, const char *port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
  if (inet_pton(AF_INET, host, &address.sin_addr) != 1) fail(host);
  for (int i = 0, one = 1; i < size; i++) {
    struct connection *connection = &connections[i];
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    connection->socket = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(connection->socket, (struct sockaddr *)&address, sizeof address)) fail("connect");
    setsockopt(connection->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    epoll_ctl(epoll, EPOLL_CTL_ADD, connection->socket, &event);
    add_idle(connection);
  }
  open_count = size;
}

static void lose(struct connection *connection) {
  errors++;
  open_count--;
  close(connection->socket);
  connection->socket = -1;
}

static void send_request(struct connection *connection, uint64_t due) {
  connection->due = due;
  connection->length = 0;
  if (connection->socket < 0) errors++;
  else if (send(connection->socket, request, request_length, MSG_NOSIGNAL) != (ssize_t)request_length) lose(connection);
}

// Whether the answer is whole: its length is said, or it comes in chunks.
static int is_whole(const char *answer, size_t length) {
  const char *body = strstr(answer, "\r\n\r\n"), *header;
  if (!body) return 0;
  if ((header = strcasestr(answer, "\r\nContent-Length:")) && header < body)
    return (size_t)(body + 4 - answer) + strtoul(header + 17, NULL, 10) <= length;
  return length >= 5 && !strcmp(answer + length - 5, "0\r\n\r\n");
}

static void receive(struct connection *connection) {
  ssize_t received = recv(connection->socket, connection->answer + connection->length, sizeof connection->answer - 1 - connection->length, 0);
  if (received <= 0) return lose(connection);
  connection->length += (size_t)received;
  connection->answer[connection->length] = 0;
  if (!is_whole(connection->answer, connection->length)) return;
  if (strncmp(connection->answer, "HTTP/1.1 200", 12)) errors++;
  latencies[answers++] = now() - connection->due;
  add_idle(connection);
}

static int compare(const void *a, const void *b) {
  uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
  return (left > right) - (left < right);
}

static unsigned long percentile(unsigned thousandths) {
  return answers ? (unsigned long)(latencies[answers * thousandths / 1000] / 1000) : 0;
}

int main(int count, char **arguments) {
  if (count != 7) return fprintf(stderr, "usage: httppace HOST PORT PATH CONNECTIONS SECONDS RATE\n"), 1;

  size = atoi(arguments[4]);
  double seconds = atof(arguments[5]), rate = atof(arguments[6]);
  uint64_t due = 0, wanted = (uint64_t)(seconds * rate);
  connections = calloc((size_t)size, sizeof *connections);
  idle = calloc((size_t)size, sizeof *idle);
  latencies = calloc(wanted + 1, sizeof *latencies);
  make_request(arguments[1], arguments[2], arguments[3]);
  prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  epoll = epoll_create1(0);
  open_all(arguments[1], arguments[2]);

  uint64_t start = now(), end = start + (uint64_t)(seconds * 1e9), limit = end + 10000000000u;
  while (open_count > 0) {
    uint64_t time = now(), next = start + (uint64_t)((double)due * 1e9 / rate);
    // What was due and found no connection waits, and its latency counts from then.
    for (; due < wanted && next <= time && idle_count > 0; next = start + (uint64_t)((double)++due * 1e9 / rate)) {
      send_request(take_idle(), next);
    }
    if ((due == wanted && answers + errors >= wanted) || time > limit) break;

    uint64_t until = due < wanted && idle_count > 0 ? next : time + 100000000u;
    struct timespec wait = {0, until > time ? (long)(until - time < 999999999u ? until - time : 999999999u) : 0};
    struct epoll_event events[64];
    int ready = epoll_pwait2(epoll, events, 64, &wait, NULL);
    for (int i = 0; i < ready; i++) receive(events[i].data.ptr);
  }

  uint64_t last = now();
  qsort(latencies, answers, sizeof *latencies, compare);
  // A backlog that was worked off belongs to the time.
  uint64_t duration = (last > end + 100000000u ? last : end) - start;
  printf("report %lu %lu %lu %lu %lu %lu %lu\n", (unsigned long)answers, (unsigned long)(duration / 1000), percentile(500), percentile(990),
         (unsigned long)(errors + (wanted - due)), percentile(999), answers ? (unsigned long)(latencies[answers - 1] / 1000) : 0);
}
