import LockstepCrypto
import LockstepJSON
import LockstepModel
import LockstepSealing

/// Sealed zones: the replica works on opened records, and only sealed ones leave it. A relay cannot
/// make a valid record, but it can withhold, delete and repeat. So in a sealed zone
///
/// - a record that does not open is neither taken nor overwritten: it is listed as unreadable, and
///   local changes to it wait;
/// - a tombstone of the relay, or a record's absence from a snapshot, deletes nothing: what is held
///   is saved again. A deletion is a sealed record (`ZoneSeal`);
/// - the versions that are sealed in the records decide which of two versions includes the
///   other, and not their tags and times: a version that the held one includes is a former version,
///   and the held one is saved again; versions that do not include each other are merged.
///
/// A zone is *locked* once the relay has had a sealed record of it, or the record of the account's
/// keys, and this device has no keys: it takes nothing of the zone, and sends nothing, until it has
/// the keys.
struct SealedZones {
  /// This home as the author of versions; nil until it makes one.
  var writer: SealingWriter?
  /// Keys of the sealed zones; nil if none is sealed. A zone that was sealed once is never taken
  /// for a plain one.
  private(set) var held: SealingKeys?
  private var seals = ZoneSeals()
  /// Records at the relay that this device cannot read, by their names there, with the reason:
  /// those that came with the changes, and those that the relay has reported as conflicts with a
  /// change. The latter are not stored: the change is tried again in the next process, and if the
  /// relay was restored.
  private(set) var unreadable: [RecordKey: SealFault] = [:]
  private var unreadableConflicts: [RecordKey: SealFault] = [:]
  /// True if more of them were found than are listed. Until all are read anew, no local change to
  /// an unlisted record can replace one: the relay refuses it as a conflict.
  private(set) var hasMoreUnreadable = false
  var lock = ZoneLock()
  /// Zones that another device has sealed, and this one will, once their changes in flight are
  /// answered.
  var awaited = ZoneSet.empty
  /// Zone of which plain records are taken (`PlainRecords.taken`).
  var takenZone: Name?
  /// Set while this device saves records again that former keys have sealed.
  var resealing: Resealing?
  /// This device's own key, for new keys of the account; nil until it has one.
  var deviceKey: X25519PrivateKey?
  var members = KeyMembers()
  private let relayNames = RelayNames()

  func seal(_ zone: Name) -> ZoneSeal? { held.flatMap { seals.seal(zone, $0) } }

  var isEmpty: Bool { held == nil }

  func isSealed(_ zone: Name) -> Bool { seal(zone) != nil }

  /// True if the relay is known to have records that the device cannot read.
  var hasUnreadable: Bool {
    !unreadable.isEmpty || hasMoreUnreadable || !unreadableConflicts.isEmpty
      || !lock.isEmpty || awaited != .empty
  }

  mutating func adopt(_ keys: SealingKeys) {
    held = keys
    seals = ZoneSeals()
    lock.open(keys)
  }

  func isLocked(_ zone: Name) -> Bool { lock.contains(zone) && !isSealed(zone) }

  mutating func setUnreadable(_ faults: [RecordKey: SealFault], hasMore: Bool) {
    unreadable = faults
    hasMoreUnreadable = hasMore
  }

  mutating func noteConflict(_ key: RecordKey, _ fault: SealFault) {
    unreadableConflicts[key] = fault
  }

  mutating func retryConflicts() { unreadableConflicts = [:] }

  /// All of both kinds.
  var allUnreadable: [RecordKey: SealFault] {
    if unreadableConflicts.isEmpty { return unreadable }
    return unreadable.merging(unreadableConflicts) { first, _ in first }
  }

  /// Returns true if that changed the list.
  mutating func note(_ key: RecordKey, _ fault: SealFault?) -> Bool {
    unreadableConflicts[key] = nil
    guard unreadable[key] != fault else { return false }
    if fault != nil, unreadable[key] == nil, unreadable.count >= Limits.unreadableRecords {
      defer { hasMoreUnreadable = true }
      return !hasMoreUnreadable
    }
    unreadable[key] = fault
    return true
  }

  /// Their number; one more stands for those that are not listed.
  var unreadableCount: Int { allUnreadable.count + (hasMoreUnreadable ? 1 : 0) }

  /// Returns the record's name at the relay.
  func relayName(of key: RecordKey, _ seal: ZoneSeal) -> Name { relayNames.name(of: key, seal) }

  func firstUnreadable(_ count: Int) -> [AgentStatus.Unreadable] {
    allUnreadable.sorted { $0.key < $1.key }.prefix(count).map {
      AgentStatus.Unreadable(key: $0.key, fault: $0.value)
    }
  }

  /// True if the relay has a version of this record that the device cannot read, or may have one.
  func isUnreadable(_ key: RecordKey) -> Bool {
    if lock.contains(key.zone) || awaited.contains(key.zone), !isSealed(key.zone) { return true }
    guard hasUnreadable, let seal = seal(key.zone) else { return false }
    let relayKey = RecordKey(zone: key.zone, name: relayNames.name(of: key, seal))
    return unreadable[relayKey] != nil || unreadableConflicts[relayKey] != nil
  }
}

/// Zones that are locked (`SealedZones`): those of which sealed records have come, and those that
/// the record of the account's keys names.
struct ZoneLock: Hashable {
  private(set) var zones: Set<Name> = []
  private var account = ZoneSet.empty

  init() {}

  var isEmpty: Bool { zones.isEmpty && account == .empty }

  /// True if all zones are locked but some.
  var isAccountLocked: Bool { if case .all = account { true } else { false } }

