import LockstepModel

/// Moves of accounts to and from other stores.
extension MemoryZoneStore {
  func move(_ step: MoveStep, wall: Int64) -> CommitResult {
    switch step {
    case .freeze(let id, let milliseconds): freeze(id, until: wall + milliseconds, wall: wall)
    case .renew(let move, let milliseconds):
      setLease(wall + milliseconds, of: move, wall: wall)
    case .thaw(let move): setLease(nil, of: move, wall: wall)
    case .depart(let move, let relay): depart(move, to: relay, wall: wall)
    case .departAgain(let id, let relay, let move): departAgain(id, to: relay, move: move)
    case .activate(let id, let move): activate(id, move: move)
    case .abandon(let move): abandon(move)
    case .clear(let id): clear(id)
    }
  }

  func residence(of id: AccountID) -> AccountResidence {
    if let departure = state.departures[id] { return .departed(departure) }
    guard let account = state.accounts[id] else { return .unknown }
    switch account.movingUntil {
    case nil: return .living(version: account.membershipVersion)
    case .max?: return .arriving(move: account.move, version: account.membershipVersion)
    case let until?: return .moving(until: until, version: account.membershipVersion)
    }
  }

  /// Refusal of an account's requests while it is moved, and afterwards.
  func absence(of id: AccountID, wall: Int64) -> Refusal? {
    if let departure = state.departures[id] { return departure.refusal }
    let until = state.accounts[id]?.movingUntil ?? .min
    return until > wall ? StoreRefusals.moving : nil
  }

  /// Refusal of a token that no device has.
  func absence(ofToken hash: [UInt8]) -> Refusal {
    state.departedDevices[hash].flatMap { state.departures[$0]?.refusal }
      ?? StoreRefusals.unknownToken
  }

  func absence(ofPairing hash: [UInt8], wall: Int64) -> Refusal {
    guard let entry = state.departedPairings[hash], entry.expiresAt > wall else {
      return StoreRefusals.badPairingCode
    }
    return state.departures[entry.account]?.refusal ?? StoreRefusals.badPairingCode
  }

  /// Copies the account from a store that has frozen it, in place of an older copy.
  package func receive(_ move: AccountMove, from source: MemoryZoneStore) -> Refusal? {
    let id = move.account
    let version = move.frozen.membershipVersion
    switch residence(of: id) {
    case .unknown: break
    case .arriving(_, let former) where former < version:
      remove(id)
    case .departed(let departure) where departure.version < version: forget(id)
    case .living, .moving, .arriving, .departed: return StoreRefusals.moveLost
    }
    guard var account = source.state.accounts[id] else { return StoreRefusals.unknownAccount }
    if let holder = holder(of: account.label) { return StoreRefusals.labelTaken(by: holder) }
    (account.movingUntil, account.move, account.membershipVersion) = (.max, move.id, version)
    for place in account.members.indices { account.members[place].wakes = nil }
    state.accounts[id] = account
    for member in account.members {
      state.principals[member.tokenHash] = Owner(account: id, device: member.device.id)
    }
    for pairing in account.pairings { state.pairingOwners[pairing.codeHash] = id }
    for entry in source.state.batchOrder[source.state.batchHead...] where entry.key.account == id {
      state.batches[entry.key] = source.state.batches[entry.key]
      state.batchOrder.append(entry)
    }
    let tombstones = source.state.tombstones.filter { $0.account == id }
    state.tombstones = (state.tombstones + tombstones).sorted()
    return nil
  }

  // MARK: Steps

  private func freeze(_ id: AccountID, until: Int64, wall: Int64) -> CommitResult {
    guard let account = state.accounts[id] else { return .refused(unknown(id)) }
    guard account.movingUntil != .max else { return .refused(StoreRefusals.moving) }
    state.accounts[id]?.movingUntil = until
    state.accounts[id]?.membershipVersion += 1
    return version(of: id).map { .frozen($0) } ?? .refused(StoreRefusals.unknownAccount)
  }

