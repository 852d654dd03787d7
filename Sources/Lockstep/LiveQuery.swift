import LockstepClient
import LockstepJSON
import LockstepModel
import Synchronization

/// The records of one type that a predicate selects, in order; a new array after every change. A
/// consumer that is slower than the changes gets the newest array only.
///
/// One change of one record costs a binary search and a copy of the array, and no reading of the
/// store.
public struct LiveQuery<Record: SyncedRecord>: AsyncSequence, Sendable {
  public typealias Element = [Record]
  public typealias Failure = Never

  private let source: LiveSource<Record>

  init(_ source: LiveSource<Record>) { self.source = source }

  public func makeAsyncIterator() -> Iterator { Iterator(source: source) }

  public struct Iterator: AsyncIteratorProtocol {
    public typealias Failure = Never

    private let source: LiveSource<Record>
    private var seen: UInt64 = 0

    fileprivate init(source: LiveSource<Record>) { self.source = source }

    /// Returns the records now, then after each change; nil once the `Lockstep` is closed or the
    /// task is cancelled.
    public mutating func next() async -> [Record]? {
      guard let (records, version) = await source.next(after: seen) else { return nil }
      seen = version
      return records
    }
  }
}

/// The incremental state of a live query, shared by its iterators.
final class LiveSource<Record: SyncedRecord>: Sendable {
  /// Changes that were not applied yet, from the agent's thread: the newest version of each record.
  private struct Inbox {
    var isLoaded = false
    var changes: [Name: LockstepModel.Record] = [:]
    var hasEnded = false
  }

  /// State that consumers see.
  private struct Model {
    var sorted: [Record] = []
    var byID: [Name: Record] = [:]
    var version: UInt64 = 0
  }

  private let source: any RecordSource
  /// nil for a type that `Lockstep.open` has refused; it has no records.
  private let names: (zone: Name, type: Name)?
  private let isIncluded: @Sendable (Record) -> Bool
  private let precedes: @Sendable (Record, Record) -> Bool
  private let inbox = Mutex(Inbox())
  /// Signal of every change of the inbox.
  private let signal = Signal()
  private let model = Mutex(Model())
  private let listener = Mutex<UInt64?>(nil)

  init(
    _ source: any RecordSource, zone: String, type: String,
    where isIncluded: @escaping @Sendable (Record) -> Bool,
    sortedBy isBefore: (@Sendable (Record, Record) -> Bool)?
  ) {
    self.source = source
    if let zone = Name(zone), let type = Name(type) {
      names = (zone: zone, type: type)
    } else {
      names = nil
    }
    self.isIncluded = isIncluded
    precedes = { left, right in
      if let isBefore {
        if isBefore(left, right) { return true }
        if isBefore(right, left) { return false }
      }
      return left.id.utf8.lexicographicallyPrecedes(right.id.utf8)
    }
  }

  deinit {
    if let number = listener.withLock({ $0 }) { source.stopListening(number) }
  }

  /// Waits for a version after `seen`. Returns nil at the end, and if the task is cancelled.
  func next(after seen: UInt64) async -> ([Record], UInt64)? {
    await start()
    while !Task.isCancelled {
      let known = signal.count
      if let found = current(), found.version > seen { return found }
      if inbox.withLock({ $0.hasEnded }) { return nil }
      await signal.wait(after: known)
    }
    return nil
  }

  private func start() async {
    let isFirst = listener.withLock { number in
      guard number == nil else { return false }
      number = source.listen { [weak self] report in self?.handle(report) }
      return true
    }
    guard isFirst else { return }
    guard let names else { return load([]) }
    do throws(LockstepError) {
      try await source.read(zone: names.zone, type: names.type) { [weak self] records in
        self?.load(records)
      }
    } catch {
      end()
    }
  }

  private func load(_ records: [LockstepModel.Record]) {
    changeInbox { inbox in
      inbox.isLoaded = true
      inbox.changes = Dictionary(records.map { ($0.name, $0) }) { first, _ in first }
    }
  }

  private func handle(_ report: AgentReport) {
    switch report {
    case .changed(let records):
      let own = records.filter { $0.zone == names?.zone }
      guard !own.isEmpty else { return }
      changeInbox { inbox in
        guard inbox.isLoaded else { return }
        for record in own { inbox.changes[record.name] = record }
      }
    case .stopped: end()
    default: break
    }
  }

