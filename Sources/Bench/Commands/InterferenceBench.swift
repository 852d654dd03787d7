import Glibc
import Lockstep
import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepHome
import LockstepModel
import LockstepStorage
import LockstepStorageSQLite
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
      .credentials
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
    ProcessMemory.resetPeak(relay.process)
    saving.order(.openWindow)
    let done = try load.run()
    let busy = try closeWindow(of: saving)
    let peak = ProcessMemory.peak(relay.process)
    try load.finish()
    var pair = InterferencePair(
      quiet: quiet, busy: busy, records: done.records, nanoseconds: done.nanoseconds)
    pair.devices = done.devices
    pair.deferredRequests = done.deferredRequests
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

/// Loads of an interference bench: the data on the relay beforehand, and one load per run.
struct InterferenceLoads {
  let plan: InterferencePlan
  let relay: RelayAddress
  let waiting: BenchWait
  let progress: Progress
  /// First device of the large account.
  private var owner: Credentials?
  /// Devices that reconnect, each with its change token.
  private var returning: [LoadDevice] = []

  init(plan: InterferencePlan, relay: RelayAddress, waiting: BenchWait, progress: Progress) {
    self.plan = plan
    self.relay = relay
    self.waiting = waiting
    self.progress = progress
  }

  private var call: RelayCall { RelayCall(relay: relay) }

  /// Creates the accounts and their records. Returns the upload rate in records per second if there
  /// is one account.
  mutating func fill() throws(CommandFailure) -> Int64? {
    let owner = try call.join(code: nil, deviceName: "owner").credentials
    self.owner = owner
    switch plan.load {
    case .burst: return nil
    case .firstSync, .rawFirstSync:
      progress.show("filling an account with \(plan.records) records")
      let done = try run([
        LoadDevice(token: owner.token, task: upload(plan.records, from: 0))
      ])
      return Int64(done.records) * 1_000_000_000 / max(1, done.nanoseconds)
    case .backlog:
      try fillBacklog()
      return nil
    }
  }

  private mutating func fillBacklog() throws(CommandFailure) {
    var uploads: [LoadDevice] = []
    for account in 0..<plan.backlogAccounts {
      progress.show("joining devices: \(returning.count) of \(plan.devices)")
      let first = account * InterferencePlan.devicesPerAccount
      let count = min(InterferencePlan.devicesPerAccount, plan.devices - first)
      let members = try call.account(devices: count)
      let since = try call.newestToken(members[0].token)
      returning += members.map { LoadDevice(token: $0.token, task: .catchUp(since: since)) }
      uploads.append(
        LoadDevice(token: members[0].token, task: upload(plan.behind, from: 0)))
    }
    progress.show("filling \(uploads.count) accounts with \(plan.behind) records each")
    _ = try run(uploads)
  }

  private func upload(_ records: Int, from first: Int) -> LoadTask {
    .upload(first: first, records: records, recordBytes: plan.recordBytes)
  }

  private func run(_ devices: [LoadDevice]) throws(CommandFailure) -> LoadResult {
    let load = RawLoad(devices, to: relay, waiting)
    let result = try load.run()
    try load.finish()
    return result
  }

  /// Returns the load of one run, ready to start.
  mutating func prepare(_ number: Int) throws(CommandFailure) -> any InterferenceLoad {
    guard let owner else { preconditionFailure("prepare was called before fill") }
    switch plan.load {
    case .firstSync:
      let code = try call.pairingOffer(token: owner.token).code
      let credentials = try call.join(code: code, deviceName: "device \(number)").credentials
      return try AgentLoad(credentials, of: relay, records: plan.records, waiting)
    case .rawFirstSync:
      return RawLoad([LoadDevice(token: owner.token, task: .snapshot)], to: relay, waiting)
    case .burst:
      let task = upload(plan.records, from: number * plan.records)
      return RawLoad([LoadDevice(token: owner.token, task: task)], to: relay, waiting)
    case .backlog: return RawLoad(returning, to: relay, waiting)
    }
  }
}

/// One load on a relay, from its first byte to its last.
protocol InterferenceLoad: AnyObject {
  /// Peak memory in bytes; nil if the devices have no process of their own.
  var devicePeak: Int64? { get }
  func run() throws(CommandFailure) -> LoadResult
  /// Cleans up, and checks that nothing is missing.
  func finish() throws(CommandFailure)
}

/// Protocol clients without an agent, in this process.
final class RawLoad: InterferenceLoad {
  private let devices: [LoadDevice]
  private let relay: RelayAddress
  private let waiting: BenchWait
  private var thread: LoadThread<LoadNode>?
  let devicePeak: Int64? = nil

  init(_ devices: [LoadDevice], to relay: RelayAddress, _ waiting: BenchWait) {
    self.devices = devices
    self.relay = relay
    self.waiting = waiting
  }

  func run() throws(CommandFailure) -> LoadResult {
    let thread = try LoadThread(devices, to: relay, waiting)
    self.thread = thread
    return try thread.wait(for: "the load") { report in
      if case .done(let result) = report { result } else { nil }
    }
  }

  func finish() throws(CommandFailure) { try thread?.stop() }
}

/// A real agent in a process of its own, with an empty home on disk.
final class AgentLoad: InterferenceLoad {
  private let scratch: ScratchFolder
  private let home: HomeFolder
  private let records: Int
  private let waiting: BenchWait
  private(set) var devicePeak: Int64?

  init(
    _ credentials: Credentials, of relay: RelayAddress, records: Int, _ waiting: BenchWait
  ) throws(CommandFailure) {
    self.records = records
    self.waiting = waiting
    scratch = try ScratchFolder()
    home = HomeFolder(path: scratch.path)
    try withStore { (store) throws(StorageError) in
      try store.write([
        .setIdentity(
          HomeIdentity(relay: relay.url, credentials: credentials, deviceName: "device"))
      ])
    }
  }

  /// Measures from the start of the process until it reports that it is in sync.
  func run() throws(CommandFailure) -> LoadResult {
    let begun = SystemClock.instant()
    let child = try ChildProcess([
      "agent", "run", "--home", home.path, "--log-level", "error",
    ])
    defer { child.stop() }
    let connection = try waiting.wait(for: "the agent's start") {
      HomeConnection(socket: home.socket)
    }
    try waiting.wait(for: "the first sync") { () throws(CommandFailure) -> Void? in
      guard connection.send(.status), case .line(let line) = connection.next(milliseconds: 10_000),
        case .success(let value) = HomeReply(line)
      else { throw CommandFailure("the agent ended: \(child.readOutput(until: "\n"))") }
      let status = HomeStatus(json: value)
      if status.isFailed { throw CommandFailure(status.line(wall: 0)) }
      return status.isInSync ? () : nil
    }
    var result = LoadResult()
    result.records = records
    result.nanoseconds = SystemClock.instant().nanoseconds - begun.nanoseconds
    result.devices.record(nanoseconds: result.nanoseconds)
    devicePeak = ProcessMemory.peak(child.process)
    return result
  }

  func finish() throws(CommandFailure) {
    defer { scratch.remove() }
    var count = 0
    try withStore { (store) throws(StorageError) in count = try store.allRecords().count }
    guard count == records else {
      throw CommandFailure("the device has \(count) records after its first sync, not \(records)")
    }
  }

  private func withStore(
    _ body: (SQLiteReplicaStore) throws(StorageError) -> Void
  ) throws(CommandFailure) {
    try CommandFailure.wrap { () throws(StorageError) in
      try body(SQLiteReplicaStore(home: home.path))
    }
  }
}