  /// Zones that are locked, if not all are.
  var namedZones: Set<Name> {
    if case .only(let sealed) = account { zones.union(sealed) } else { zones }
  }

  func contains(_ zone: Name) -> Bool {
    zones.contains(zone) || (zone != KeyRing.zone && account.contains(zone))
  }

  /// Returns true if the zone was not among `zones` before.
  mutating func insert(_ zone: Name) -> Bool { zones.insert(zone).inserted }

  /// Locks further zones of the account.
  mutating func lock(_ sealed: ZoneSet) { account = account.union(sealed) }

  /// Opens what these keys open.
  mutating func open(_ keys: SealingKeys) {
    zones = zones.filter { keys.keys(of: $0) == nil }
    if keys.current != nil { account = .empty }
  }

  var storedText: String {
    account.setting(in: ["zones": .array(zones.sorted().map { .string($0.text) })]).text
  }

  /// A text in another form locks nothing: the records do so again.
  init(stored text: String) {
    let value = JSONValue(ifJSON: Array(text.utf8))
    zones = Set((value?["zones"]?.array ?? []).compactMap { $0.string.flatMap { Name($0) } })
    account = ZoneSet(in: value) ?? .empty
  }
}

/// Progress of a device that has made new keys, and saves all records again with them.
struct Resealing: Hashable {
  /// Records up to this one are done; nil: none is.
  var done: RecordKey?

  init(done: RecordKey? = nil) { self.done = done }

  var storedText: String {
    guard let done else { return "{}" }
    let value: JSONValue = ["zone": .string(done.zone.text), "name": .string(done.name.text)]
    return value.text
  }

  /// A text in another form begins again.
  init(stored text: String) {
    let value = JSONValue(ifJSON: Array(text.utf8))
    guard let zone = value?["zone"]?.string.flatMap({ Name($0) }),
      let name = value?["name"]?.string.flatMap({ Name($0) })
    else { return }
    done = RecordKey(zone: zone, name: name)
  }
}

/// Seals of zones, each made once.
private final class ZoneSeals {
  private var seals: [Name: ZoneSeal?] = [:]

  func seal(_ zone: Name, _ keys: SealingKeys) -> ZoneSeal? {
    if let seal = seals[zone] { return seal }
    let seal = keys.keys(of: zone).map { ZoneSeal($0) }
    if seals.count >= Limits.zoneSealsKept { seals = [:] }
    seals[zone] = .some(seal)
    return seal
  }
}

/// A home as the author of versions. Its id is its own as long as it knows all numbers that it has
/// given. If it meets a greater one, its disk was set back, or copied to another home: it then
/// takes a new id. It also takes one where that may have happened unnoticed, because the relay was
/// set back with it: in a new incarnation of its store.
struct SealingWriter: Hashable {
  let id: WriterID
  /// Of the store, when the id was drawn.
  let incarnation: String?
  /// Ids of earlier incarnations, the newest first; at most `Limits.givenIDs`. Each was used in one
  /// incarnation alone, so that its greater numbers include its smaller ones.
  private let former: [WriterID]
  /// Greatest number that it has given.
  private(set) var greatest: Int64

  /// `writer`: the home's in the incarnation before.
  init(id: WriterID, incarnation: String?, after writer: SealingWriter? = nil) {
    self.id = id
    self.incarnation = incarnation
    former = writer.map { Array(([$0.id] + $0.former).prefix(Limits.givenIDs)) } ?? []
    greatest = writer?.greatest ?? 0
  }

  /// True if the id is or was this home's, and none of its versions is known to be forgotten.
  func includes(_ other: WriterID) -> Bool { other == id || former.contains(other) }

  /// Numbers leave gaps of random length, up to this, so that a home that was set back hardly ever
  /// gives a number twice.
  private static let longestStep: Int64 = 1 << 20

  /// Returns the id of a new version on those that `made` includes; nil if there is no number left.
  mutating func nextID(on made: VersionVector, _ random: inout SeededRandom) -> VersionID? {
    let step = Int64.random(in: 1...Self.longestStep, using: &random)
    let number = max(greatest, made.greatest) + step
    guard number < Limits.sequenceLimit else { return nil }
    greatest = number
    return VersionID(writer: id, number: number)
  }

  /// Returns the form in which a home keeps it.
  var storedText: String {
    let value: JSONValue = [
      "id": .string(id.text), "greatest": .number(JSONNumber(greatest)),
    ]
    let ids = former.isEmpty ? nil : JSONValue.array(former.map { .string($0.text) })
    return value.setting("incarnation", to: incarnation.map { .string($0) })
      .setting("former", to: ids).text
  }

  /// Returns nil if the text is not a `storedText`. The home then takes a new id.
  init?(stored text: String) {
    let value = JSONValue(ifJSON: Array(text.utf8))
    guard let id = value?["id"]?.string.flatMap({ WriterID(text: $0) }),
      let greatest = value?["greatest"]?.int64, (0..<Limits.sequenceLimit).contains(greatest)
    else { return nil }
    self.id = id
    self.greatest = greatest
    incarnation = value?["incarnation"]?.string
    former = (value?["former"]?.array ?? []).compactMap { $0.string.flatMap { WriterID(text: $0) } }
  }
}

/// Names of records at the relay, computed once each: a change in the outbox is looked up with each
/// job.
private final class RelayNames {
  private var names: [RecordKey: Name] = [:]

  func name(of key: RecordKey, _ seal: ZoneSeal) -> Name {
    if let name = names[key] { return name }
    let name = seal.relayName(of: key.name)
    if names.count >= Limits.relayNamesKept { names = [:] }
    names[key] = name
    return name
  }
}
