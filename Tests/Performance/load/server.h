/* What a server costs: of all its processes and threads, from /proc and the hardware's counters. */

#ifndef SERVER_H
#define SERVER_H

#include <stdbool.h>
#include <stdint.h>

struct server_cost {
  /* Time on a processor, and how often it was taken off one. */
  double cpu_seconds;
  uint64_t voluntary_switches, involuntary_switches;
  /* Zero where there are no counters. */
  uint64_t user_instructions, kernel_instructions, cycles;
  /* Memory: its own share, and the kernel's slabs (of the whole machine). */
  uint64_t pss_bytes, slab_bytes;
};

/* Its processes, by commas. */
void server_name(const char *processes);
bool server_is_named(void);
/* Whether the hardware counts for this program; opened with the first reading. */
bool server_has_counters(void);
/* Memory takes the kernel long to add up, so it is read only where it is wanted. */
struct server_cost server_read(bool with_memory);

#endif
