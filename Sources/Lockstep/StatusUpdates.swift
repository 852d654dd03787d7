import LockstepClient
import Synchronization

/// The sync status now and after each change. A slow consumer gets the newest one only.
public struct StatusUpdates: AsyncSequence, Sendable {
  public typealias Element = SyncStatus
  public typealias Failure = Never

  /// Time for which a device must stay in sync before it is reported, so that an edit, which is
  /// sent within milliseconds, shows as one change to `syncing` and one back.
  private static let steady = Duration.milliseconds(300)

  private let engine: DeviceEngine

  init(_ engine: DeviceEngine) { self.engine = engine }

  public func makeAsyncIterator() -> Iterator { Iterator(engine) }

  public struct Iterator: AsyncIteratorProtocol {
    public typealias Failure = Never

    private let engine: DeviceEngine
    private let subscription: StatusSubscription
    private var last: SyncStatus?

    fileprivate init(_ engine: DeviceEngine) {
      self.engine = engine
      subscription = StatusSubscription(engine)
    }

    /// Returns the next status; nil after `closed`, and if the task is cancelled.
    public mutating func next() async -> SyncStatus? {
      while !Task.isCancelled, last?.state != .closed {
        let known = subscription.signal.count
        let status = engine.status
        if status != last, await isSteady(status, known) {
          last = status
          return status
        }
        if status == last { await subscription.signal.wait(after: known) }
      }
      return nil
    }

    /// Returns false if the status has changed before it could be reported.
    private func isSteady(_ status: SyncStatus, _ known: UInt64) async -> Bool {
      guard status.state == .inSync, last?.state == .syncing else { return true }
      do {
        try await Task.sleep(for: StatusUpdates.steady)
      } catch {
        return false
      }
      return subscription.signal.count == known || engine.status == status
    }
  }
}

/// Signal of every change of the status, for as long as it exists.
final class StatusSubscription: Sendable {
  let signal = Signal()
  private let engine: DeviceEngine
  private let number: UInt64

  init(_ engine: DeviceEngine) {
    self.engine = engine
    let signal = signal
    number = engine.listen { report in
      switch report {
      case .status, .ready, .joined, .moved, .stopped: signal.send()
      default: break
      }
    }
  }

  deinit { engine.stopListening(number) }
}
