/* Cost of a server. Processor time comes from /proc/PID/task/TID/schedstat, in nanoseconds. Threads
   that end during the measurement are not counted; none of the servers here ends any. */

#define _GNU_SOURCE
#include "server.h"

#include <dirent.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PROCESSES = 64, COUNTERS = 3, COUNTED_THREADS = 256 };

static int processes[PROCESSES], process_count;
static int counters[COUNTED_THREADS * COUNTERS], counter_count = -1;

void server_name(const char *names) {
  char *end = NULL;
  while (process_count < PROCESSES) {
    processes[process_count++] = (int)strtol(names, &end, 10);
    if (*end != ',') return;
    names = end + 1;
  }
}

bool server_is_named(void) { return process_count > 0; }

/* Number after a name at the beginning of a line. */
static uint64_t number_in(const char *path, const char *name) {
  FILE *file = fopen(path, "r");
  char line[256];
  uint64_t number = 0;
  while (file && fgets(line, sizeof line, file)) {
    if (!strncmp(line, name, strlen(name))) number = strtoull(line + strlen(name), NULL, 10);
  }
  if (file) fclose(file);
  return number;
}

static void count_thread(int thread) {
  static const struct {
    uint64_t what;
    bool skips_user, skips_kernel;
  } kinds[COUNTERS] = {{PERF_COUNT_HW_INSTRUCTIONS, false, true},
                       {PERF_COUNT_HW_INSTRUCTIONS, true, false},
                       {PERF_COUNT_HW_CPU_CYCLES, false, false}};
  for (int kind = 0; kind < COUNTERS && counter_count < COUNTED_THREADS * COUNTERS; kind++) {
    struct perf_event_attr attributes = {.type = PERF_TYPE_HARDWARE, .size = sizeof attributes,
                                         .config = kinds[kind].what, .inherit = 1,
                                         .exclude_user = kinds[kind].skips_user,
                                         .exclude_kernel = kinds[kind].skips_kernel,
                                         .exclude_hv = 1};
    int file = (int)syscall(SYS_perf_event_open, &attributes, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
    counters[counter_count++] = file;
  }
}

static void add_thread(struct server_cost *cost, int process, const char *thread) {
  char path[96];
  snprintf(path, sizeof path, "/proc/%d/task/%.16s/schedstat", process, thread);
  FILE *file = fopen(path, "r");
  double nanoseconds;
  if (file && fscanf(file, "%lf", &nanoseconds) == 1) cost->cpu_seconds += nanoseconds / 1e9;
  if (file) fclose(file);
  snprintf(path, sizeof path, "/proc/%d/task/%.16s/status", process, thread);
  cost->voluntary_switches += number_in(path, "voluntary_ctxt_switches:");
  cost->involuntary_switches += number_in(path, "nonvoluntary_ctxt_switches:");
}

static void add_counters(struct server_cost *cost) {
  for (int index = 0; index < counter_count; index++) {
    uint64_t value = 0;
    if (counters[index] < 0 || read(counters[index], &value, sizeof value) != sizeof value) {
      continue;
    }
    if (index % COUNTERS == 0) cost->user_instructions += value;
    if (index % COUNTERS == 1) cost->kernel_instructions += value;
    if (index % COUNTERS == 2) cost->cycles += value;
  }
}

bool server_has_counters(void) {
  for (int index = 0; index < counter_count; index++) {
    if (counters[index] >= 0) return true;
  }
  return false;
}

struct server_cost server_read(bool with_memory) {
  struct server_cost cost = {0};
  bool is_first = counter_count < 0;
  if (is_first) counter_count = 0;
  char path[64];
  for (int i = 0; i < process_count; i++) {
    snprintf(path, sizeof path, "/proc/%d/task", processes[i]);
    DIR *threads = opendir(path);
    struct dirent *entry;
    while (threads && (entry = readdir(threads))) {
      if (entry->d_name[0] == '.') continue;
      if (is_first) count_thread(atoi(entry->d_name));
      add_thread(&cost, processes[i], entry->d_name);
    }
    if (threads) closedir(threads);
    if (!with_memory) continue;
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", processes[i]);
    cost.pss_bytes += number_in(path, "Pss:") * 1024;
  }
  if (with_memory) cost.slab_bytes = number_in("/proc/meminfo", "Slab:") * 1024;
  add_counters(&cost);
  return cost;
}
