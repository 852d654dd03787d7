import LockstepApps
import LockstepClient
import LockstepModel
import LockstepSimulation
import LockstepStorage
import LockstepWire

/// One device in a simulated working day: its agent, and counts of its network use and wake-ups.
final class DayDevice {
  let credentials: Credentials
  private let app: any App
  /// True if the device has a connection only while it is used, or after a push.
  private let isSleeper: Bool
  private var lastUse: Int64 = 0
  private let environment: SimulationEnvironment
  private let driver: NodeDriver<Agent>
  private var replica: Replica<MemoryReplicaStore>
  private let files = MemoryChunkStore()
  private let store: MemoryReplicaStore
  private var orders: UInt64 = 0

  private(set) var status = AgentStatus()
  private(set) var edits = 0
  /// Traffic of the agent, read at the end of each hour.
  private(set) var hours: [Traffic] = []
  private(set) var idleWakes = 0
  private(set) var wakeups = 0
  private(set) var faults: [String] = []
  /// True while the device itself calls its agent: such actions do not count as wake-ups.
  private var isSubmitting = false
  private var lastEventTime: Int64 = .min
  private var save: FileSave?
  /// Chunks written by another device; the first is being read.
  private var wanted: [ChunkHash] = []

  /// Chunks being added to the home, one after the other; then the record is written.
  private struct FileSave {
    var size: Int
    var chunks: Int
    var hashes: [ChunkHash] = []
  }

  private static let file = Name(trusted: "vault.db")
  static let chunkBytes = 128 << 10
  /// Events within this interval count as one wake-up, in nanoseconds.
  private static let wake = Span.seconds(1)
  /// Time after a person's last act for which a device that sleeps otherwise stays connected.
  private static let inUse = Span.seconds(30)

  init(
    _ credentials: Credentials, app: any App, way: BudgetWay, relay: VirtualRelay,
    index: Int, random: SeededRandom
  ) throws(StorageError) {
    self.app = app
    self.credentials = credentials
    isSleeper = way == .wake
    environment = relay.environment
    store = MemoryReplicaStore()
    try store.write([
      .setIdentity(
        HomeIdentity(relay: "http://relay:1", credentials: credentials, deviceName: "device"))
    ])
    replica = Replica(store: store, apps: [app])
    var configuration = AgentConfiguration()
    if case .transport(let transport) = way { configuration.transports = [transport] }
    configuration.firstNumber = UInt64(index) << 32
    let clock = relay.clock
    driver = NodeDriver(
      name: "device \(index)", environment: environment, clock: { clock },
      node: Agent(
        configuration, random: random, at: clock.moment(at: relay.environment.timeline.now)))
    driver.onJob = { [unowned self] id, job in
      environment.timeline.after(Span.microseconds(100)) { [unowned self] in
        driver.handle(.finished(id, AgentWork.perform(job, on: &replica, files: files)))
      }
    }
    driver.onReport = { [unowned self] in handleReport($0) }
    driver.onRest = { [unowned self] in countWakeup() }
  }

  func begin() {
    driver.begin()
    sleepAfterUse()
  }

  /// True if the device has everything, as far as it knows.
  var isInSync: Bool {
    switch status.state {
    case .inSync: true
    case .asleep: isSleeper
    case .starting, .syncing, .needsPerson, .offline, .failed, .stopped: false
    }
  }

  private var isAsleep: Bool { if case .asleep = status.state { true } else { false } }

  /// Handles a push: connects, and sleeps again as soon as the device has everything.
  func wake() {
    driver.handle(.ordered(.wake))
    driver.handle(.ordered(.sleep))
  }

  func records() throws(StorageError) -> [Record] {
    try store.allRecords().filter { !$0.isDeleted }
  }

  func perform(_ what: DayScript.What) {
    if isSleeper { submit { _ in .wake } }
    sleepAfterUse()
    switch what {
    case .order(let order): submit { .perform($0, app: app.name, order) }
    case .saveFile(let size, let chunks):
      save = FileSave(size: size, chunks: chunks)
      addChunk()
    }
  }

  func endHour() { submit { .readStatus($0) } }

  private func submit(_ make: (OrderID) -> AgentOrder) {
    orders += 1
    isSubmitting = true
    driver.handle(.ordered(make(OrderID(rawValue: orders))))
    isSubmitting = false
  }

