import LockstepClient
import LockstepModel
import Synchronization

/// Change of one record, made on this device or another.
public enum RecordChange<Record: SyncedRecord>: Sendable {
  case saved(Record)
  case deleted(id: String)
  /// The record's fields do not decode as the type. It is kept as it is.
  case undecodable(id: String, LockstepError)
}

/// Changes of the records of one type, from now on. A slow consumer gets each record's newest state
/// only, in the order of the first change that it has not seen.
public struct RecordChanges<Record: SyncedRecord>: AsyncSequence, Sendable {
  public typealias Element = RecordChange<Record>
  public typealias Failure = Never

  private let source: ChangeSource<Record>

  init(_ source: ChangeSource<Record>) { self.source = source }

  public func makeAsyncIterator() -> Iterator { Iterator(source: source) }

  public struct Iterator: AsyncIteratorProtocol {
    public typealias Failure = Never

    fileprivate let source: ChangeSource<Record>

    /// Returns the next change; nil once the `Lockstep` is closed or the task is cancelled.
    public mutating func next() async -> RecordChange<Record>? { await source.next() }
  }
}

/// Queue of the changes that were not taken yet: at most one for each record.
final class ChangeSource<Record: SyncedRecord>: Sendable {
  private struct Queue {
    var order: [Name] = []
    var records: [Name: LockstepModel.Record] = [:]
    var hasEnded = false
  }

  private let source: any RecordSource
  private let queue = Mutex(Queue())
  private let signal = Signal()
  private let listener = Mutex<UInt64>(0)

  init(_ source: any RecordSource) {
    self.source = source
    let number = source.listen { [weak self] report in self?.handle(report) }
    listener.withLock { $0 = number }
  }

  deinit { source.stopListening(listener.withLock { $0 }) }

  private func handle(_ report: AgentReport) {
    queue.withLock { queue in
      switch report {
      case .changed(let records):
        for record in records
        where record.zone.text == Record.zone && record.type.text == Record.recordType {
          let id = record.name
          if queue.records.updateValue(record, forKey: id) == nil { queue.order.append(id) }
        }
      case .stopped: queue.hasEnded = true
      default: break
      }
    }
    signal.send()
  }

  func next() async -> RecordChange<Record>? {
    while !Task.isCancelled {
      let known = signal.count
      let (record, hasEnded) = queue.withLock { queue -> (LockstepModel.Record?, Bool) in
        guard !queue.order.isEmpty else { return (nil, queue.hasEnded) }
        let id = queue.order.removeFirst()
        return (queue.records.removeValue(forKey: id), queue.hasEnded)
      }
      if let record { return Self.change(record) }
      if hasEnded { return nil }
      await signal.wait(after: known)
    }
    return nil
  }

  private static func change(_ record: LockstepModel.Record) -> RecordChange<Record> {
    let id = record.name.text
    do throws(LockstepError) {
      return try Record.decoded(record).map { .saved($0) } ?? .deleted(id: id)
    } catch {
      return .undecodable(id: id, error)
    }
  }
}

/// Wakes tasks that wait for something to arrive.
final class Signal: Sendable {
  private struct State {
    var count: UInt64 = 0
    var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
    var next: UInt64 = 0
  }

  private let state = Mutex(State())

  /// Number of signals so far.
  var count: UInt64 { state.withLock { $0.count } }

  func send() {
    let waiting = state.withLock { state in
      state.count += 1
      defer { state.waiting = [:] }
      return Array(state.waiting.values)
    }
    for continuation in waiting { continuation.resume() }
  }

  /// Waits until there are more signals than `known`, or the task is cancelled.
  func wait(after known: UInt64) async {
    let number = state.withLock { state in
      state.next += 1
      return state.next
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isDone = state.withLock { state in
          if state.count != known || Task.isCancelled { return true }
          state.waiting[number] = continuation
          return false
        }
        if isDone { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: number) }?.resume()
    }
  }
}
