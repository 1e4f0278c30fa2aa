// The reference library, libfcgi, with a thread for each connection. Usage: libfcgi PORT | PATH, THREADS
#include <fcgiapp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int listener;

static void *serve(void *unused) {
  FCGX_Request request;
  FCGX_InitRequest(&request, listener, 0);
  while (FCGX_Accept_r(&request) == 0) {
    FCGX_PutS("Content-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, world!", request.out);
    FCGX_Finish_r(&request);
  }
  return unused;
}

int main(int count, char **arguments) {
  if (count != 3) return fprintf(stderr, "usage: libfcgi PORT | PATH, THREADS\n"), 1;

  char address[128];
  snprintf(address, sizeof address, *arguments[1] == '/' ? "%s" : ":%s", arguments[1]);
  FCGX_Init();
  listener = FCGX_OpenSocket(address, 4096);
  pthread_t thread;
  for (int i = atoi(arguments[2]); i > 1; i--) pthread_create(&thread, NULL, serve, NULL);
  serve(NULL);
  return 0;
}