  private func holds(_ move: AccountMove, wall: Int64) -> Bool {
    guard let until = state.accounts[move.account]?.movingUntil, until > wall, until < .max else {
      return false
    }
    return version(of: move.account) == move.frozen
  }

  private func setLease(_ until: Int64?, of move: AccountMove, wall: Int64) -> CommitResult {
    guard holds(move, wall: wall) else { return .refused(StoreRefusals.moveLost) }
    state.accounts[move.account]?.movingUntil = until
    return .done
  }

  private func depart(_ move: AccountMove, to relay: String, wall: Int64) -> CommitResult {
    if state.departures[move.account]?.move == move.id { return .done }
    guard holds(move, wall: wall) else { return .refused(StoreRefusals.moveLost) }
    depart(
      move.account,
      Departure(
        relay: relay, move: move.id, version: move.frozen.membershipVersion, isCleared: false))
    return .done
  }

  private func departAgain(_ id: AccountID, to relay: String, move: UInt64) -> CommitResult {
    guard let account = state.accounts[id] else { return .refused(unknown(id)) }
    guard account.movingUntil != .max else { return .refused(StoreRefusals.moving) }
    depart(
      id,
      Departure(
        relay: relay, move: move, version: account.membershipVersion, isCleared: false))
    return .done
  }

  private func depart(_ id: AccountID, _ departure: Departure) {
    guard let account = state.accounts[id] else { return }
    for member in account.members { state.departedDevices[member.tokenHash] = id }
    for pairing in account.pairings {
      state.departedPairings[pairing.codeHash] = (id, pairing.expiresAt)
    }
    remove(id)
    state.departures[id] = departure
    state.rests[id] = account
  }

  private func activate(_ id: AccountID, move: UInt64) -> CommitResult {
    guard let account = state.accounts[id] else { return .refused(StoreRefusals.notArriving) }
    guard account.move == move else { return .refused(StoreRefusals.notArriving) }
    guard account.movingUntil == .max else { return .done }
    state.accounts[id]?.movingUntil = nil
    state.accounts[id]?.membershipVersion += 1
    return .done
  }

  private func abandon(_ move: AccountMove) -> CommitResult {
    guard case .arriving(let id, let version) = residence(of: move.account) else { return .done }
    guard id == move.id || move.includes(state.accounts[move.account]?.head, version) else {
      return .refused(StoreRefusals.moveLost)
    }
    return removeAccount(move.account)
  }

  private func clear(_ id: AccountID) -> CommitResult {
    guard let departure = state.departures[id] else { return .done }
    let removed = state.rests[id]?.remove(atMost: rules.deletedPerCommit) ?? 0
    guard removed < rules.deletedPerCommit else { return .removing }
    state.rests[id] = nil
    state.departures[id] = Departure(
      relay: departure.relay, move: departure.move, version: departure.version, isCleared: true)
    return .done
  }

  /// Also clears a portion of one departed account whose mover has died.
  func tidy(atMost count: Int, wall: Int64) -> CommitResult {
    if let id = state.departures.filter({ !$0.value.isCleared }).keys.min() { _ = clear(id) }
    return collectChunks(atMost: count, wall: wall)
  }

  /// Removes the entries of a departed account.
  func forget(_ id: AccountID) {
    state.departures[id] = nil
    state.rests[id] = nil
    state.departedDevices = state.departedDevices.filter { $0.value != id }
    state.departedPairings = state.departedPairings.filter { $0.value.account != id }
  }

  private func unknown(_ id: AccountID) -> Refusal {
    state.departures[id]?.refusal ?? StoreRefusals.unknownAccount
  }

  /// Removes the account's rows at once.
  private func remove(_ id: AccountID) {
    for member in state.accounts[id]?.members ?? [] { state.principals[member.tokenHash] = nil }
    for pairing in state.accounts[id]?.pairings ?? [] {
      state.pairingOwners[pairing.codeHash] = nil
    }
    drop(id)
  }
}
