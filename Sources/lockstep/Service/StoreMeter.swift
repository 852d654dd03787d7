import Changes
import Loop
import Relay

/// Measures on the thread that writes the store, read by whoever shows them.
final class StoreMeter: Sendable {
  private let measures: Locked<StoreMeasures>

  init(accounts: Int) {
    var measures = StoreMeasures()
    measures.accounts = accounts
    self.measures = Locked(measures)
  }

  var source: MeasureSource { MeasureSource { self.measures.withLock { $0 } } }

  /// Does `work`, which makes `requests` durable in one transaction.
  func commit<Result>(_ requests: Int, _ work: () -> Result) -> Result {
    let begun = SystemClock.instant()
    let result = work()
    let nanoseconds = SystemClock.instant().nanoseconds - begun.nanoseconds
    measures.withLock { measures in
      measures.commits.observe(nanoseconds)
      measures.batches.observe(Int64(requests))
    }
    return result
  }

  /// The log was synced, for so many nanoseconds.
  func synced(_ nanoseconds: Int64) { measures.withLock { $0.syncs.observe(nanoseconds) } }

  func accounts(change: Int) { measures.withLock { $0.accounts += change } }
}
