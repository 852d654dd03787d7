import LockstepClient
import LockstepCrypto
import LockstepModel
import LockstepSealing
import LockstepStorage

/// Checks the keys of an account at the end: all its devices have the same, and a device that was
/// removed can find none that were made after that, whatever the relay shows it.
struct KeyChecker {
  let ledger: CommitLedger
  let account: AccountID
  /// All that ever were devices of the account.
  let devices: [DeviceMachine]
  let rotations: [SavedKeys]

  /// Returns nil if nothing is wrong.
  func difference() throws(StorageError) -> String? {
    let staying = devices.filter { !$0.isSignedOut }
    guard let first = staying.first, let keys = try Replica.keys(in: first.store) else {
      return nil
    }
    for device in staying {
      let held = try Replica.keys(in: device.store)
      // Keys that were joined may be in another order.
      let isSame = held.map { $0.contains(keys) && keys.contains($0) } ?? false
      guard isSame else {
        return "\(device.name) has \(Self.ids(held)), and \(first.name) \(Self.ids(keys))"
      }
      if let status = device.status, status.unreadableCount > 0 {
        return "\(device.name) cannot read \(status.unreadable)"
      }
    }
    if let difference = try ringDifference(keys) { return difference }
    return try removalDifference()
  }

  /// Checks that the record of the keys is of these, so that a phrase gives all of them.
  private func ringDifference(_ keys: SealingKeys) throws(StorageError) -> String? {
    guard let current = keys.current, let ring = ledger.stored(account, KeyRing.key) else {
      return nil
    }
    do throws(KeyRing.Fault) {
      return try KeyRing.keys(in: ring.value, openedBy: current).contains(keys)
        ? nil : "the record of the keys has others than the devices"
    } catch {
      return "the record of the keys is not of the newest ones: \(error)"
    }
  }

  private func removalDifference() throws(StorageError) -> String? {
    for (index, saved) in rotations.enumerated() {
      guard let gone = saved.gone else { continue }
      let known = try generations(knownTo: gone)
      let later = rotations[index...].compactMap(\.all.current)
      if let found = later.first(where: { known.contains($0) }) {
        return "\(gone.name) was removed, and knows \(found)"
      }
    }
    return nil
  }

  /// Returns the generations that a device has, and finds in all that the relay ever had.
  private func generations(knownTo device: DeviceMachine) throws(StorageError) -> [KeyGeneration] {
    var known = Self.generations(of: try Replica.keys(in: device.store))
    guard let deviceKey = try Replica.deviceKey(in: device.store) else { return known }
    var publicKeys: [[UInt8]] = []
    for other in devices {
      if let key = try Replica.deviceKey(in: other.store) { publicKeys.append(key.publicKey) }
    }
    let ids = devices.map(\.credentials.device)
    let records = ledger.everStored(account, in: KeyRing.zone)
    for record in records {
      for (author, addressee) in ids.flatMap({ author in ids.map { (author, $0) } }) {
        for publicKey in publicKeys {
          let next = KeyHandover.next(
            in: record.value, for: addressee, by: author, publicKey, key: deviceKey)
          known += Self.generations(of: next?.all)
        }
      }
    }
    for record in records where record.key == KeyRing.key {
      for generation in known {
        known += Self.generations(of: Self.ring(record, openedBy: generation))
      }
    }
    return known
  }

  private static func ring(_ record: Record, openedBy generation: KeyGeneration) -> SealingKeys? {
    do throws(KeyRing.Fault) {
      return try KeyRing.keys(in: record.value, openedBy: generation)
    } catch {
      return nil
    }
  }

  private static func generations(of keys: SealingKeys?) -> [KeyGeneration] {
    guard case .account(let account, _)? = keys else { return [] }
    return account.generations
  }

  private static func ids(_ keys: SealingKeys?) -> [String] { generations(of: keys).map(\.id) }
}

extension World {
  func checkKeys() {
    guard profile.rotatesKeys else { return }
    for account in accounts where environment.faults.isEmpty {
      let checker = KeyChecker(
        ledger: ledger, account: account,
        devices: devices.filter { $0.credentials.account == account },
        rotations: rotations[account] ?? [])
      do throws(StorageError) {
        if let difference = try checker.difference() { environment.fault(difference) }
      } catch {
        environment.fault("the keys cannot be read: \(error)")
      }
    }
  }
}
