import Lockstep
import LockstepApps
import LockstepClient
import LockstepCommandLine
import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepSealing
import LockstepStorage
import LockstepStorageSQLite
import LockstepWire

/// The sealing of zones that have plain records, of an account whose devices go on meanwhile:
///
/// 1. The home gets keys, if the account has none, and the record of the keys names them.
/// 2. The other devices get the keys by pairing codes. Until all of them have them, nothing else
///    happens, unless the person says so.
/// 3. The record of the keys names the zones. Each device that reads it seals them from then on.
/// 4. This home saves their records sealed, and deletes the plain ones once the relay has a sealed
///    record that includes them.
///
/// Each step can be repeated, and a command that was stopped continues when it is given again.
package struct ZoneSealing {
  private let session: HomeSession
  private let member: HomeAccess
  private let progress: Progress

  package init(_ session: HomeSession, _ progress: Progress) throws(CommandFailure) {
    self.session = session
    member = try HomeAccess(of: session)
    self.progress = progress
  }

  /// Result of the work on one zone.
  package struct Outcome {
    package let zone: Name
    /// Plain records that were replaced by sealed ones.
    package fileprivate(set) var sealed = 0
    /// Plain records that the relay still has.
    package fileprivate(set) var remaining = 0
  }

  // MARK: keys

  /// Returns the account's keys, which this home makes if there are none.
  package func keys() throws(CommandFailure) -> SealingKeys {
    _ = try session.send(.sync(milliseconds: HomeSession.patienceMilliseconds))
    if let keys = try HomeKeys.keys(in: session.folder) {
      guard keys.current != nil else {
        throw CommandFailure(
          localized("this device has the keys of some zones, and not those of the account"))
      }
      return try HomeKeys.storeRing(keys, member)
    }
    let ring = try member.call.record(KeyRing.record, zone: KeyRing.zone, token: member.token)
    guard ring == nil else { throw Self.isWithoutKeys }
    let keys = DeviceKeys.make(.empty)
    // Before the relay's record, which nobody could open if this were lost.
    _ = try session.send(HomeKeys.request(keys))
    return try HomeKeys.storeRing(keys, member)
  }

  private static var isWithoutKeys: CommandFailure {
    CommandFailure(
      localized(
        "the account has keys, and this device does not have them: get them with "
          + "a code of lockstep agent pair from a device that has them (lockstep "
          + "agent join --code CODE)"))
  }

  /// Other devices that may read one of the zones, and are not known to have their keys.
  package struct DevicesWithoutKeys {
    package let wholeAccount: [Device]
    /// Paired for some zones: they get their keys only once these are sealed.
    package let someZones: [Device]
  }

  package func devicesWithoutKeys(
    _ zones: [Name]
  ) throws(CommandFailure) -> DevicesWithoutKeys {
    let devices = try member.call.devices(token: member.token).devices
    let own = HomeStatus(json: try session.send(.status)).device
    let members = try HomeKeys.reading(session.folder) { store throws(StorageError) in
      try Replica.members(in: store)
    }
    let lacking = devices.filter { device in
      device.id.text != own && zones.contains { device.scope.includes($0) }
        && members.key(of: device.id) == nil
    }
    return DevicesWithoutKeys(
      wholeAccount: lacking.filter { $0.scope.zones == nil },
      someZones: lacking.filter { $0.scope.zones != nil })
  }

  // MARK: zones

  /// Seals the zones. Returns what became of each.
  package func seal(_ zones: [Name], _ keys: SealingKeys) throws(CommandFailure) -> [Outcome] {
    for zone in zones { try refuseFiles(of: zone) }
    let all = try HomeKeys.storeRing(keys.sealing(.only(Set(zones))), member)
    var outcomes: [Outcome] = []
    for zone in zones { outcomes.append(try seal(zone, all)) }
    progress.clear()
    return outcomes
  }

  /// True if the relay has live records of the zone.
  package func hasRecords(_ zone: Name) throws(CommandFailure) -> Bool {
    let records = try relayRecords(of: zone)
    return !records.plain.isEmpty || !records.sealed.isEmpty
  }

  /// Throws if the zone has files that the relay can read: they would stay as they are.
  private func refuseFiles(of zone: Name) throws(CommandFailure) {
    let files = try relayRecords(of: zone).plain.filter { !$0.chunks.isEmpty }
    if zone == VaultApp.zone {
      let readable = files.filter { record in
        let fields = record.value ?? .null
        return !VaultApp().unsealedChunks(in: fields, of: record.type, zone: zone).isEmpty
      }
      guard let file = readable.map({ Log.oneLine($0.name.text) }).min() else { return }
      throw CommandFailure(
        localized(
          "the vault has files that are not sealed, such as {file}: delete each "
            + "on one device, and add it again without --plain (lockstep vault add)", ["file": file]
        ))
    }
    guard files.isEmpty else {
      throw CommandFailure(
        localized(
          "zone {zone} has records with files, and files that were attached "
            + "before cannot be sealed: remove them, or keep the zone as it is", ["zone": zone.text]
        ))
    }
  }

  /// Attempts without progress, each with a sync of `HomeSession.patienceMilliseconds` at most.
  private static let idleAttempts = 5

  private func seal(_ zone: Name, _ keys: SealingKeys) throws(CommandFailure) -> Outcome {
    guard let zoneKeys = keys.keys(of: zone) else { throw Self.isWithoutKeys }
    let seal = ZoneSeal(zoneKeys)
    try adopt(keys, taking: zone)
    var outcome = Outcome(zone: zone)
    var idle = 0
    while true {
      _ = try session.send(.sync(milliseconds: HomeSession.patienceMilliseconds))
      let records = try relayRecords(of: zone)
      outcome.remaining = records.plain.count
      guard !records.plain.isEmpty, idle < Self.idleAttempts else { break }
      let replaced = try delete(records.replaced(by: seal), zone)
      outcome.sealed += replaced
      outcome.remaining -= replaced
      idle = replaced == 0 ? idle + 1 : 0
      let total = outcome.sealed + outcome.remaining
      progress.show(
        localized(
          "zone {zone}: {count} of {total} records sealed",
          ["zone": zone.text, "count": "\(outcome.sealed)", "total": "\(total)"]))
    }
    _ = try session.send(HomeKeys.request(keys))
    // The vault's files are sealed with these keys from now on.
    if zone == VaultApp.zone { _ = try session.send(.mirror(["do": "look"])) }
    return outcome
  }

  /// Gives the home the keys. A change that is on its way to the relay must be answered before.
  private func adopt(_ keys: SealingKeys, taking zone: Name) throws(CommandFailure) {
    var attempts = 0
    while true {
      do throws(CommandFailure) {
        _ = try session.send(HomeKeys.request(keys, taking: zone))
        return
      } catch {
        attempts += 1
        guard attempts < Self.idleAttempts else { throw error }
        _ = try session.send(.sync(milliseconds: HomeSession.patienceMilliseconds))
      }
    }
  }

  /// Live records of a zone at the relay.
  private struct RelayRecords {
    var plain: [Record] = []
    var sealed: [Record] = []

    /// Returns the plain records that sealed ones include.
    func replaced(by seal: ZoneSeal) -> [Record] {
      var versions: [Name: RecordVersion] = [:]
      for record in sealed {
        do throws(SealFault) {
          let opened = try seal.opened(record)
          versions[opened.record.name] = opened.version
        } catch {
          continue
        }
      }
      return plain.filter { record in
        guard let id = RecordVersion.plain(record.tag)?.id else { return false }
        return versions[record.name]?.vector.names(id) ?? false
      }
    }
  }

  private func relayRecords(of zone: Name) throws(CommandFailure) -> RelayRecords {
    var found = RelayRecords()
    var since: String?
    while true {
      var request = HTTPCallRequest("GET", path: ["v1", "changes"], token: member.token)
      request.query = [RequestTarget.QueryItem(name: "zone", value: zone.text)]
      if let since { request.query.append(RequestTarget.QueryItem(name: "since", value: since)) }
      let page = try member.call.decoded(try member.call.perform(request)) {
        body throws(Refusal) in try ChangePage.decoded(body: body)
      }
      for record in page.changes where !record.isDeleted {
        if ZoneSeal.keyID(of: record) == nil {
          found.plain.append(record)
        } else {
          found.sealed.append(record)
        }
      }
      guard page.more else { return found }
      since = page.token.text
    }
  }

  /// Deletes these plain records, unless they were changed since. Returns their number.
  private func delete(_ records: [Record], _ zone: Name) throws(CommandFailure) -> Int {
    var deleted = 0
    let now = try member.call.time()
    for start in stride(from: 0, to: records.count, by: Limits.batchRecords) {
      let batch = records[start..<min(start + Limits.batchRecords, records.count)]
      let mutations = batch.map { record in
        Mutation(
          name: record.name, type: record.type, fields: nil,
          modifiedAt: max(now, record.modifiedAt), baseTag: record.tag)
      }
      let results = try member.call.save(mutations, zone: zone, token: member.token)
      for result in results {
        if case .saved = result { deleted += 1 }
      }
    }
    return deleted
  }
}
