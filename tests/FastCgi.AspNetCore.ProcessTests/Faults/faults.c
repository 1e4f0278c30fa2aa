// Makes system calls of the server fail, as a test requests. Loaded with LD_PRELOAD. The file in FAULTS is shared with
// the test and has six numbers for each call: the action, how often to do it, its errno or length, how often it was
// done, how often the call was made, and a spare.
//
// .NET looks up LibraryImport functions with dlsym and the handle of libc, which no other library can precede, so dlsym
// is replaced too. A call counts as the server's if it comes from code outside all libraries (compiled by the runtime),
// or from libSystem.Native (calls of Socket). Calls of the runtime itself are not changed.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { NOTHING, FAIL, SHORTEN };
enum { ACCEPT, RECEIVE, SEND, EPOLL_CTL, EPOLL_WAIT, EVENTFD, OPEN, GETSOCKOPT, THREAD, ALLOCATE, CALLS };
typedef struct { _Atomic int32_t kind, remaining, value, done, asked, spare; } plan;

#define DESCRIPTORS 65536
static plan *plans;
static void *(*real_dlsym)(void *, const char *);
// The events that each descriptor waits for, to rearm them after a shortened receive: the system would report the rest later.
static struct { int epoll; struct epoll_event event; } waits[DESCRIPTORS];

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("FAULTS");
    int file = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0)
        return;
    plan *map = mmap(NULL, CALLS * sizeof(plan), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (map != MAP_FAILED)
        plans = map;
}

static void *find(const char *name)
{
    if (!real_dlsym)
    {
        static const char *versions[] = { "GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5", "GLIBC_2.0" };
        for (size_t i = 0; i < 4 && !real_dlsym; i++)
            real_dlsym = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    }
    return real_dlsym(RTLD_NEXT, name);
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))find(#name)
#define CALLER __builtin_return_address(0)

static int is_of_server(void *caller)
{
    Dl_info library;
    if (!dladdr(caller, &library) || !library.dli_fname)
        return 1;
    return strstr(library.dli_fname, "libSystem.Native") != NULL;
}

// The number to fail or to shorten with, or 0 to do nothing.
static int take(int call, void *caller, int kind)
{
    if (!plans || !is_of_server(caller))
        return 0;
    plan *p = &plans[call];
    p->asked++;
    if (p->kind != kind || p->remaining <= 0)
        return 0;
    if (atomic_fetch_sub(&p->remaining, 1) <= 0)
    {
        p->remaining++;
        return 0;
    }
    int value = p->value;
    p->done++;
    return value;
}

#define FAIL_IF_PLANNED(call) do { int e_ = take(call, CALLER, FAIL); if (e_) { errno = e_; return -1; } } while (0)

static int is_socket(int descriptor)
{
    struct stat status;
    return fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode);
}

static void look_anew(int socket)
{
    if (socket < DESCRIPTORS && waits[socket].epoll)
        syscall(SYS_epoll_ctl, waits[socket].epoll, EPOLL_CTL_MOD, socket, &waits[socket].event);
}

int accept4(int socket, struct sockaddr *address, socklen_t *length, int flags)
{
    REAL(accept4);
    FAIL_IF_PLANNED(ACCEPT);
    return real(socket, address, length, flags);
}

ssize_t recv(int socket, void *buffer, size_t length, int flags)
{
    REAL(recv);
    FAIL_IF_PLANNED(RECEIVE);
    size_t most = (flags & MSG_PEEK) ? 0 : (size_t)take(RECEIVE, CALLER, SHORTEN);
    if (!most || most >= length)
        return real(socket, buffer, length, flags);
    ssize_t received = real(socket, buffer, most, flags);
    if (received > 0)
        look_anew(socket);
    return received;
}

ssize_t recvmsg(int socket, struct msghdr *message, int flags)
{
    REAL(recvmsg);
    FAIL_IF_PLANNED(RECEIVE);
    size_t most = (size_t)take(RECEIVE, CALLER, SHORTEN);
    if (!most || message->msg_iovlen == 0 || message->msg_iov[0].iov_len <= most)
        return real(socket, message, flags);
    struct iovec first = { message->msg_iov[0].iov_base, most }, *whole = message->msg_iov;
    size_t count = message->msg_iovlen;
    message->msg_iov = &first;
    message->msg_iovlen = 1;
    ssize_t received = real(socket, message, flags);
    message->msg_iov = whole;
    message->msg_iovlen = count;
    return received;
}

ssize_t read(int descriptor, void *buffer, size_t length)
{
    REAL(read);
    if (!plans || plans[RECEIVE].remaining <= 0 || !is_socket(descriptor))
        return real(descriptor, buffer, length);
    FAIL_IF_PLANNED(RECEIVE);
    size_t most = (size_t)take(RECEIVE, CALLER, SHORTEN);
    return real(descriptor, buffer, most && most < length ? most : length);
}

