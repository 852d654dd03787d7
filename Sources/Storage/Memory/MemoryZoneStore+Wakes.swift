import LockstepModel

/// Registrations of devices for wakes, and the relay's keys for push services.
extension MemoryZoneStore {
  func putWake(
    _ registration: WakeRegistration, for id: SleeperID, keyMadeAt: Int64, codeHash: [UInt8]
  ) -> CommitResult {
    guard let account = state.accounts[id.account], account.position(of: id.device) != nil else {
      return .refused(StoreRefusals.revokedDevice)
    }
    var wakes = self.wakes(of: id) ?? DeviceWakes(newest: account.head.mark)
    guard let put = wakes.put(registration, keyMadeAt: keyMadeAt, codeHash: codeHash) else {
      return .refused(StoreRefusals.tooManyWakes)
    }
    setWakes(wakes, of: id)
    state.accounts[id.account]?.membershipVersion += 1
    return .wakePut(isNew: put.isNew, isVerified: put.isVerified)
  }

  func removeWake(_ name: Name, of id: SleeperID) -> CommitResult {
    guard var wakes = wakes(of: id), wakes.remove(name) else {
      return .refused(StoreRefusals.unknownWake)
    }
    setWakes(wakes, of: id)
    state.accounts[id.account]?.membershipVersion += 1
    return .done
  }

  func verifyWake(
    _ name: Name, of id: SleeperID, codeHash: [UInt8], wall: Int64
  ) -> CommitResult {
    guard var wakes = wakes(of: id), wakes.entry(name) != nil else {
      return .refused(StoreRefusals.unknownWake)
    }
    guard wakes.verify(name, codeHash: codeHash, at: wall) else {
      return .refused(StoreRefusals.badWakeCode)
    }
    setWakes(wakes, of: id)
    return .done
  }

  func recordContacts(of sightings: [DeviceSighting]) {
    for sighting in sightings {
      guard let contact = sighting.contact, var wakes = wakes(of: sighting.sleeper),
        wakes.contact(contact, at: sighting.lastSeen)
      else { continue }
      setWakes(wakes, of: sighting.sleeper)
    }
  }

  func claimWakes(_ ids: [SleeperID], keys: WakeKeyTimes, wall: Int64) -> CommitResult {
    var claimed: [ClaimedWake] = []
    for id in ids {
      guard let newest = state.accounts[id.account]?.head.mark, var wakes = wakes(of: id) else {
        continue
      }
      guard let claim = wakes.claim(newest: newest, keys: keys, at: wall) else { continue }
      setWakes(wakes, of: id)
      claimed.append(
        ClaimedWake(id: id, claim.purpose, newest: newest, entries: claim.entries))
    }
    return .wakesClaimed(claimed)
  }

  func reportWakes(_ reports: [WakeReport], wall: Int64) -> CommitResult {
    for report in reports {
      guard var wakes = wakes(of: report.id) else { continue }
      wakes.apply(report.event, at: wall)
      setWakes(wakes, of: report.id)
    }
    return .done
  }

  func addWakeKey(_ key: WakeKey, onlyFirst: Bool) -> CommitResult {
    if !onlyFirst || state.wakeKeys.isEmpty { state.wakeKeys.append(key.after(state.wakeKeys)) }
    return .wakeKeys(state.wakeKeys)
  }

  // MARK: Reads

  func sleepers(_ query: SleeperQuery) -> ReadResult {
    let accounts: [AccountID]
    let first: SleeperID
    switch query {
    case .accounts(let asked): (accounts, first) = (asked.uniqueInSortOrder, .first)
    case .after(let id, _):
      guard let next = id.map(\.next) ?? SleeperID.first else { return .sleepers([], next: nil) }
      (accounts, first) = (state.accounts.keys.sorted().uniqueInSortOrder, next)
    }
    let found = accounts.flatMap { sleepers(of: $0) }.filter { $0.id.sortKey >= first.sortKey }
    let listed = Array(found.prefix(query.limit))
    return .sleepers(listed, next: listed.count == query.limit ? listed.last?.id : nil)
  }

  private func sleepers(of id: AccountID) -> [Sleeper] {
    guard let account = state.accounts[id] else { return [] }
    let sleepers = account.members.compactMap { member in
      member.wakes.map {
        Sleeper(
          id: SleeperID(account: id, device: member.device.id), wakes: $0,
          newest: account.head.mark, scope: member.device.scope,
          subscriptions: member.subscriptions)
      }
    }
    return sleepers.sorted { $0.id.sortKey < $1.id.sortKey }
  }

  func wakes(of id: SleeperID) -> DeviceWakes? {
    state.accounts[id.account].flatMap { account in
      account.position(of: id.device).flatMap { account.members[$0].wakes }
    }
  }

  private func setWakes(_ wakes: DeviceWakes, of id: SleeperID) {
    guard let position = state.accounts[id.account]?.position(of: id.device) else { return }
    state.accounts[id.account]?.members[position].wakes = wakes.isEmpty ? nil : wakes
  }
}
