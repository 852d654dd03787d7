/* Results, as one JSON object on one line. Figures that were not measured are null. */

#include <stdio.h>

#include "load.h"

static bool is_first = true;

static void name(const char *member) {
  printf("%s\"%s\":", is_first ? "" : ",", member);
  is_first = false;
}

static void whole(const char *member, uint64_t value) {
  name(member);
  printf("%lu", (unsigned long)value);
}

static void number(const char *member, double value) {
  name(member);
  printf("%.9g", value);
}

static void whole_or_null(const char *member, bool is_there, uint64_t value) {
  name(member);
  if (is_there) printf("%lu", (unsigned long)value);
  else printf("null");
}

static void object(const char *member) {
  name(member);
  printf("{");
  is_first = true;
}

static void end_object(void) {
  printf("}");
  is_first = false;
}

static void report_latency(void) {
  if (!load.latency.count) {
    name("latencyMicroseconds");
    printf("null");
    return;
  }
  static const struct {
    const char *name;
    double share;
  } quantiles[] = {{"p50", .5}, {"p90", .9}, {"p99", .99}, {"p999", .999}};
  object("latencyMicroseconds");
  for (unsigned i = 0; i < sizeof quantiles / sizeof *quantiles; i++) {
    number(quantiles[i].name, histogram_quantile(&load.latency, quantiles[i].share) / 1e3);
  }
  number("largest", (double)load.latency.largest / 1e3);
  whole("count", load.latency.count);
  end_object();
}

static void report_server(void) {
  if (!server_is_named()) {
    name("server");
    printf("null");
    return;
  }
  const struct server_cost *from = &load.from, *until = &load.until;
  bool counts = server_has_counters();
  object("server");
  number("cpuSeconds", until->cpu_seconds - from->cpu_seconds);
  whole("voluntarySwitches", until->voluntary_switches - from->voluntary_switches);
  whole("involuntarySwitches", until->involuntary_switches - from->involuntary_switches);
  whole_or_null("userInstructions", counts, until->user_instructions - from->user_instructions);
  whole_or_null("kernelInstructions", counts,
                until->kernel_instructions - from->kernel_instructions);
  whole_or_null("cycles", counts, until->cycles - from->cycles);
  number("idlePssBytes", (double)load.full.pss_bytes - (double)load.empty.pss_bytes);
  number("idleSlabBytes", (double)load.full.slab_bytes - (double)load.empty.slab_bytes);
  end_object();
}

void report(void) {
  const struct options *options = &load.options;
  double seconds = (double)(load.measured_until - load.measured_from) / 1e9;
  printf("{");
  number("seconds", seconds);
  whole("connections", load.ready);
  whole("failed", load.failed);
  whole("broken", load.broken);
  if (options->mode != MODE_STORM) {
    whole("published", load.measured_published);
    whole("acknowledged", load.measured_acknowledged);
    whole("delivered", load.measured_delivered);
    whole("lost", delivery_lost());
    whole("unacknowledged",
          options->dialect->acknowledges ? load.published - load.acknowledged : 0);
    whole("duplicates", load.duplicates);
    whole("outOfOrder", load.out_of_order);
    whole("misrouted", load.misrouted);
    whole("hints", load.hints);
    whole("gaps", load.gaps);
    whole("refusals", load.refusals + load.failed_requests);
    report_latency();
  }
  report_server();
  /* Near 1, the generator is the bottleneck. */
  number("generatorBusy", seconds > 0 ? (load.own_until - load.own_from) / seconds : 0);
  printf("}\n");
}
