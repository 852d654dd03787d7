import LockstepClient
import LockstepModel
import LockstepSealing

/// Sync status of a device. It is never `inSync` while a change waits.
public struct SyncStatus: Hashable, Sendable {
  public enum State: Hashable, Sendable, CaseIterable {
    /// The home has not joined an account. Edits are durable, and are sent once it has.
    case needsPairing
    /// There is no connection; the device tries again by itself.
    case offline
    /// Changes are being sent or received.
    case syncing
    /// The device has everything from the relay, and the relay has everything from the device.
    case inSync
    /// The account's records are sealed with keys that this device does not have: it neither shows
    /// nor changes them. Call `restoreKeys`, or `join` with a code of a device that has the keys.
    case needsKeys
    /// A person must decide a conflict, or the relay has refused a change for good, or a change
    /// waits that this device is not paired to make.
    case needsDecision
    /// The account's plan does not include a zone that has changes.
    case planEnded
    /// Sync has stopped until a person acts; `reason` says how.
    case failed
    /// `close` was called.
    case closed
  }

  public var state: State
  /// Sentence for a person about `offline`, `needsKeys`, `needsDecision`, `planEnded` and `failed`;
  /// nil for other states.
  public var reason: String?
  /// Number of local changes that the relay has not acknowledged.
  public var waiting: Int
  /// Number of sealed records at the relay that this device cannot read. They are not shown, and
  /// local changes to them wait.
  public var unreadable: Int
  /// Relay time when the device was last in sync, in milliseconds since the Unix epoch; nil: never.
  public var lastSync: Int64?

  public init(
    state: State, reason: String? = nil, waiting: Int = 0, unreadable: Int = 0,
    lastSync: Int64? = nil
  ) {
    self.state = state
    self.reason = reason
    self.waiting = waiting
    self.unreadable = unreadable
    self.lastSync = lastSync
  }

  init(_ status: AgentStatus, hasJoined: Bool) {
    self.init(
      state: .syncing, waiting: status.waiting, unreadable: status.unreadableCount,
      lastSync: status.lastSync)
    switch status.state {
    case .stopped: state = .closed
    case _ where !hasJoined: state = .needsPairing
    case .starting: state = .syncing
    case .syncing, .inSync, .needsPerson: setConnected(status)
    case .asleep: (state, reason) = (.offline, "the device sleeps until a change wakes it")
    case .offline(_, let reason): (state, self.reason) = (.offline, reason)
    case .failed(let reason): (state, self.reason) = (.failed, reason)
    }
  }

  private mutating func setConnected(_ status: AgentStatus) {
    if status.isLocked {
      reason =
        "the account's records are sealed, and this device does not have the keys: enter the "
        + "recovery phrase, or pair it again with a device that has them"
      state = .needsKeys
      return
    }
    if case .needsPerson = status.state {
      (state, reason) = Self.need(status)
      return
    }
    let isDone = status.state == .inSync && status.waiting == 0
    state = isDone ? .inSync : .syncing
  }

  private static func need(_ status: AgentStatus) -> (State, String) {
    if let parked = status.parked.first {
      return (
        .needsDecision,
        status.parkedCount == 1
          ? "the relay refused a change, of \(parked.key.name): \(parked.refusal.detail)"
          : "the relay refused \(status.parkedCount) changes; the first, of \(parked.key.name): "
            + parked.refusal.detail
      )
    }
    if status.askingCount > 0 {
      let conflicts =
        status.askingCount == 1 ? "a conflict waits" : "\(status.askingCount) conflicts wait"
      return (.needsDecision, conflicts + " for a decision")
    }
    if status.unreadableCount > 0 {
      let records =
        status.unreadableCount == 1 ? "1 record" : "\(status.unreadableCount) records"
      let fault = SealFault.text(ofKind: status.unreadable.first?.fault.kind)
      return (.needsDecision, "\(records) at the relay cannot be read; the first is \(fault)")
    }
    if let zone = status.blockedZones.first {
      return (.planEnded, "the account's plan does not include the zone \(zone)")
    }
    if let zone = status.zonesOutOfScope.first {
      return (
        .needsDecision,
        "changes in the zone \(zone) wait: this device is not paired to make them; pair it again"
      )
    }
    return (.needsDecision, "a person must decide")
  }
}

/// Sync state of one record.
public enum SyncState: Hashable, Sendable {
  /// The relay has the record as it is shown.
  case synced
  /// A change waits for the relay.
  case waiting
  /// The relay refused a change for good, for this reason.
  case refused(String)
  /// A person must decide a conflict.
  case needsDecision
}

/// Result of `Lockstep.sync`.
public enum SyncOutcome: Hashable, Sendable {
  /// Other devices have changed records.
  case newData
  case nothingNew
  /// The device could not sync in the time, for this reason.
  case offline(String)
}
