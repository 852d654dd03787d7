/* Durations in buckets 1.6 % wide: 64 for each power of two; at the low end, one per
   nanosecond. */

#include "histogram.h"

void histogram_add(struct histogram *histogram, uint64_t nanoseconds) {
  unsigned bucket = (unsigned)nanoseconds;
  if (nanoseconds >= 64) {
    unsigned power = 63 - (unsigned)__builtin_clzll(nanoseconds);
    bucket = (power - 5) * 64 + ((nanoseconds >> (power - 6)) & 63);
  }
  histogram->buckets[bucket]++;
  histogram->count++;
  if (nanoseconds > histogram->largest) histogram->largest = nanoseconds;
}

double histogram_quantile(const struct histogram *histogram, double share) {
  uint64_t wanted = (uint64_t)(share * (double)histogram->count), passed = 0;
  for (unsigned bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
    passed += histogram->buckets[bucket];
    if (passed <= wanted) continue;
    if (bucket < 64) return bucket;
    /* Middle of the bucket. */
    unsigned power = bucket / 64 + 5;
    return (double)((uint64_t)(64 + bucket % 64) << (power - 6)) * (1 + 1.0 / 128);
  }
  return (double)histogram->largest;
}