  private func sleepAfterUse() {
    guard isSleeper else { return }
    lastUse = environment.timeline.now
    environment.timeline.after(DayDevice.inUse) { [unowned self] in
      guard environment.timeline.now - lastUse >= DayDevice.inUse else { return }
      submit { _ in .sleep }
    }
  }

  private func countWakeup() {
    let now = environment.timeline.now
    let isIdle = DayScript.idle.contains(now / Span.milliseconds(1))
    let isWakeup = lastEventTime == .min || now - lastEventTime > DayDevice.wake
    if !isSubmitting, isWakeup {
      wakeups += 1
      if isIdle { idleWakes += 1 }
    }
    lastEventTime = now
  }

  private func handleReport(_ report: AgentReport) {
    switch report {
    case .ready(let status), .status(let status), .synced(_, let status):
      let wasAsleep = isAsleep
      self.status = status
      // It has connected by itself, for a change that time made.
      if wasAsleep, !isAsleep { sleepAfterUse() }
    case .statusRead(_, let status):
      self.status = status
      hours.append(status.traffic)
    case .answered(_, .success), .edited(_, .success): edits += 1
    // An order that the app refuses in its current state: people give such orders too.
    case .answered(_, .failure(.refused)): break
    case .answered(_, .failure(let failure)), .edited(_, .failure(let failure)):
      faults.append("\(failure)")
    case .chunkAdded(_, let result): recordChunk(result)
    case .changed(let records): readChunks(of: records)
    case .chunkRead(_, .success(let portion)): if portion.isLast { readNextChunk(afterOne: true) }
    case .chunkRead(_, .failure(let failure)):
      faults.append("\(failure)")
      readNextChunk(afterOne: true)
    case .storeFailed(let error): faults.append("\(error)")
    case .transacted, .joined, .moved, .stateRead, .switched, .read, .chunkProgress, .stopped,
      .milestone:
      break
    }
  }

  // MARK: Files

  private func addChunk() {
    // Every chunk is different.
    let mark = Int(environment.timeline.now / 1_000)
    let bytes = (0..<DayDevice.chunkBytes).map {
      UInt8(truncatingIfNeeded: ($0 &* 131) ^ (mark >> ($0 & 31)))
    }
    submit { .addChunk($0, bytes) }
  }

  private func recordChunk(_ result: Result<ChunkHash, ChunkFailure>) {
    switch result {
    case .failure(let failure): faults.append("\(failure)")
    case .success(let hash):
      save?.hashes.append(hash)
      guard let save else { return }
      // Not within the agent's current action.
      environment.timeline.after(0) { [unowned self] in
        if save.hashes.count < save.chunks { addChunk() } else { writeRecord(save) }
      }
    }
  }

  private func writeRecord(_ save: FileSave) {
    let (seal, new) = (VaultSeal.plain, save.hashes)
    let key = RecordKey(zone: VaultApp.zone, name: DayDevice.file)
    let request = EditRequest(key: key, type: VaultApp.fileType) { context throws(EditRefusal) in
      let before = context.current.flatMap { record in
        record.value.flatMap { seal.contents(of: $0, record: DayDevice.file) }
      }
      // The new chunks come first.
      let kept = before.map { Array($0.chunks.dropFirst(new.count)) } ?? []
      let manifest = VaultManifest(
        file: DayDevice.file.text, size: save.size, sha256: new[0], chunks: new + kept)
      return seal.fields(of: manifest, chunks: manifest.chunks)
    }
    submit { .edit($0, request) }
  }

  /// Reads chunks of another device immediately, as a device that keeps the file would; chunks
  /// already in the home cost nothing.
  private func readChunks(of records: [Record]) {
    let isReading = !wanted.isEmpty
    wanted += records.filter { $0.type == VaultApp.fileType && $0.tag > 0 }.flatMap(\.chunks)
    if !isReading { readNextChunk(afterOne: false) }
  }

  private func readNextChunk(afterOne: Bool) {
    if afterOne { wanted.removeFirst() }
    guard let hash = wanted.first else { return }
    environment.timeline.after(0) { [unowned self] in
      submit { .readChunk($0, hash, offset: 0, count: .max) }
    }
  }
}
