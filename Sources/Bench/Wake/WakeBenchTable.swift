import LockstepJSON
import LockstepTerminal

/// Result of a wake bench, as figures and as text.
package struct WakeBenchTable: Sendable {
  package var plan: WakePlan
  /// Runs at the plan's rate.
  package var woken = WakeRun()
  package var connected = WakeRun()
  /// Runs as fast as the relay saves, and the processor time of the relay in nanoseconds for each:
  /// with wakes, and without.
  package var flood = WakeRun()
  package var floodProcessor: Int64?
  package var quiet = WakeRun()
  package var quietProcessor: Int64?
  /// Memory of the relay in bytes: with all devices asleep, and the peak of the flood.
  package var memoryBefore: Int64?
  package var memoryPeak: Int64?

  package init(plan: WakePlan) { self.plan = plan }

  /// Maximum 99th percentile from a change to the woken device that has it, in nanoseconds.
  package static let latencyMost: Int64 = 1_000_000_000

  package var isMet: Bool {
    let isOnce = woken.pushes == plan.devices && flood.pushes == plan.devices
    return isOnce && (woken.latency.quantile(0.99) ?? .max) < Self.latencyMost
  }

  package var wakesPerSecond: Int64? {
    flood.nanoseconds > 0
      ? Int64(Double(flood.pushes) * 1e9 / Double(flood.nanoseconds)) : nil
  }

  /// Processor time of the relay for a wake and the fetch that answers it, in nanoseconds.
  package var processorPerWake: Int64? {
    guard let floodProcessor, let quietProcessor, flood.pushes > 0 else { return nil }
    return (floodProcessor - quietProcessor) / Int64(flood.pushes)
  }

  package var json: JSONValue {
    .object([
      JSONMember("devices", .whole(Int64(plan.devices))),
      JSONMember("rate", .whole(Int64(plan.rate))),
      JSONMember("wakeP50Ms", .milliseconds(woken.latency.quantile(0.5))),
      JSONMember("wakeP99Ms", .milliseconds(woken.latency.quantile(0.99))),
      JSONMember("wakeMaxMs", .milliseconds(woken.latency.quantile(1))),
      JSONMember("socketP50Ms", .milliseconds(connected.latency.quantile(0.5))),
      JSONMember("socketP99Ms", .milliseconds(connected.latency.quantile(0.99))),
      JSONMember("pushes", .whole(Int64(woken.pushes))),
      JSONMember("floodPushes", .whole(Int64(flood.pushes))),
      JSONMember("wakesPerSecond", .whole(wakesPerSecond)),
      JSONMember("floodLastMs", .milliseconds(flood.nanoseconds)),
      JSONMember("microsecondsPerWake", .decimal(thousandths: processorPerWake)),
      JSONMember("memoryBeforeBytes", .whole(memoryBefore)),
      JSONMember("memoryPeakBytes", .whole(memoryPeak)),
      JSONMember("isMet", .bool(isMet)),
    ])
  }

  package var text: String {
    var lines = [
      "\(plan.devices) sleeping devices, one change for each, \(plan.rate) changes a second", "",
      Figure.row("", ["by wake", "by socket"]),
    ]
    for (label, share) in [("p50", 0.5), ("p99", 0.99), ("max", 1)] {
      let judged = share == 0.99 ? (isMet ? "   < 1 s met" : "   < 1 s MISSED") : ""
      lines.append(
        Figure.row(
          "change to device, \(label)",
          [
            Figure.milliseconds(woken.latency.quantile(share)),
            Figure.milliseconds(connected.latency.quantile(share)),
          ]) + judged)
    }
    let rate = wakesPerSecond.map { "\($0)" } ?? "-"
    let cost = processorPerWake.map { Figure.decimal(thousandths: $0) + " µs" } ?? "-"
    lines += [
      "",
      "all at once:",
      Figure.row("wakes a second", [rate]),
      Figure.row("the last device after", [Figure.milliseconds(flood.nanoseconds)]),
      Figure.row("relay's processor time a wake", [cost]),
      Figure.row("relay's memory before", [Figure.mebibytes(memoryBefore)]),
      Figure.row("relay's peak", [Figure.mebibytes(memoryPeak)]),
    ]
    for (name, run) in [("measured", woken), ("all at once", flood)]
    where run.pushes != plan.devices {
      lines.append("\(name): \(run.pushes) pushes for \(plan.devices) devices")
    }
    return lines.joined(separator: "\n")
  }
}
