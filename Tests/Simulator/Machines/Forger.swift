import LockstepModel
import LockstepSimulation
import LockstepStorage

/// A relay that writes into an account's sealed zone without having its key: what devices have
/// sealed, in other places, and what nobody has sealed.
struct Forger {
  let account: AccountID
  let devices: [DeviceID]
  /// All records that the relay ever had in the zone, oldest first, and those that it has now.
  private let versions: [Record]
  private let current: [Record]

  private enum Form: CaseIterable {
    /// An earlier version.
    case former
    /// A version under another record's name.
    case otherName
    /// The current version, with another time or another author.
    case otherTime, otherAuthor
    /// A record that is not sealed, under a record's name at the relay, or under its own.
    case plain, plainName
    /// A changed byte of a seal, and a seal by an unknown key.
    case altered, unknownKey
    /// A deletion that no device has made.
    case tombstone
  }

  init(_ account: AccountID, devices: [DeviceID], _ ledger: CommitLedger) {
    self.account = account
    self.devices = devices
    versions = ledger.everStored(account, in: NotesApp.zone)
    current = ledger.stored(account).filter { $0.zone == NotesApp.zone }
  }

  /// Draws the next record that the relay writes; nil if it has nothing to make one of.
  func next(_ random: inout SeededRandom) -> SaveCommit? {
    guard !versions.isEmpty, !current.isEmpty, !devices.isEmpty else { return nil }
    let forms = Form.allCases
    let version = random.one(of: versions)
    var record = random.one(of: current)
    switch forms[random.count(in: 0...forms.count - 1)] {
    case .former: record = version
    case .otherName:
      let name = record.name
      record = version
      record.name = name
    case .otherTime: record.modifiedAt += random.one(of: [-60_000, -1, 1, 60_000])
    case .otherAuthor: record.device = random.one(of: devices)
    case .plain: setPlain(&record, &random)
    case .plainName:
      record.name = NotesApp.key(random.count(in: 0...3)).name
      setPlain(&record, &random)
    case .altered: alter(&record, &random)
    case .unknownKey: record.fields = Array(#"{"key":"0011223344556677","sealed":"AAAA"}"#.utf8)
    case .tombstone: record.fields = nil
    }
    return save(record, &random)
  }

  /// Returns the save of a tombstone in place of this record.
  func removal(of record: Record, _ random: inout SeededRandom) -> SaveCommit {
    var record = record
    record.fields = nil
    return save(record, &random)
  }

  private func save(_ record: Record, _ random: inout SeededRandom) -> SaveCommit {
    let mutation = Mutation(
      name: record.name, type: record.type, fields: record.fields, modifiedAt: record.modifiedAt,
      baseTag: nil)
    let request = SaveRequest(
      id: BatchID(random: &random), zone: record.zone, atomic: false, mutations: [mutation])
    return SaveCommit(account: account, device: record.device, request: request, digest: [])
  }

  /// Makes the record a note with a text that no user writes.
  private func setPlain(_ record: inout Record, _ random: inout SeededRandom) {
    record.type = NotesApp.type
    record.fields = Array("{\"text\":\(random.number(in: 900_000_000...900_999_999))}".utf8)
  }

  /// Changes one character of what is sealed.
  private func alter(_ record: inout Record, _ random: inout SeededRandom) {
    guard var fields = record.fields, fields.count > 60 else { return }
    let index = random.count(in: 40...fields.count - 10)
    fields[index] = fields[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
    record.fields = fields
  }
}

extension World {
  /// Writes so many records of the relay's own into the account's sealed zone. Returns true if
  /// there was one.
  func forge(_ records: Int, in account: AccountID) -> Bool {
    let forger = forger(account)
    var hasForged = false
    for _ in 0..<records {
      guard let save = forger.next(&fate) else { continue }
      order(save)
      hasForged = true
    }
    return hasForged
  }

  /// Replaces all that no device can read by tombstones, as a relay does whose owner has noticed.
  func replaceForgeries() {
    // A later store may have been given what an earlier one could not save.
    guard relay.hasNoOrders else {
      return environment.timeline.after(Span.seconds(1)) { [unowned self] in replaceForgeries() }
    }
    for account in accounts {
      let forger = forger(account)
      for record in ledger.unreadable(account) { order(forger.removal(of: record, &fate)) }
    }
    if !relay.hasNoOrders { replaceForgeries() }
  }

  private func forger(_ account: AccountID) -> Forger {
    let own = devices.filter { $0.credentials.account == account }.map(\.credentials.device)
    return Forger(account, devices: own, ledger)
  }

  private func order(_ save: SaveCommit) {
    relay.store.recordForgery(save.request.id)
    relay.administer(.save(save))
  }
}
