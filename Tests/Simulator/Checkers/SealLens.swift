import LockstepModel
import LockstepSealing

/// Reads the relay's records as the devices of their account do, which have the keys of its sealed
/// zones.
struct SealLens {
  private var seals: [AccountID: [Name: ZoneSeal]] = [:]
  /// All keys that devices of the account ever had.
  private var known: [AccountID: SealingKeys] = [:]

  /// Reads these zones of the account, as far as the keys seal them.
  mutating func add(_ keys: SealingKeys, _ zones: [Name], of account: AccountID) {
    known[account] = keys
    for zone in zones {
      if let keys = keys.keys(of: zone) { seals[account, default: [:]][zone] = ZoneSeal(keys) }
    }
  }

  /// Also reads what is sealed with these keys, which a device has from now on.
  mutating func learn(_ new: SealingKeys, of account: AccountID) {
    guard case .account(let old, let sealed)? = known[account],
      case .account(let new, _) = new
    else { return }
    let added = new.generations.filter { !old.generations.contains($0) }
    guard !added.isEmpty,
      let all = AccountKeys(nameSecret: old.nameSecret, generations: old.generations + added)
    else { return }
    let zones = (seals[account] ?? [:]).map(\.key).sorted()
    add(.account(all, sealed), zones, of: account)
  }

  func isSealed(_ zone: Name, of account: AccountID) -> Bool { seals[account]?[zone] != nil }

  /// Returns the key that a record has at the relay.
  func relayKey(_ key: RecordKey, of account: AccountID) -> RecordKey {
    guard let seal = seals[account]?[key.zone] else { return key }
    return RecordKey(zone: key.zone, name: seal.relayName(of: key.name))
  }

  /// Returns nil if no device can read the record, or its zone is not sealed.
  func opened(_ record: Record, of account: AccountID) -> OpenedRecord? {
    guard let seal = seals[account]?[record.zone] else { return nil }
    do throws(SealFault) {
      return try seal.opened(record)
    } catch {
      return nil
    }
  }
}

/// Versions in an account's sealed zones.
struct SealedVersions {
  /// The relay's record of each tag, as devices see it; none where they see nothing.
  private var opened: [ChangeTag: OpenedRecord] = [:]
  /// Versions that devices have saved, each without its tag.
  private var saved: Set<Record> = []
  /// The first tag of each of them.
  private var tags: [Version: ChangeTag] = [:]

  private struct Version: Hashable {
    var record: Record
    var version: RecordVersion

    /// Leaves out the tag.
    init(_ opened: OpenedRecord) {
      record = opened.record
      record.tag = 0
      version = opened.version
    }
  }

  subscript(_ tag: ChangeTag) -> OpenedRecord? { opened[tag] }

  mutating func add(_ version: OpenedRecord) { opened[version.record.tag] = version }

  /// Registers that a device has saved this version.
  mutating func addSaved(_ version: OpenedRecord) {
    let plain = Version(version)
    saved.insert(plain.record)
    if tags[plain] == nil { tags[plain] = version.record.tag }
  }

  /// Returns the tag under which a device has saved this version; nil if none has.
  func firstTag(of version: OpenedRecord) -> ChangeTag? { tags[Version(version)] }

  /// True if a device has saved this version, under whatever tag.
  func wasSaved(_ record: Record) -> Bool {
    var plain = record
    plain.tag = 0
    return saved.contains(plain)
  }
}
