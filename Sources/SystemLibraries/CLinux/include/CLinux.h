// What Swift's Glibc module lacks: epoll, eventfd, accept4 and a few more.
// _GNU_SOURCE stays out of this header: it would change the types of the socket calls.
#pragma once
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
