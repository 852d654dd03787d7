import LockstepModel
import LockstepStorage

/// Checks the state after a quiet time: all replicas of an account equal the store, no change
/// waits, and all records are what the causal history demands.
package struct ConvergenceChecker {
  private let ledger: CommitLedger

  package init(ledger: CommitLedger) { self.ledger = ledger }

  /// Returns nil if the device holds exactly what the account holds, or else the difference.
  package func difference(of device: DeviceMachine) -> (() -> String)? {
    guard device.isRunning else { return { "\(device.name) does not run" } }
    do throws(StorageError) {
      let outbox = try device.store.outbox()
      if let entry = outbox.first {
        return { "\(device.name) still holds \(entry.key.name) in its outbox: \(entry.state)" }
      }
      let expected = ledger.newest(device.credentials.account).filter { !$0.isDeleted }
        .map(\.plain)
      let held = try device.store.allRecords().filter { !$0.isDeleted }
      if held == expected { return nil }
      return {
        "\(device.name) holds tags \(held.map(\.tag)), the relay \(expected.map(\.tag))"
      }
    } catch {
      return { "\(device.name): the store cannot be read: \(error)" }
    }
  }

  /// Returns what the causal history demands of the account's records.
  package func demands(of account: AccountID, _ histories: Histories) -> Demands {
    Demands(histories) { ledger.current(account, $0) }
  }

  /// Returns nil if the account's records are what the rules demand.
  package func difference(of account: AccountID, _ histories: Histories) -> String? {
    demands(of: account, histories).difference().map { "in \(account.text) \($0)" }
  }
}
