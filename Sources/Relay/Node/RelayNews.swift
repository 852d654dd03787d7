import LockstepModel
import LockstepRuntime
import LockstepWire

/// Events of one node's work for the other nodes of the process. News of commits come in the order
/// of the commits.
@usableFromInline
package enum RelayNews: Sendable {
  /// A commit moved an account to a new token. Sent by `StoreWork`, also to the requesting node.
  indirect case changed(AccountChange)
  /// A device's token was revoked: its connections close. Sent by `StoreWork`, as the next three.
  case revoked(AccountID, DeviceID, by: CommitOrigin)
  /// The account's new plan.
  case planChanged(AccountID, Plan)
  /// All current subscriptions of the device.
  case subscribed(AccountID, DeviceID, [Subscription])
  /// The account was removed, with the tokens of all its devices.
  case accountRemoved(AccountID)
  /// A device's first connection on a node came, or its last one ended.
  case presence(node: Int, AccountID, DeviceID, isConnected: Bool)
  /// A client at this address tries a pairing code: it counts as wrong until it proves right.
  case pairingGuess(address: PeerNetwork)
  /// The guess was right.
  case pairingRight(address: PeerNetwork)
  /// An account is created for a client at this address.
  case newAccount(address: PeerNetwork)
  /// A device has registered for wakes. The node that sends them sends it the code.
  indirect case wakePut(WakeOffer, isVerified: Bool)
  /// The relay's keys for push services have changed.
  indirect case wakeKeys(WakeConfiguration)
  /// A node's counters, sent at intervals, so that each node can report the sum.
  case status(node: Int, RelayStatus)
  /// A commit of this relay moved an account with registrations for wakes, which may have been made
  /// at another relay on the same store.
  case sleepersMissed(AccountID)
  /// Another relay on the same store moved an account to that token. All three are hints: they may
  /// come late, twice or never.
  case remoteCommit(AccountID, ChangeToken)
  /// Another relay changed an account's devices, its plan or its subscriptions.
  case remoteMembershipChange(AccountID)
  /// The relays whose announcements arrive, or are noticed if they do not; sent when they change.
  case remoteRelaysHeard([UInt64])
  /// Announcements of other relays were lost, or may have been.
  case remoteNewsLost
  /// True if lost announcements are reported by `remoteNewsLost` from now on; at first they are
  /// not.
  case remoteNewsReliability(Bool)

  /// Returns the same news; a change also carries the time at which it was durable.
  @usableFromInline
  package func durable(at instant: Instant) -> RelayNews {
    guard case .changed(var change) = self else { return self }
    change.durableAt = instant
    return .changed(change)
  }
}

/// A commit, as sent to the connections that watch the account. A node with receivers encodes it,
/// once for all of them.
@usableFromInline
package struct AccountChange: Sendable {
  @usableFromInline package let account: AccountID
  /// nil if there may be several.
  @usableFromInline package let zone: Name?
  /// nil if another relay saved it.
  @usableFromInline package let origin: CommitOrigin?
  /// The account's newest token before and after.
  @usableFromInline package let since: ChangeToken
  @usableFromInline package let token: ChangeToken
  /// The records saved or deleted; nil if only a hint is sent.
  let contents: Contents?
  /// The records as JSON, once `encode` was called.
  private(set) var changes: EncodedChanges?
  /// The push as a WebSocket frame, once `encode` was called; nil if it exceeds `Limits.pushBytes`.
  private(set) var frame: [UInt8]?
  /// Time at which it was durable; nil if that is not measured.
  var durableAt: Instant?

  struct Contents: Sendable {
    /// The records in their new state, and the events of each, in the same order.
    let records: [Record]
    let events: [ChangeEvents]
  }

  /// True if the change may include records of the zone; nil: of any zone.
  func mayConcern(_ zone: Name?) -> Bool { zone == nil || self.zone == nil || zone == self.zone }

  /// True if there are too many bytes for a push.
  var isLarge: Bool { frame == nil }

  init(
    account: AccountID, zone: Name?, origin: CommitOrigin?, since: ChangeToken, token: ChangeToken,
    records: [Record], events: [ChangeEvents]
  ) {
    precondition(records.count == events.count, "each record must have its events")
    self.account = account
    self.zone = zone
    self.origin = origin
    self.since = since
    self.token = token
    contents = Contents(records: records, events: events)
  }

  /// Creates a change without records: a deletion of many in a zone, or changes not read here.
  init(
    account: AccountID, zone: Name?, origin: CommitOrigin?, since: ChangeToken, token: ChangeToken
  ) {
    self.account = account
    self.zone = zone
    self.origin = origin
    self.since = since
    self.token = token
    contents = nil
  }

  /// Encodes the push, which receivers need.
  mutating func encode() {
    guard let contents, changes == nil else { return }
    let (changes, frame) = EncodedChanges.push(contents.records, since: since, token: token)
    self.changes = changes
    self.frame = changes.bytes <= Limits.pushBytes ? frame : nil
  }
}
