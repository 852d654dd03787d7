import Glibc
import LockstepClient
import LockstepEventLoop
import LockstepModel
import LockstepStorage
import LockstepStorageSQLite
import LockstepTools
import LockstepWire

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
    let owner = try call.join(code: nil, deviceName: "owner")
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
    guard let owner else { preconditionFailure("a load before there is an account") }
    switch plan.load {
    case .firstSync:
      let code = try call.pairingOffer(token: owner.token).code
      let credentials = try call.join(code: code, deviceName: "device \(number)")
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
    try inStore { (store) throws(StorageError) in
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
      else { throw CommandFailure("the agent ended: \(child.said(until: "\n"))") }
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
    var held = 0
    try inStore { (store) throws(StorageError) in held = try store.allRecords().count }
    guard held == records else {
      throw CommandFailure("the device has \(held) records after its first sync, not \(records)")
    }
  }

  private func inStore(
    _ body: (SQLiteReplicaStore) throws(StorageError) -> Void
  ) throws(CommandFailure) {
    do throws(StorageError) {
      try body(SQLiteReplicaStore(home: home.path))
    } catch {
      throw CommandFailure("\(error)")
    }
  }
}
