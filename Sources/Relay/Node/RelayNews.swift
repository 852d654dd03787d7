public import LockstepModel
import LockstepWire

/// What one node's work means for the others of the process. News of commits come in the order of
/// the commits.
public enum RelayNews: Sendable {
  /// A commit moved an account on. Comes from `StoreWork`, to the node that asked as well.
  case changed(AccountChange)
  /// A device's token died: its connections close. From `StoreWork` likewise, as the next three.
  case revoked(AccountID, DeviceID, by: CommitOrigin)
  /// What the account may save from here on.
  case planChanged(AccountID, Plan)
  /// All of the device's subscriptions as they stand now.
  case subscribed(AccountID, DeviceID, [Subscription])
  /// The account is gone, and the tokens of all its devices with it.
  case accountRemoved(AccountID)
  /// The first connection of a device on a node came, or its last one went.
  case presence(node: Int, AccountID, DeviceID, isConnected: Bool)
  /// Someone at this address tries a pairing code: it counts as wrong until it proves right.
  case pairingGuess(address: PeerNetwork)
  /// The guess was right after all.
  case pairingRight(address: PeerNetwork)
  /// An account is made for somebody at this address.
  case newAccount(address: PeerNetwork)
  /// A node's counters, now and then, so that each can tell the sum.
  case status(node: Int, RelayStatus)
  /// Another relay on the same store moved an account on to that token. Hints, all three: they may
  /// come late, twice or never.
  case movedElsewhere(AccountID, ChangeToken)
  /// Another relay changed an account's devices, its plan or what wakes them.
  case affairsElsewhere(AccountID)
  /// What other relays told may have been lost.
  case missedElsewhere

  /// The same, and of a change also when it was durable.
  public func durable(at instant: Instant) -> RelayNews {
    guard case .changed(var change) = self else { return self }
    change.durableAt = instant
    return .changed(change)
  }
}

/// A commit, as those who watch the account are told it. Encoded once, by the worker, for all nodes
/// and all receivers.
public struct AccountChange: Sendable {
  public let account: AccountID
  /// nil where it may be several.
  public let zone: Name?
  /// nil where another relay saved it.
  public let origin: CommitOrigin?
  /// The account's newest token before and after.
  public let since: ChangeToken
  public let token: ChangeToken
  /// What was saved or deleted; nil where it is too much to be told but by a hint.
  let told: Told?
  /// The push as a WebSocket frame; nil where it is over `Limits.pushBytes`.
  let frame: [UInt8]?
  /// When it was; nil where nobody measures.
  var durableAt: Instant?

  struct Told: Sendable {
    /// The records as they now stand, and what happened to each, by its place.
    let records: [Record]
    let events: [ChangeEvents]
    let changes: EncodedChanges
  }

  /// Whether something of the zone may be in it; nil: of any.
  func mayConcern(_ zone: Name?) -> Bool { zone == nil || self.zone == nil || zone == self.zone }

  /// Too many bytes for a push.
  var isLarge: Bool { frame == nil }

  init(
    account: AccountID, zone: Name?, origin: CommitOrigin?, since: ChangeToken, token: ChangeToken,
    records: [Record], events: [ChangeEvents]
  ) {
    precondition(records.count == events.count, "a store did not say what happened to a record")
    self.account = account
    self.zone = zone
    self.origin = origin
    self.since = since
    self.token = token
    let changes = EncodedChanges(records)
    told = Told(records: records, events: events, changes: changes)
    let fits = changes.bytes <= Limits.pushBytes
    frame =
      fits
      ? WebSocketFrame.text(changes.message(id: nil, since: since, token: token, more: false))
      : nil
  }

  /// More than is told: the deletion of many records of a zone, or what nobody here has read.
  init(
    account: AccountID, zone: Name?, origin: CommitOrigin?, since: ChangeToken, token: ChangeToken
  ) {
    self.account = account
    self.zone = zone
    self.origin = origin
    self.since = since
    self.token = token
    told = nil
    frame = nil
  }
}
