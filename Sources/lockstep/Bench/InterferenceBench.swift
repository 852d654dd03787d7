import Glibc
import LockstepClient
import LockstepEventLoop
import LockstepModel
import LockstepStorage
import LockstepTools
import LockstepWire

/// Measures whether a large load on one account delays the saves of another. Alternates quiet
/// windows and windows under load, on a relay of its own.
struct InterferenceBench {
  let plan: InterferencePlan
  let progress: Progress
  private let waiting: BenchWait

  /// Pause in milliseconds between windows, for the after-effects of a load.
  private static let restMilliseconds: Int64 = 500
  /// Bytes in each of the other account's records, besides its number.
  private static let smallBytes = 100

  init(plan: InterferencePlan, progress: Progress) throws(CommandFailure) {
    self.plan = plan
    self.progress = progress
    waiting = try BenchWait()
  }

  func run() throws(CommandFailure) -> InterferenceTable {
    defer { progress.clear() }
    progress.show("starting a relay on a temporary store")
    let relay = try ChildRelay()
    defer { relay.stop() }
    var loads = InterferenceLoads(
      plan: plan, relay: relay.address, waiting: waiting, progress: progress)
    let filled = try loads.fill()
    let saver = try RelayCall(relay: relay.address).join(code: nil, deviceName: "saver")
    let saving = try LoadThread(
      [
        LoadDevice(
          token: saver.token, task: .save(rate: plan.rate, recordBytes: Self.smallBytes))
      ], to: relay.address, waiting)
    try saving.wait(for: "the saver's sign-in") { report in
      if case .ready = report { () } else { nil }
    }
    var pairs: [InterferencePair] = []
    for number in 1...plan.runs {
      pairs.append(try pair(number, of: relay, saving, &loads))
    }
    try saving.stop()
    var table = InterferenceTable(plan: plan, pairs: pairs)
    table.fillRecordsASecond = filled
    table.logBytes = Self.fileBytes(relay.store + "/relay/zones.sqlite-wal")
    return table
  }

  private func pair(
    _ number: Int, of relay: ChildRelay, _ saving: LoadThread<LoadNode>,
    _ loads: inout InterferenceLoads
  ) throws(CommandFailure) -> InterferencePair {
    progress.show("run \(number) of \(plan.runs): a quiet window of \(plan.seconds) s")
    try waiting.pause(milliseconds: Self.restMilliseconds)
    saving.order(.openWindow)
    try waiting.pause(milliseconds: Int64(plan.seconds) * 1_000)
    let quiet = try closeWindow(of: saving)
    progress.show("run \(number) of \(plan.runs): under load")
    let load = try loads.prepare(number)
    try waiting.pause(milliseconds: Self.restMilliseconds)
    let before = ProcessMemory.resident(relay.process)
    ProcessMemory.forgetPeak(relay.process)
    saving.order(.openWindow)
    let done = try load.run()
    let busy = try closeWindow(of: saving)
    let peak = ProcessMemory.peak(relay.process)
    try load.finish()
    var pair = InterferencePair(
      quiet: quiet, busy: busy, records: done.records, nanoseconds: done.nanoseconds)
    pair.devices = done.devices
    pair.putOff = done.putOff
    pair.devicePeak = load.devicePeak
    (pair.relayBefore, pair.relayPeak) = (before, peak)
    return pair
  }

  private func closeWindow(of saving: LoadThread<LoadNode>) throws(CommandFailure)
    -> LatencyHistogram
  {
    saving.order(.closeWindow)
    return try saving.wait(for: "the answers of a window") { report in
      if case .window(let histogram) = report { histogram } else { nil }
    }
  }

  private static func fileBytes(_ path: String) -> Int64? {
    var facts = stat()
    return stat(path, &facts) == 0 ? Int64(facts.st_size) : nil
  }
}
