// For the headers of zlib.
#pragma once
#include <stddef.h>
typedef __INT64_TYPE__ off_t;
typedef long ssize_t;
