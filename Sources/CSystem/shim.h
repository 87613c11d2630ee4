// What Glibc's own module map hides from Swift: the epoll family and accept4 (a GNU extension, so declared here: defining _GNU_SOURCE
// would give the types shared with other modules a second layout).
#pragma once
#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>

int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
