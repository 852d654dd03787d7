import LockstepModel
import LockstepStorage

/// The registrations for wakes of the devices that a commit has locked, kept up to date with the
/// changes of the commit.
///
/// Their rows are locked at the beginning of a commit, in the order of their ids and after the
/// accounts, because the sightings and reports of a commit concern many accounts and lock none.
/// Only a claim locks rows later, and it skips those locked by others.
final class LockedWakes {
  private var known: [SleeperID: DeviceWakes] = [:]

  /// nil if the device has none, or no request names it.
  subscript(id: SleeperID) -> DeviceWakes? {
    get { known[id] }
    set { known[id] = newValue.flatMap { $0.isEmpty ? nil : $0 } }
  }

  func removeAll(of account: AccountID) { known = known.filter { $0.key.account != account } }

  /// Returns the parameters of `lock`; nil if the requests name no devices.
  func lockParameters(for requests: [CommitRequest]) -> PostgresParameters? {
    var ids: [SleeperID] = []
    var accounts: [AccountID] = []
    for request in requests {
      ids += request.sleepers
      if case .removeAccount(let account) = request { accounts.append(account) }
    }
    if ids.isEmpty, accounts.isEmpty { return nil }
    return PostgresParameters().bind(ids.map(\.account.rawValue)).bind(ids.map(\.device.rawValue))
      .bind(accounts.map(\.rawValue))
  }

  func read(_ rows: PostgresRows) throws(PostgresFault) {
    for (id, wakes) in try rows.all({ (row) throws(PostgresFault) in
      (row.sleeperID, try row.wakes(2))
    }) { known[id] = wakes }
  }

  /// Locks the rows of the devices, and all rows of the accounts. Looks up one key after the other,
  /// in their order: a join of the whole table might scan it.
  static let lock = PostgresStatement(
    "lock wakes",
    """
    SELECT held.account, held.device, held.content FROM (
      SELECT * FROM unnest($1::bigint[], $2::bigint[]) AS asked (account, device)
      UNION SELECT account, device FROM wakes WHERE account = ANY ($3::bigint[])
      ORDER BY account, device
    ) AS asked CROSS JOIN LATERAL (
      SELECT account, device, content FROM wakes
      WHERE wakes.account = asked.account AND wakes.device = asked.device FOR UPDATE
    ) AS held
    """)
}

extension CommitRequest {
  /// Devices whose rows of registrations must be locked. A claim skips rows locked by others.
  fileprivate var sleepers: [SleeperID] {
    switch self {
    case .putWake(let account, let device, _, _, _), .removeWake(let account, let device, _),
      .verifyWake(let account, let device, _, _), .revokeDevice(let account, let device):
      [SleeperID(account: account, device: device)]
    case .touchDevices(let sightings):
      sightings.compactMap { sighting in sighting.contact.map { _ in sighting.sleeper } }
    case .reportWakes(let reports): reports.map(\.id)
    case .createAccount, .issuePairing, .redeemPairing, .renameDevice, .checkWritable, .save,
      .deleteZone, .deleteZoneRest, .putSubscription, .removeSubscription, .setPlan,
      .removeAccount, .addChunk, .renewChunks, .confirmChunks, .markChunksMissing, .collectChunks,
      .claimWakes, .addWakeKey, .move:
      []
    }
  }
}

/// Registrations of devices for wakes, and the relay's keys for push services.
extension CommitRun {
  func putWake(
    _ registration: WakeRegistration, for id: SleeperID, keyMadeAt: Int64, codeHash: [UInt8]
  ) -> CommitResult {
    guard accounts.isMember(id.device, of: id.account), let account = accounts[id.account] else {
      return .refused(StoreRefusals.revokedDevice)
    }
    var row = wakes[id] ?? DeviceWakes(newest: account.head.mark)
    guard let put = row.put(registration, keyMadeAt: keyMadeAt, codeHash: codeHash) else {
      return .refused(StoreRefusals.tooManyWakes)
    }
    wakes[id] = row
    writeWakes(of: [id])
    recordMembershipChange(of: id.account)
    return .wakePut(isNew: put.isNew, isVerified: put.isVerified)
  }

  func removeWake(_ name: Name, of id: SleeperID) -> CommitResult {
    guard var row = wakes[id], row.remove(name) else {
      return .refused(StoreRefusals.unknownWake)
    }
    wakes[id] = row
    writeWakes(of: [id])
    recordMembershipChange(of: id.account)
    return .done
  }

  /// Removes all registrations of the device.
  func removeWakes(of id: SleeperID) {
    guard wakes[id] != nil else { return }
    wakes[id] = nil
    writeWakes(of: [id])
  }

  func verifyWake(_ name: Name, of id: SleeperID, codeHash: [UInt8]) -> CommitResult {
    guard var row = wakes[id], row.entry(name) != nil else {
      return .refused(StoreRefusals.unknownWake)
    }
    guard row.verify(name, codeHash: codeHash, at: wall) else {
      return .refused(StoreRefusals.badWakeCode)
    }
    wakes[id] = row
    writeWakes(of: [id])
    return .done
  }

