import LockstepModel

/// Move of one account from this store to another, while relays of both run on.
///
///     source   freeze ─ renew… ─────────────── depart ─────────── clear
///     target               receive (arriving)        └ activate
///
/// Each step is durable and can be repeated. Between `freeze` and `depart` the source refuses the
/// account's commits with `accountMoving`, until a lease ends: the account of a mover that was
/// killed works on by itself. `depart` succeeds only if the lease has held without a break, so the
/// copy lacks no acknowledged commit.
@usableFromInline
package struct AccountMove: Sendable, Hashable {
  @usableFromInline package var account: AccountID
  /// Random number of this attempt: only the copy that it made is activated after its departure.
  @usableFromInline package var id: UInt64
  /// Version at which the source froze the account. Each freeze increments the membership version,
  /// so of several movers only the one that froze last can depart.
  @usableFromInline package var frozen: AccountVersion

  @usableFromInline
  package init(id: UInt64, frozen: AccountVersion) {
    account = frozen.account
    self.id = id
    self.frozen = frozen
  }

  /// True if the source has all that a copy from another move has. If the source was restored since
  /// that move, the copy may have more.
  package func includes(_ copy: AccountHead?, _ version: Int64) -> Bool {
    guard let copy else { return true }
    return version < frozen.membershipVersion && copy.generation == frozen.token.generation
      && copy.newest <= frozen.token.sequence
  }
}

@usableFromInline
package enum MoveStep: Sendable, Hashable {
  /// In the source: refuses the account's commits for this time of the store's clock.
  case freeze(AccountID, milliseconds: Int64)
  /// In the source: extends the lease. Refused if it has ended, or if another mover froze the
  /// account.
  case renew(AccountMove, milliseconds: Int64)
  /// In the source: ends the lease.
  case thaw(AccountMove)
  /// In the source: signs the devices out, ends the pairing codes, and from then on answers both
  /// with the address of the relay where the account lives. Refused if the lease has ended.
  case depart(AccountMove, relay: String)
  /// In the target: makes the copy of this move the living account.
  case activate(AccountID, move: UInt64)
  /// In the target: removes an older or own copy that is not active, in portions.
  case abandon(AccountMove)
  /// In either: removes what a departed account left, in portions. It stays departed.
  case clear(AccountID)
  /// In the source, after an older copy of it was restored: does `depart` for an account that is
  /// alive here again, although the target has it. Its devices bring back what they hold.
  case departAgain(AccountID, relay: String, move: UInt64)
}

extension MoveStep {
  @usableFromInline
  package var account: AccountID {
    switch self {
    case .renew(let move, _), .thaw(let move), .depart(let move, _), .abandon(let move):
      move.account
    case .freeze(let id, _), .activate(let id, _), .clear(let id), .departAgain(let id, _, _): id
    }
  }

  package var hasPortions: Bool {
    switch self {
    case .abandon, .clear: true
    case .freeze, .renew, .thaw, .depart, .activate, .departAgain: false
    }
  }
}

/// Place of an account, as far as a store knows.
@usableFromInline
package enum AccountResidence: Hashable, Sendable {
  case unknown
  /// `version`: the account's membership version, here and below.
  case living(version: Int64)
  /// Frozen by a mover until this time of the store's clock, in milliseconds since the Unix epoch.
  case moving(until: Int64, version: Int64)
  /// A complete copy that is not active yet: its devices get `accountMoving`.
  case arriving(move: UInt64, version: Int64)
  case departed(Departure)
}

/// Address that a store gives to the devices of an account that has moved away.
@usableFromInline
package struct Departure: Hashable, Sendable {
  /// Address of the relay where the account lives.
  @usableFromInline package var relay: String
  @usableFromInline package var move: UInt64
  /// Membership version at which the account departed.
  @usableFromInline package var version: Int64
  /// True if nothing but this entry is left of the account.
  @usableFromInline package var isCleared: Bool

  package init(relay: String, move: UInt64, version: Int64, isCleared: Bool) {
    self.relay = relay
    self.move = move
    self.version = version
    self.isCleared = isCleared
  }

  package var refusal: Refusal { StoreRefusals.moved(to: relay) }
}

extension CommitRequest {
  /// True if it may change whether an account lives in the store.
  package var changesResidence: Bool {
    switch self {
    case .move, .removeAccount: true
    default: false
    }
  }

  /// Account that must live in this store for the request; nil if the request concerns none, or if
  /// a move does not affect it.
  package var resident: AccountID? {
    switch self {
    case .issuePairing(let id, _), .renameDevice(let id, _, _), .revokeDevice(let id, _),
      .deleteZone(let id, _, _, _), .deleteZoneRest(let id, _, _, _),
      .putSubscription(let id, _, _), .removeSubscription(let id, _, _), .setPlan(let id, _),
      .addChunk(let id, _, _, _), .renewChunks(let id, _), .putWake(let id, _, _, _, _),
      .removeWake(let id, _, _):
      id
    case .save(let commit): commit.account
    case .createAccount, .redeemPairing, .touchDevices, .checkWritable, .removeAccount,
      .confirmChunks, .markChunksMissing, .collectChunks, .verifyWake, .claimWakes, .reportWakes,
      .addWakeKey, .move:
      nil
    }
  }
}

extension ReadRequest {
  /// Account that must live in the store for the request; nil if there is none.
  package var resident: AccountID? {
    switch self {
    case .zones(let id, _, _, _), .chunk(let id, _), .account(let id), .changes(let id, _, _, _),
      .record(let id, _), .newestToken(let id), .devices(let id):
      id
    case .authenticate, .namedChunks, .accounts, .fileUses, .accountCount, .followAccounts, .wakes,
      .sleepers, .wakeKeys, .residence:
      nil
    }
  }
}

extension ExportedAccount {
  /// Makes this a copy that is not active yet.
  package mutating func arrive(by move: AccountMove) {
    (self.move, movingUntil, version) = (move.id, .max, move.frozen.membershipVersion)
  }
}
