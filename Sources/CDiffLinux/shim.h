// What the C library's own module hides from Swift: the epoll family, malloc's settings, and GNU extensions (declared
// here: defining _GNU_SOURCE would give the types shared with other modules a second layout).
#pragma once
#include <linux/filter.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
int sched_getaffinity(int thread, size_t size, void *mask);
int pthread_setname_np(pthread_t thread, const char *name);

// sched_setattr(2) for the calling thread, which glibc lacks before 2.41: an ordinary thread, at this nice value, with
// this time slice. Linux heeds the slice from 6.12 on.
static inline int set_thread_share(int nice, unsigned long slice_nanoseconds) {
    struct {
        unsigned size, policy;
        unsigned long long flags;
        int nice;
        unsigned priority;
        unsigned long long runtime, deadline, period;
    } attributes = {.size = 48, .nice = nice, .runtime = slice_nanoseconds};
    return (int)syscall(SYS_sched_setattr, 0, &attributes, 0);
}

// gettid(2), as /proc calls the thread.
static inline int current_thread(void) { return (int)syscall(SYS_gettid); }
