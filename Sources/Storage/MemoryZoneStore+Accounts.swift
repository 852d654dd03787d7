import LockstepModel

/// Accounts, their devices, and the devices' subscriptions.
extension MemoryZoneStore {
  // MARK: Accounts

  func createAccount(
    _ id: AccountID, _ account: MemoryAccount, _ device: NewDevice?, _ pairing: NewPairing?,
    wall: Int64
  ) -> CommitResult {
    guard state.accounts[id] == nil, isFree(device), isFree(pairing, wall: wall) else {
      return .refused(StoreRefusals.taken)
    }
    state.accounts[id] = account
    if let device { admit(device, to: id, wall: wall) }
    if let pairing { offer(pairing, by: id, wall: wall) }
    return .done
  }

  func setPlan(_ plan: Plan, of id: AccountID) -> CommitResult {
    guard state.accounts[id] != nil else { return .refused(StoreRefusals.unknownAccount) }
    state.accounts[id]?.plan = plan
    state.accounts[id]?.membershipVersion += 1
    return .done
  }

  func removeAccount(_ id: AccountID) -> CommitResult {
    guard let account = state.accounts[id] else {
      return .refused(StoreRefusals.unknownAccount)
    }
    for member in account.members { state.principals[member.tokenHash] = nil }
    for pairing in account.pairings { state.pairingOwners[pairing.codeHash] = nil }
    state.accounts[id]?.members = []
    state.accounts[id]?.pairings = []
    state.accounts[id]?.membershipVersion += 1
    let records = state.accounts[id]?.remove(atMost: rules.deletedPerCommit) ?? 0
    guard records < rules.deletedPerCommit else { return .removing }
    state.accounts[id] = nil
    state.batches = state.batches.filter { $0.key.account != id }
    state.batchOrder = state.batchOrder[state.batchHead...].filter { $0.key.account != id }
    state.batchHead = 0
    state.tombstones.removeAll { $0.account == id }
    return .done
  }

  func accounts(after: AccountID?, limit: Int) -> ReadResult {
    let rest = state.accounts.keys.filter { id in after.map { $0 < id } ?? true }.sorted()
    let count = max(1, min(limit, Limits.listedAccounts))
    let summaries = rest.prefix(count).compactMap { state.accounts[$0]?.summary(of: $0) }
    return .accounts(summaries, more: rest.count > count)
  }

  func principal(_ tokenHash: [UInt8]) -> ReadResult {
    guard let owner = state.principals[tokenHash], let account = state.accounts[owner.account],
      let position = account.position(of: owner.device)
    else { return .refused(StoreRefusals.unknownToken) }
    return .principal(
      Principal(
        account: owner.account, device: owner.device, newest: account.head.token,
        plan: account.plan, subscriptions: account.members[position].subscriptions,
        membershipVersion: account.membershipVersion))
  }

  func movement(of id: AccountID) -> AccountVersion? {
    state.accounts[id].map {
      AccountVersion(account: id, token: $0.head.token, membershipVersion: $0.membershipVersion)
    }
  }

  // MARK: Pairing

  func issue(_ pairing: NewPairing, for id: AccountID, wall: Int64) -> CommitResult {
    guard let account = state.accounts[id] else {
      return .refused(StoreRefusals.unknownAccount)
    }
    if let issuer = pairing.issuer, account.position(of: issuer) == nil {
      return .refused(StoreRefusals.revokedDevice)
    }
    guard isFree(pairing, wall: wall) else { return .refused(StoreRefusals.taken) }
    offer(pairing, by: id, wall: wall)
    return .done
  }

  func redeem(_ codeHash: [UInt8], for device: NewDevice, wall: Int64) -> CommitResult {
    guard let id = standingOwner(of: codeHash, wall: wall), let account = state.accounts[id] else {
      return .refused(StoreRefusals.badPairingCode)
    }
    guard device.mayJoin(id) else { return .refused(StoreRefusals.otherAccount) }
    guard account.members.count < rules.devicesPerAccount else {
      return .refused(StoreRefusals.tooManyDevices(rules.devicesPerAccount))
    }
    guard account.position(of: device.id) == nil, isFree(device) else {
      return .refused(StoreRefusals.taken)
    }
    state.pairingOwners[codeHash] = nil
    state.accounts[id]?.pairings.removeAll { $0.codeHash == codeHash }
    admit(device, to: id, wall: wall)
    return .redeemed(id)
  }

  private func admit(_ device: NewDevice, to id: AccountID, wall: Int64) {
    let joined = Device(
      id: device.id, description: device.description, lastSeen: wall, connected: false)
    state.accounts[id]?.members.append(.init(device: joined, tokenHash: device.tokenHash))
    state.accounts[id]?.membershipVersion += 1
    state.principals[device.tokenHash] = Owner(account: id, device: device.id)
  }