  func recordContacts(of sightings: [DeviceSighting]) {
    var changed: [SleeperID] = []
    for sighting in sightings {
      guard let contact = sighting.contact, var row = wakes[sighting.sleeper],
        row.contact(contact, at: sighting.lastSeen)
      else { continue }
      wakes[sighting.sleeper] = row
      changed.append(sighting.sleeper)
    }
    writeWakes(of: changed)
  }

  /// Skips devices that another relay has locked, and those connected to another relay.
  func claimWakes(
    _ ids: [SleeperID], keys: WakeKeyTimes
  ) throws(PostgresFault) -> CommitResult {
    if ids.isEmpty { return .wakesClaimed([]) }
    let parameters = PostgresParameters().bind(ids.map(\.account.rawValue))
      .bind(ids.map(\.device.rawValue)).bind(relay)
    let rows = try query { $0.add(WakeWriter.claim, parameters) }[0]
    try wakes.read(rows)
    var marks = Dictionary(
      rows.all { ($0.sleeperID, $0.mark(3)) }, uniquingKeysWith: { first, _ in first })
    var claimed: [ClaimedWake] = []
    for id in ids {
      guard let mark = marks.removeValue(forKey: id), var row = wakes[id] else { continue }
      let newest = accounts[id.account]?.head.mark ?? mark
      guard let claim = row.claim(newest: newest, keys: keys, at: wall) else { continue }
      wakes[id] = row
      claimed.append(
        ClaimedWake(id: id, claim.purpose, newest: newest, entries: claim.entries))
    }
    writeWakes(of: claimed.map(\.id))
    return .wakesClaimed(claimed)
  }

  func reportWakes(_ reports: [WakeReport]) -> CommitResult {
    var changed: [SleeperID] = []
    for report in reports {
      guard let former = wakes[report.id] else { continue }
      var row = former
      row.apply(report.event, at: wall)
      if row == former { continue }
      wakes[report.id] = row
      changed.append(report.id)
    }
    writeWakes(of: changed)
    return .done
  }

  /// `WakeWriter.lockKeys` has locked the keys.
  func addWakeKey(_ key: WakeKey, onlyFirst: Bool) throws(PostgresFault) -> CommitResult {
    let keys = try query { $0.add(WakeQueries.allKeys) }[0].all { $0.wakeKey }
    if onlyFirst, !keys.isEmpty { return .wakeKeys(keys) }
    let key = key.after(keys)
    write(WakeWriter.insertKey, PostgresParameters().bind(key.madeAt).bind(key.privateKey))
    return .wakeKeys(keys + [key])
  }

  /// Writes the present registrations of the devices, or deletes the rows of those without any.
  private func writeWakes(of ids: [SleeperID]) {
    let rows = Set(ids).sorted().map { (id: $0, text: wakes[$0]?.storedText) }
    let gone = rows.filter { $0.text == nil }
    if !gone.isEmpty {
      write(
        WakeWriter.delete,
        PostgresParameters().bind(gone.map(\.id.account.rawValue))
          .bind(gone.map(\.id.device.rawValue)))
    }
    let held = rows.filter { $0.text != nil }
    guard !held.isEmpty else { return }
    write(
      WakeWriter.put,
      PostgresParameters().bind(held.map(\.id.account.rawValue))
        .bind(held.map(\.id.device.rawValue)).bind(held.map(\.text)))
  }
}

/// SQL statements.
enum WakeWriter {
  fileprivate static let put = PostgresStatement(
    "put wakes",
    """
    INSERT INTO wakes (account, device, content)
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[])
    ON CONFLICT (account, device) DO UPDATE SET content = excluded.content
    """)
  fileprivate static let delete = PostgresStatement(
    "delete wakes",
    """
    DELETE FROM wakes USING unnest($1::bigint[], $2::bigint[]) AS gone (account, device)
    WHERE wakes.account = gone.account AND wakes.device = gone.device
    """)
  fileprivate static let claim = PostgresStatement(
    "claim wakes",
    """
    SELECT account, device, content, generation, newest
    FROM (SELECT DISTINCT * FROM unnest($1::bigint[], $2::bigint[]) AS asked (account, device))
      AS asked
    JOIN wakes USING (account, device) JOIN devices USING (account, device)
    JOIN accounts USING (account)
    WHERE \(ListenerQueries.isConnected(besides: "$3")) IS NOT TRUE
    ORDER BY account, device FOR UPDATE OF wakes SKIP LOCKED
    """)
  /// Held until the end of the transaction, so that of several relays that start at once only one
  /// adds the first key. Each schema of a database has a lock of its own.
  static let lockKeys = PostgresStatement(
    "lock wake keys",
    """
    SELECT pg_advisory_xact_lock(hashtextextended('lockstep wake keys ' || current_schema(), 0))
      IS NULL
    """)
  fileprivate static let insertKey = PostgresStatement(
    "insert wake key",
    """
    INSERT INTO wake_keys (made_at, private_key) VALUES ($1::bigint, $2::bytea)
    """)
}
