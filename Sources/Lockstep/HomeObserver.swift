import LockstepClient
import LockstepJSON
import LockstepModel
import LockstepStorage
import LockstepStorageSQLite
import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

#if os(Linux)
  import LockstepEventLoop
#endif

/// Changes of a home that another process holds. While there is a holder, it reports them on the
/// home's socket; in between, the store's files show that something has changed.
final class HomeObserver: RecordSource {
  private struct State {
    var listeners: [UInt64: Handler] = [:]
    var nextNumber: UInt64 = 0
    /// Zones that are observed; one is added at its first use.
    var zones: [Name] = []
    var hasStarted = false
    var hasEnded = false
  }

  /// Interval at which the files are looked at, and a holder is looked for, in milliseconds.
  private static let pauseMilliseconds: Int32 = 250

  private let home: HomeFolder
  private let state = Mutex(State())
  /// The live records of the zones, as they were reported last. Locked while handlers are called,
  /// so that they get changes in order; a handler may call what only locks `state`.
  private let known = Mutex<[RecordKey: Record]>([:])

  init(_ home: HomeFolder) { self.home = home }

  /// Observes a zone from now on.
  func add(_ zone: Name) {
    known.withLock { known in
      let isNew = state.withLock { state in
        guard !state.hasEnded, !state.zones.contains(zone) else { return false }
        state.zones.append(zone)
        return true
      }
      guard isNew else { return }
      for (key, record) in liveRecords([zone]) ?? [:] { known[key] = record }
      state.withLock { start(&$0) }
    }
  }

  func listen(_ handler: @escaping Handler) -> UInt64 {
    let number = state.withLock { state -> UInt64 in
      guard !state.hasEnded else { return 0 }
      state.nextNumber += 1
      state.listeners[state.nextNumber] = handler
      return state.nextNumber
    }
    if number == 0 { handler(.stopped) }
    return number
  }

  func stopListening(_ number: UInt64) {
    _ = state.withLock { $0.listeners.removeValue(forKey: number) }
  }

  func read(
    zone: Name, type: Name, handle: @escaping @Sendable ([Record]) -> Void
  ) async throws(LockstepError) {
    do {
      try await Lockstep.onThread { [self] in
        add(zone)
        // No change is reported in between.
        try known.withLock { _ in
          handle(
            try HomeReading.perform(home) { store throws(StorageError) in
              try store.records(zone: zone, type: type)
            })
        }
      }
    } catch {
      throw (error as? LockstepError) ?? .storage(reason: "\(error)")
    }
  }

  func stop() {
    let handlers = state.withLock { state in
      state.hasEnded = true
      defer { state.listeners = [:] }
      return Array(state.listeners.values)
    }
    for handler in handlers { handler(.stopped) }
  }

  // MARK: observing

  /// Starts the thread that looks for changes.
  private func start(_ state: inout State) {
    guard !state.hasStarted else { return }
    state.hasStarted = true
    do throws(SystemFault) {
      try DevicePlatform.startThread("lockstep reader") { [self] in
        while !hasEnded { observe() }
      }
    } catch {
      state.hasEnded = true
    }
  }

  private var zones: [Name] { state.withLock { $0.zones } }

  private var hasEnded: Bool { state.withLock { $0.hasEnded } }

  /// Observes the holder as long as there is one, or else looks at the files once.
  private func observe() {
    var seen = FileState(of: home)
    while !hasEnded {
      if let connection = HomeConnection(socket: home.socket) {
        follow(connection)
        seen = FileState(of: home)
        reportAll()
      }
      usleep(UInt32(Self.pauseMilliseconds) * 1_000)
      let now = FileState(of: home)
      if now != seen { reportAll() }
      seen = now
    }
  }