ssize_t send(int socket, const void *buffer, size_t length, int flags)
{
    REAL(send);
    FAIL_IF_PLANNED(SEND);
    size_t most = (size_t)take(SEND, CALLER, SHORTEN);
    return real(socket, buffer, most && most < length ? most : length, flags);
}

ssize_t write(int descriptor, const void *buffer, size_t length)
{
    REAL(write);
    if (!plans || plans[SEND].remaining <= 0 || !is_socket(descriptor))
        return real(descriptor, buffer, length);
    FAIL_IF_PLANNED(SEND);
    size_t most = (size_t)take(SEND, CALLER, SHORTEN);
    return real(descriptor, buffer, most && most < length ? most : length);
}

ssize_t sendmsg(int socket, const struct msghdr *message, int flags)
{
    REAL(sendmsg);
    FAIL_IF_PLANNED(SEND);
    size_t most = (size_t)take(SEND, CALLER, SHORTEN);
    if (!most || message->msg_iovlen == 0 || message->msg_iov[0].iov_len <= most)
        return real(socket, message, flags);
    struct iovec first = { message->msg_iov[0].iov_base, most };
    struct msghdr shorter = *message;
    shorter.msg_iov = &first;
    shorter.msg_iovlen = 1;
    return real(socket, &shorter, flags);
}

int epoll_ctl(int epoll, int operation, int descriptor, struct epoll_event *event)
{
    REAL(epoll_ctl);
    FAIL_IF_PLANNED(EPOLL_CTL);
    if (descriptor >= 0 && descriptor < DESCRIPTORS)
    {
        waits[descriptor].epoll = operation == EPOLL_CTL_DEL ? 0 : epoll;
        if (operation != EPOLL_CTL_DEL)
            waits[descriptor].event = *event;
    }
    return real(epoll, operation, descriptor, event);
}

int epoll_wait(int epoll, struct epoll_event *events, int count, int timeout)
{
    REAL(epoll_wait);
    FAIL_IF_PLANNED(EPOLL_WAIT);
    return real(epoll, events, count, timeout);
}

int eventfd(unsigned int value, int flags)
{
    REAL(eventfd);
    FAIL_IF_PLANNED(EVENTFD);
    return real(value, flags);
}

static int open_file(const char *path, int flags, va_list arguments, void *caller)
{
    int error = plans && strncmp(path, "/proc/self/task/", 16) == 0 ? take(OPEN, caller, FAIL) : 0;
    if (error)
    {
        errno = error;
        return -1;
    }
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(arguments, mode_t) : 0;
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    int result = open_file(path, flags, arguments, CALLER);
    va_end(arguments);
    return result;
}

int open64(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    int result = open_file(path, flags | O_LARGEFILE, arguments, CALLER);
    va_end(arguments);
    return result;
}

int getsockopt(int socket, int level, int name, void *value, socklen_t *length)
{
    REAL(getsockopt);
    FAIL_IF_PLANNED(GETSOCKOPT);
    return real(socket, level, name, value, length);
}

// The runtime creates all threads. A failure in its own thread pool may end the process, so only those fail that a
// thread of the server asks for.
static int is_thread_of_server(void)
{
    char name[16] = "";
    return pthread_getname_np(pthread_self(), name, sizeof(name)) == 0 && strncmp(name, "FastCgi", 7) == 0;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
    REAL(pthread_create);
    plan *p = plans && is_thread_of_server() ? &plans[THREAD] : NULL;
    if (p)
    {
        p->asked++;
        if (p->kind == FAIL && atomic_fetch_sub(&p->remaining, 1) > 0)
        {
            p->done++;
            return p->value;
        }
        if (p->kind == FAIL)
            p->remaining++;
    }
    return real(thread, attributes, start, argument);
}

// The server's native buffers, which belong to a loop. The others are on the runtime's heap.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);

static int has_no_memory(size_t size, void *caller)
{
    return plans && plans[ALLOCATE].remaining > 0 && (size == 65536 || size == 257 * 16) && take(ALLOCATE, caller, FAIL);
}

void *malloc(size_t size)
{
    if (has_no_memory(size, CALLER))
    {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    if (has_no_memory(count * size, CALLER))
    {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_calloc(count, size);
}

void *dlsym(void *handle, const char *name)
{
    static const struct { const char *name; void *ours; } replaced[] = {
        { "accept4", accept4 }, { "recv", recv }, { "send", send }, { "sendmsg", sendmsg }, { "epoll_ctl", epoll_ctl },
        { "epoll_wait", epoll_wait }, { "eventfd", eventfd }, { "open", open }, { "getsockopt", getsockopt },
    };
    find("dlsym");
    void *real = real_dlsym(handle, name);
    for (size_t i = 0; real && i < sizeof(replaced) / sizeof(replaced[0]); i++)
    {
        if (strcmp(name, replaced[i].name) == 0)
            return replaced[i].ours;
    }
    return real;
}
