import { samplesOf } from "./prometheusText.js";

/** Values that the page shows of a relay's `/metrics`; null if this relay does not report the
 * value. */

const counters = {
  accepted: "lockstep_connections_accepted_total",
  commits: "lockstep_commits_total",
  saves: "lockstep_records_saved_total",
  deliveries: "lockstep_pushes_total",
  hints: "lockstep_hints_total",
  requests: "lockstep_requests_total",
  messages: "lockstep_messages_total",
  throttles: "lockstep_throttles_total",
  slowDevices: "lockstep_slow_consumers_total",
  storeFailures: "lockstep_store_failures_total",
  processorSeconds: "process_cpu_seconds_total",
};

const gauges = {
  startedAt: "process_start_time_seconds",
  accounts: "lockstep_accounts",
  connectedAccounts: "lockstep_connected_accounts",
  connectedDevices: "lockstep_connected_devices",
  storeRequests: "lockstep_store_requests_waiting",
  outboundBytes: "lockstep_outbound_queue_bytes",
  bodyBytes: "lockstep_body_bytes",
  uploads: "lockstep_uploads",
  downloads: "lockstep_downloads",
  storeBytes: "lockstep_store_bytes",
  logBytes: "lockstep_log_bytes",
  residentBytes: "process_resident_memory_bytes",
  openDescriptors: "process_open_fds",
  mostDescriptors: "process_max_fds",
};

const histograms = {
  lag: "lockstep_notify_lag_seconds",
  commit: "lockstep_commit_duration_seconds",
  sync: "lockstep_fsync_duration_seconds",
};

/**
 * Throws an error if the text is not metrics, or not those of a relay.
 *
 * @param {string} text
 */
export function figuresOf(text) {
  const samples = samplesOf(text);
  const version = samples.get("lockstep_build_info")?.[0]?.labels.version;
  if (version === undefined) throw new Error("these are not the metrics of a Lockstep relay");
  const number = (name) => samples.get(name)?.[0]?.value ?? null;
  const named = (names, read) =>
    Object.fromEntries(Object.entries(names).map(([key, name]) => [key, read(name)]));
  return {
    version,
    ...named(gauges, number),
    counters: named(counters, number),
    histograms: named(histograms, (name) => histogramOf(samples, name)),
    connections: byLabel(samples, "lockstep_connections", "transport"),
    rejected: byLabel(samples, "lockstep_rejected_total", "reason"),
  };
}

/** Returns the values of a metric by its label, in the order of the text; null if it is not
 * reported. */
function byLabel(samples, name, label) {
  const values = samples.get(name);
  return values ? new Map(values.map((it) => [it.labels[label], it.value])) : null;
}

/**
 * `bounds` ascend and end with Infinity; `cumulative` has the number of values up to each.
 *
 * @returns {{bounds: number[], cumulative: number[], sum: number} | null}
 */
function histogramOf(samples, name) {
  const buckets = samples.get(`${name}_bucket`);
  const sum = samples.get(`${name}_sum`)?.[0]?.value;
  if (!buckets || sum === undefined) return null;
  const bounds = buckets.map((it) => (it.labels.le === "+Inf" ? Infinity : Number(it.labels.le)));
  const rises = bounds.every((bound, index) => index === 0 || bound > bounds[index - 1]);
  if (!rises || bounds.at(-1) !== Infinity) throw new Error(`the buckets of ${name} do not rise`);
  return { bounds, cumulative: buckets.map((it) => it.value), sum };
}
