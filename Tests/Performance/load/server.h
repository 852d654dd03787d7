/* Cost of a server: all its processes and threads, from /proc and the hardware's counters. */

#ifndef SERVER_H
#define SERVER_H

#include <stdbool.h>
#include <stdint.h>

struct server_cost {
  /* Processor time, and context switches. */
  double cpu_seconds;
  uint64_t voluntary_switches, involuntary_switches;
  /* Zero if there are no hardware counters. */
  uint64_t user_instructions, kernel_instructions, cycles;
  /* Memory: the server's own share (PSS), and the kernel's slabs (of the whole machine). */
  uint64_t pss_bytes, slab_bytes;
};

/* Process ids of the server, separated by commas. */
void server_name(const char *processes);
bool server_is_named(void);
/* True if the hardware counters are available; they are opened with the first reading. */
bool server_has_counters(void);
/* The kernel takes long to sum up the memory, so it is read only if `with_memory`. */
struct server_cost server_read(bool with_memory);

#endif
