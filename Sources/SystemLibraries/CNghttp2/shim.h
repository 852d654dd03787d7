// HTTP/2 by nghttp2, which does no I/O itself.
#pragma once
#include <nghttp2/nghttp2.h>