  /// Reports the changes that the holder reports, until it ends.
  private func follow(_ connection: HomeConnection) {
    var watched = 0
    while !hasEnded {
      for (index, zone) in zones.enumerated().dropFirst(watched) {
        let request: JSONValue = [
          "id": .number(JSONNumber(Int64(index))), "do": "watch", "zone": .string(zone.text),
        ]
        guard connection.send(request) else { return }
        watched += 1
      }
      switch connection.next(milliseconds: Self.pauseMilliseconds) {
      case .line(let line): handle(line)
      case .timeout, .other: continue
      case .closed: return
      }
    }
  }

  private func handle(_ line: JSONValue) {
    let zones = zones
    guard let index = line["id"]?.int64, zones.indices.contains(Int(clamping: index)) else {
      return
    }
    let zone = zones[Int(clamping: index)]
    // The list that begins a watch: all later changes follow.
    guard line["records"] == nil else { return reportAll() }
    let names =
      (line["changed"]?.array ?? []).compactMap { $0["name"]?.string }
      + (line["deleted"]?.array ?? []).compactMap(\.string)
    report(names.compactMap { Name($0) }.map { RecordKey(zone: zone, name: $0) })
  }

  // MARK: reporting

  private func liveRecords(_ zones: [Name]) -> [RecordKey: Record]? {
    do throws(LockstepError) {
      return try HomeReading.perform(home) { store throws(StorageError) in
        var records: [RecordKey: Record] = [:]
        for zone in zones {
          for record in try store.records(zone: zone, type: nil) { records[record.key] = record }
        }
        return records
      }
    } catch {
      // The holder is replacing its files, or has gone; the next look finds them.
      return nil
    }
  }

  /// Reports the records that have changed since they were reported last.
  private func reportAll() {
    known.withLock { known in
      guard let now = liveRecords(zones) else { return }
      let gone = known.keys.filter { now[$0] == nil }
      let changed = now.values.filter { !$0.isSame(as: known[$0.key]) }.map(\.key)
      notify(&known, (gone + changed).sorted()) { now[$0] }
    }
  }

  private func report(_ keys: [RecordKey]) {
    known.withLock { known in
      do throws(LockstepError) {
        let now = try HomeReading.perform(home) { store throws(StorageError) in
          var records: [RecordKey: Record] = [:]
          for key in keys { records[key] = try store.record(key) }
          return records
        }
        let changed = keys.filter { key in
          let record = now[key].flatMap { $0.isDeleted ? nil : $0 }
          return record.map { !$0.isSame(as: known[key]) } ?? (known[key] != nil)
        }
        notify(&known, changed) { now[$0] }
      } catch {
        // The connection to the holder ends as well, and then all is read.
      }
    }
  }

  private func notify(
    _ known: inout [RecordKey: Record], _ keys: [RecordKey], _ record: (RecordKey) -> Record?
  ) {
    var reported: [Record] = []
    for key in keys {
      let live = record(key).flatMap { $0.isDeleted ? nil : $0 }
      if let live {
        reported.append(live)
      } else if var gone = known[key] {
        gone.fields = nil
        reported.append(gone)
      }
      known[key] = live
    }
    guard !reported.isEmpty else { return }
    let handlers = state.withLock { state in
      state.listeners.sorted { $0.key < $1.key }.map(\.value)
    }
    for handler in handlers { handler(.changed(reported)) }
  }
}

extension Record {
  /// True if both are shown alike. An acknowledgement changes the tag only.
  fileprivate func isSame(as other: Record?) -> Bool {
    guard let other else { return false }
    return fields == other.fields && type == other.type && modifiedAt == other.modifiedAt
      && device == other.device
  }
}

/// State of a store's files, by which a change shows.
private struct FileState: Hashable {
  private struct File: Hashable {
    var number: UInt
    var size: Int
    var seconds: Int
    var nanoseconds: Int
  }

  private var files: [File?]

  init(of home: HomeFolder) {
    files = ["replica.sqlite", "replica.sqlite-wal"].map { name in
      var status = stat()
      guard stat(home.path + "/" + name, &status) == 0 else { return nil }
      return File(
        number: UInt(status.st_ino), size: Int(status.st_size),
        seconds: Int(status.modification.tv_sec), nanoseconds: Int(status.modification.tv_nsec))
    }
  }
}