  private func end() { changeInbox { $0.hasEnded = true } }

  /// Changes the inbox, and wakes those who wait for a change.
  private func changeInbox(_ change: (inout Inbox) -> Void) {
    inbox.withLock { change(&$0) }
    signal.send()
  }

  /// Returns the records after all changes that have arrived; nil before the first are read.
  private func current() -> (records: [Record], version: UInt64)? {
    model.withLock { model in
      let (isLoaded, changes) = inbox.withLock { inbox in
        defer { inbox.changes = [:] }
        return (inbox.isLoaded, inbox.changes)
      }
      guard isLoaded else { return nil }
      let isFirst = model.version == 0
      let hasChanged = isFirst ? loadModel(&model, changes) : apply(changes, to: &model)
      if hasChanged || isFirst { model.version += 1 }
      return (model.sorted, model.version)
    }
  }

  private func loadModel(_ model: inout Model, _ records: [Name: LockstepModel.Record]) -> Bool {
    for (id, record) in records {
      if let value = decode(record) { model.byID[id] = value }
    }
    model.sorted = model.byID.values.sorted(by: precedes)
    return true
  }

  private func apply(_ changes: [Name: LockstepModel.Record], to model: inout Model) -> Bool {
    // Many changes at once, such as a first sync, are cheaper to sort than to insert one by one.
    if changes.count > 64, changes.count > model.sorted.count / 16 {
      for (id, record) in changes { model.byID[id] = decode(record) }
      model.sorted = model.byID.values.sorted(by: precedes)
      return true
    }
    var hasChanged = false
    for (id, record) in changes {
      let old = model.byID[id]
      let new = decode(record)
      guard old != new else { continue }
      hasChanged = true
      if let old { remove(old, id, from: &model.sorted) }
      if let new { model.sorted.insert(new, at: index(of: new, in: model.sorted)) }
      model.byID[id] = new
    }
    return hasChanged
  }

  private func remove(_ record: Record, _ id: Name, from sorted: inout [Record]) {
    let index = index(of: record, in: sorted)
    if index < sorted.count, Name(sorted[index].id) == id {
      sorted.remove(at: index)
    } else {
      // The app's order is no strict one, such as `<=`.
      sorted.removeAll { Name($0.id) == id }
    }
  }

  /// Returns the index of a record, or that at which it belongs.
  private func index(of record: Record, in sorted: [Record]) -> Int {
    var low = 0
    var high = sorted.count
    while low < high {
      let middle = (low + high) / 2
      if precedes(sorted[middle], record) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Returns nil for a record that is deleted, not selected, or does not decode.
  private func decode(_ record: LockstepModel.Record) -> Record? {
    guard record.type == names?.type else { return nil }
    do throws(LockstepError) {
      return try Record.decoded(record).flatMap { isIncluded($0) ? $0 : nil }
    } catch {
      // `Lockstep.changes` gives the error.
      return nil
    }
  }
}

extension SyncedRecord {
  /// Returns the records that are live and decode. `Lockstep.changes` gives the errors of others.
  static func decodable(_ records: [LockstepModel.Record]) -> [Self] {
    records.compactMap { record in
      do throws(LockstepError) {
        return try decoded(record)
      } catch {
        return nil
      }
    }
  }

  /// Decodes a record; nil if it is deleted. Throws `LockstepError.undecodable`.
  package static func decoded(_ record: LockstepModel.Record) throws(LockstepError) -> Self? {
    guard let bytes = record.fields else { return nil }
    let id = record.name.text
    do {
      return try Self(fields: try JSONValue(parsing: bytes), id: id)
    } catch {
      throw .undecodable(type: recordType, id: id, reason: FieldsFault.reason(error))
    }
  }
}

/// Sentences for the errors of decoding and encoding.
enum FieldsFault {
  static func reason(_ error: any Error) -> String {
    switch error {
    case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
      DecodingError.keyNotFound(_, let context), DecodingError.dataCorrupted(let context):
      context.debugDescription
    case EncodingError.invalidValue(_, let context): context.debugDescription
    default: "\(error)"
    }
  }
}
