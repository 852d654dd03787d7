import LockstepModel
import LockstepStorage

/// Writes the registrations of devices for wakes, and the relay's keys for push services.
final class WakeWriter {
  private let queries: ZoneQueries
  private let put: SQLiteStatement
  private let delete: SQLiteStatement
  private let insertKey: SQLiteStatement

  init(_ connection: SQLiteConnection, queries: ZoneQueries) throws(StorageError) {
    self.queries = queries
    put = try connection.prepare(
      """
      INSERT INTO wakes (account, device, content) VALUES (?, ?, ?)
      ON CONFLICT (account, device) DO UPDATE SET content = excluded.content
      """)
    delete = try connection.prepare("DELETE FROM wakes WHERE account = ? AND device = ?")
    insertKey = try connection.prepare(
      """
      INSERT INTO wake_keys (made_at, private_key) VALUES (?, ?) ON CONFLICT (made_at) DO NOTHING
      """)
  }

  func putWake(
    _ registration: WakeRegistration, for id: SleeperID, keyMadeAt: Int64, codeHash: [UInt8]
  ) throws(StorageError) -> CommitResult {
    guard let newest = try queries.head(of: id.account)?.mark,
      try queries.accounts.isMember(id.device, of: id.account)
    else { return .refused(StoreRefusals.revokedDevice) }
    var wakes = try queries.wakes.wakes(of: id) ?? DeviceWakes(newest: newest)
    guard let put = wakes.put(registration, keyMadeAt: keyMadeAt, codeHash: codeHash) else {
      return .refused(StoreRefusals.tooManyWakes)
    }
    try write(wakes, of: id)
    return .wakePut(isNew: put.isNew, isVerified: put.isVerified)
  }

  func removeWake(_ name: Name, of id: SleeperID) throws(StorageError) -> CommitResult {
    guard var wakes = try queries.wakes.wakes(of: id), wakes.remove(name) else {
      return .refused(StoreRefusals.unknownWake)
    }
    try write(wakes, of: id)
    return .done
  }

  func verifyWake(
    _ name: Name, of id: SleeperID, codeHash: [UInt8], wall: Int64
  ) throws(StorageError) -> CommitResult {
    guard var wakes = try queries.wakes.wakes(of: id), wakes.entry(name) != nil else {
      return .refused(StoreRefusals.unknownWake)
    }
    guard wakes.verify(name, codeHash: codeHash, at: wall) else {
      return .refused(StoreRefusals.badWakeCode)
    }
    try write(wakes, of: id)
    return .done
  }

  func recordContacts(of sightings: [DeviceSighting]) throws(StorageError) {
    for sighting in sightings {
      guard let contact = sighting.contact,
        var wakes = try queries.wakes.wakes(of: sighting.sleeper),
        wakes.contact(contact, at: sighting.lastSeen)
      else { continue }
      try write(wakes, of: sighting.sleeper)
    }
  }

  func claimWakes(
    _ ids: [SleeperID], keys: WakeKeyTimes, wall: Int64
  ) throws(StorageError) -> CommitResult {
    var claimed: [ClaimedWake] = []
    for id in ids {
      guard var wakes = try queries.wakes.wakes(of: id),
        let newest = try queries.head(of: id.account)?.mark
      else { continue }
      guard let claim = wakes.claim(newest: newest, keys: keys, at: wall) else { continue }
      try write(wakes, of: id)
      claimed.append(
        ClaimedWake(id: id, claim.purpose, newest: newest, entries: claim.entries))
    }
    return .wakesClaimed(claimed)
  }

  func reportWakes(_ reports: [WakeReport], wall: Int64) throws(StorageError) -> CommitResult {
    for report in reports {
      guard let former = try queries.wakes.wakes(of: report.id) else { continue }
      var wakes = former
      wakes.apply(report.event, at: wall)
      if wakes != former { try write(wakes, of: report.id) }
    }
    return .done
  }

  func addWakeKey(_ key: WakeKey, onlyFirst: Bool) throws(StorageError) -> CommitResult {
    let keys = try queries.wakes.keys()
    if onlyFirst, !keys.isEmpty { return .wakeKeys(keys) }
    let key = key.after(keys)
    try insertKey.bind(key.madeAt).bind(key.privateKey).run()
    return .wakeKeys(keys + [key])
  }

  /// Writes a device's registrations, or deletes its row if there are none.
  private func write(_ wakes: DeviceWakes, of id: SleeperID) throws(StorageError) {
    let statement = wakes.isEmpty ? delete : put
    statement.bind(id.account.rawValue).bind(id.device.rawValue)
    if !wakes.isEmpty { statement.bind(wakes.storedText) }
    try statement.run()
  }
}
