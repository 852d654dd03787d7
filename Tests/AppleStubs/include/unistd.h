// For the headers of zlib.
#pragma once
#include <sys/types.h>
