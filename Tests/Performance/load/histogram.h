/* Durations, in buckets 1.6 % wide, and their quantiles. */

#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_BUCKETS = 64 * 64 };

struct histogram {
  uint64_t buckets[HISTOGRAM_BUCKETS];
  uint64_t count, largest;
};

void histogram_add(struct histogram *histogram, uint64_t nanoseconds);
/* In nanoseconds; 0 if the histogram is empty. */
double histogram_quantile(const struct histogram *histogram, double share);

#endif