  private func offer(_ pairing: NewPairing, by id: AccountID, wall: Int64) {
    if let former = state.pairingOwners[pairing.codeHash] {
      state.accounts[former]?.pairings.removeAll { $0.codeHash == pairing.codeHash }
    }
    var pairings = state.accounts[id]?.pairings ?? []
    for expired in pairings where expired.expiresAt <= wall {
      state.pairingOwners[expired.codeHash] = nil
    }
    pairings.removeAll { $0.expiresAt <= wall }
    while pairings.count >= Limits.pairingCodesPerAccount {
      state.pairingOwners[pairings.removeFirst().codeHash] = nil
    }
    pairings.append(pairing)
    state.accounts[id]?.pairings = pairings
    state.pairingOwners[pairing.codeHash] = id
  }

  private func isFree(_ device: NewDevice?) -> Bool {
    guard let device else { return true }
    return state.principals[device.tokenHash] == nil
  }

  private func isFree(_ pairing: NewPairing?, wall: Int64) -> Bool {
    guard let pairing else { return true }
    return standingOwner(of: pairing.codeHash, wall: wall) == nil
  }

  /// Returns the account of a pairing code, or nil if the code is unknown or has expired.
  private func standingOwner(of codeHash: [UInt8], wall: Int64) -> AccountID? {
    guard let id = state.pairingOwners[codeHash],
      let pairing = state.accounts[id]?.pairings.first(where: { $0.codeHash == codeHash }),
      pairing.expiresAt > wall
    else { return nil }
    return id
  }

  // MARK: Devices

  func rename(_ device: DeviceID, of id: AccountID, to name: String) -> CommitResult {
    guard let position = state.accounts[id]?.position(of: device) else {
      return .refused(StoreRefusals.unknownDevice)
    }
    state.accounts[id]?.members[position].device.description.deviceName = name
    state.accounts[id]?.membershipVersion += 1
    return .done
  }

  func revoke(_ device: DeviceID, of id: AccountID) -> CommitResult {
    guard let position = state.accounts[id]?.position(of: device),
      let member = state.accounts[id]?.members.remove(at: position)
    else { return .refused(StoreRefusals.unknownDevice) }
    state.principals[member.tokenHash] = nil
    for pairing in state.accounts[id]?.pairings ?? [] {
      state.pairingOwners[pairing.codeHash] = nil
    }
    state.accounts[id]?.pairings = []
    state.accounts[id]?.membershipVersion += 1
    return .done
  }

  func touch(_ sightings: [DeviceSighting]) -> CommitResult {
    for sighting in sightings {
      guard let position = state.accounts[sighting.account]?.position(of: sighting.device),
        let seen = state.accounts[sighting.account]?.members[position].device.lastSeen
      else { continue }
      state.accounts[sighting.account]?.members[position].device.connected = sighting.isConnected
      guard seen < sighting.lastSeen else { continue }
      state.accounts[sighting.account]?.members[position].device.lastSeen = sighting.lastSeen
    }
    return .done
  }

  // MARK: Subscriptions

  func put(
    _ subscription: Subscription, for device: DeviceID, of id: AccountID
  ) -> CommitResult {
    guard let position = state.accounts[id]?.position(of: device),
      var subscriptions = state.accounts[id]?.members[position].subscriptions
    else { return .refused(StoreRefusals.revokedDevice) }
    let place = subscriptions.firstIndex { $0.id >= subscription.id } ?? subscriptions.count
    let isNew = place == subscriptions.count || subscriptions[place].id != subscription.id
    if isNew {
      guard subscriptions.count < Limits.subscriptionsPerDevice else {
        return .refused(StoreRefusals.tooManySubscriptions)
      }
      subscriptions.insert(subscription, at: place)
    } else {
      subscriptions[place] = subscription
    }
    state.accounts[id]?.members[position].subscriptions = subscriptions
    state.accounts[id]?.membershipVersion += 1
    return .subscribed(subscriptions, isNew: isNew)
  }

  func removeSubscription(
    _ name: Name, for device: DeviceID, of id: AccountID
  ) -> CommitResult {
    guard let position = state.accounts[id]?.position(of: device),
      var subscriptions = state.accounts[id]?.members[position].subscriptions
    else { return .refused(StoreRefusals.revokedDevice) }
    guard let place = subscriptions.firstIndex(where: { $0.id == name }) else {
      return .refused(StoreRefusals.unknownSubscription)
    }
    subscriptions.remove(at: place)
    state.accounts[id]?.members[position].subscriptions = subscriptions
    state.accounts[id]?.membershipVersion += 1
    return .subscribed(subscriptions, isNew: false)
  }
}
