import LockstepCrypto
import LockstepJSON
import LockstepModel
import LockstepSealing
import LockstepStorage
import Testing

@testable import LockstepClient

/// Two devices with a sealed zone, and a relay that has no key: it stores what they save, and does
/// what it likes with it.
struct ReplicaSealingTests {
  private var relay = KeylessRelay()

  // MARK: an honest relay

  @Test mutating func whatOneDeviceWritesTheOtherReads() throws {
    var (desk, phone) = try pair()
    try write("diary", "a secret", on: &desk)
    try read(on: &phone)
    #expect(try phone.store.record(.desk("diary"))?.text == "a secret")
    #expect(phone.changed.map(\.name.text) == ["diary"])
  }

  @Test mutating func theRelayHasNoWordOfIt() throws {
    var (desk, _) = try pair()
    try write("diary", "a secret", on: &desk)
    let stored = relay.records.map { "\($0.name.text) \($0.type.text) \($0.content)" }.joined()
    for word in ["diary", "secret", "Note", "text"] { #expect(!stored.contains(word)) }
    #expect(relay.records.count == 1)
  }

  @Test mutating func bothEditsOfAConflictAreMerged() throws {
    var (desk, phone) = try pair()
    desk.edit(.count("c"))
    try send(&desk)
    try read(on: &phone)
    desk.edit(.count("c"))
    phone.edit(.count("c"))
    try send(&desk)
    try send(&phone)
    try read(on: &phone)
    try read(on: &desk)
    for device in [desk, phone] {
      let merged = try device.store.record(.desk("c"))?.value
      #expect(merged?[desk.device.text]?.int64 == 2)
      #expect(merged?[phone.device.text]?.int64 == 1)
    }
    #expect(phone.conflicts == 1)
  }

  @Test mutating func aDeletionReachesTheOtherDevice() throws {
    var (desk, phone) = try pair()
    try write("diary", "a secret", on: &desk)
    try read(on: &phone)
    desk.edit(.delete("diary"))
    try send(&desk)
    #expect(relay.records.allSatisfy { !$0.isDeleted })
    try read(on: &phone)
    #expect(try phone.store.record(.desk("diary"))?.isDeleted == true)
    #expect(phone.changed.map(\.isDeleted) == [true])
    // A record of the same name may be made again.
    try write("diary", "another", on: &phone)
    try read(on: &desk)
    #expect(try desk.store.record(.desk("diary"))?.text == "another")
  }

  @Test mutating func otherZonesStayAsTheyAre() throws {
    var (desk, phone) = try pair()
    let plain = Name(trusted: "Plain")
    desk.edit(.text("for all", in: plain))
    try send(&desk)
    #expect(relay.records.map(\.zone) == [plain])
    #expect(relay.records.map(\.content) == [#"{"text":"for all"}"#])
    try read(on: &phone)
    #expect(
      try phone.store.record(RecordKey(zone: plain, name: Name(trusted: "a")))?.text == "for all")
  }

  @Test mutating func aRecordThatIsTooLargeWhenSealedIsRefusedAtOnce() throws {
    var (desk, _) = try pair()
    let text = String(repeating: "x", count: 800_000)
    guard case .failure(.tooLarge(let bytes)) = desk.edit(.note("diary", text)) else {
      Issue.record("not refused")
      return
    }
    #expect(bytes > Limits.recordBytes)
    var plain = try ReplicaHarness()
    guard case .success = plain.edit(.note("diary", text)) else {
      Issue.record("refused without a seal")
      return
    }
  }

  // MARK: a relay that deletes, withholds and repeats

  @Test mutating func aTombstoneOfTheRelayDeletesNothing() throws {
    var (desk, phone) = try pair()
    try write("diary", "a secret", on: &desk)
    try read(on: &phone)
    relay.delete(relay.records[0].key)
    try read(on: &phone)
    #expect(try phone.store.record(.desk("diary"))?.text == "a secret")
    #expect(phone.changed.isEmpty)
    phone.bringBack()
    try send(&phone)
    #expect(relay.live.count == 1)
    try read(on: &desk)
    #expect(try desk.store.record(.desk("diary"))?.text == "a secret")
    #expect(desk.outbox.unsent == 0)
  }

  @Test mutating func anEditMeetsATombstoneOfTheRelayAndStays() throws {
    var (desk, _) = try pair()
    try write("diary", "a secret", on: &desk)
    relay.delete(relay.records[0].key)
    desk.edit(.note("diary", "more"))
    try send(&desk)
    #expect(try desk.store.record(.desk("diary"))?.text == "more")
    #expect(relay.live.count == 1)
    #expect(desk.outbox.unsent == 0)
  }

  @Test mutating func aRecordThatASnapshotWithholdsIsSavedAgain() throws {
    var (desk, phone) = try pair()
    try write("diary", "a secret", on: &desk)
    try read(on: &phone)
    relay.forget(relay.records[0].key)
    phone.perform(.forgetCursor(restoredThrough: nil))
    phone.page(relay.live, from: nil, to: 9)
    #expect(try phone.store.record(.desk("diary"))?.text == "a secret")
    phone.bringBack()
    try send(&phone)
    #expect(relay.live.count == 1)
  }

  @Test mutating func aWithheldDeletionIsSavedAgain() throws {
    var (desk, phone) = try pair()
    try write("diary", "a secret", on: &desk)
    try read(on: &phone)
    desk.edit(.delete("diary"))
    try send(&desk)
    try read(on: &phone)
    relay.forget(relay.records[0].key)
    phone.perform(.forgetCursor(restoredThrough: nil))
    phone.page(relay.live, from: nil, to: 9)
    phone.bringBack()
    try send(&phone)
    try read(on: &desk)
    #expect(try desk.store.record(.desk("diary"))?.isDeleted == true)
    #expect(relay.live.count == 1)
  }

  @Test mutating func aFormerVersionIsNotTakenForANewOne() throws {
    var (desk, phone) = try pair()
    try write("diary", "first", on: &desk)
    let former = relay.records[0]
    for text in ["second", "third"] {
      desk.pass(milliseconds: 10)
      try write("diary", text, on: &desk)
    }
    try read(on: &phone)
    relay.put(former)
    try read(on: &phone)
    #expect(try phone.store.record(.desk("diary"))?.text == "third")
    #expect(phone.changed.isEmpty)
    #expect(phone.conflicts == 0)
    try send(&phone)
    try read(on: &desk)
    #expect(try desk.store.record(.desk("diary"))?.text == "third")
    #expect(try phone.store.record(.desk("diary"))?.tag == relay.records[0].tag)
  }

  @Test mutating func aFormerVersionIsNotMergedIntoAnEdit() throws {
    var (desk, _) = try pair()
    try write("t", "x", on: &desk)
    let former = relay.records[0]
    desk.pass(milliseconds: 10)
    desk.edit(.note("t", "y"))
    try send(&desk)
    desk.pass(milliseconds: 10)
    desk.edit(.note("t", "z"))
    relay.put(former)
    try send(&desk)
    #expect(desk.conflicts == 0)
    #expect(try desk.store.record(.desk("t"))?.text == "z")
    #expect(desk.outbox.unsent == 0)
    #expect(try opened(relay.records[0]).text == "z")
  }

  @Test mutating func aFormerVersionDoesNotUndoADeletion() throws {
    var (desk, phone) = try pair()
    try write("diary", "a secret", on: &desk)
    let former = relay.records[0]
    try read(on: &phone)
    desk.pass(milliseconds: 10)
    desk.edit(.delete("diary"))
    try send(&desk)
    try read(on: &phone)
    relay.put(former)
    try read(on: &phone)
    #expect(try phone.store.record(.desk("diary"))?.isDeleted == true)
    try send(&phone)
    #expect(try opened(relay.records[0]).isDeleted)
  }

  /// A merge has the time of its newer side, so that the time alone does not show the order.
  @Test mutating func aVersionThatAMergeHasReplacedIsNotTakenForANewOne() throws {
    var (desk, phone) = try pair()
    desk.edit(.count("c"))
    phone.edit(.count("c"))
    try send(&desk)
    let former = relay.records[0]
    try send(&phone)
    try read(on: &desk)
    #expect(relay.records[0].modifiedAt == former.modifiedAt)
    let merged = try phone.store.record(.desk("c"))?.value
    relay.put(former)
    try read(on: &phone)
    try send(&phone)
    #expect(try phone.store.record(.desk("c"))?.value == merged)
    #expect(try opened(relay.records[0]).value == merged)
  }

  @Test mutating func aDeviceThatMayOnlyReadKeepsWhatTheRelayWithholds() throws {
    var (desk, phone) = try pair()
    try write("diary", "first", on: &desk)
    let former = relay.records[0]
    desk.pass(milliseconds: 10)
    try write("diary", "second", on: &desk)
    try phone.limit(to: DeviceScope(zones: [TestApp.zone], isReadOnly: true))
    phone.page(relay.live, from: nil, to: 1)
    relay.put(former)
    try read(on: &phone)
    #expect(try phone.store.record(.desk("diary"))?.text == "second")
    phone.perform(.forgetCursor(restoredThrough: nil))
    phone.page([], from: nil, to: 9)
    #expect(try phone.store.record(.desk("diary"))?.text == "second")
    #expect(phone.freezeBatch() == nil)
  }

  // MARK: records that do not open

  @Test(arguments: ["author", "time", "type", "name", "plain"])
  mutating func whatTheRelayChangesIsNotTaken(part: String) throws {
    var (desk, phone) = try pair()
    try write("diary", "a secret", on: &desk)
    try write("other", "b", on: &desk)
    try read(on: &phone)
    desk.pass(milliseconds: 10)
    try write("diary", "more", on: &desk)
    var changed = relay.record(at: relay.records.count - 1)
    switch part {
    case "author": changed.device = phone.device
    case "time": changed.modifiedAt += 1_000
    case "type": changed.type = TestApp.note
    case "name":
      relay.forget(changed.key)
      changed.name = relay.records[0].name
    default: changed.fields = Array(#"{"text":"false","at":9}"#.utf8)
    }
    relay.put(changed)
    try read(on: &phone)
    let texts = try ["diary", "other"].map { try phone.store.record(.desk($0))?.text }
    #expect(texts == ["a secret", "b"])
    #expect(phone.changed.isEmpty)
    #expect(phone.outbox.unreadableCount == 1)
  }

  @Test mutating func aChangeWaitsWhileTheRelaysVersionCannotBeRead() throws {
    var (desk, phone) = try pair()
    try write("diary", "a secret", on: &desk)
    try read(on: &phone)
    let good = relay.records[0]
    var bad = good
    bad.fields = Array("{}".utf8)
    relay.put(bad)
    phone.edit(.note("diary", "mine"))
    phone.edit(.note("other", "goes on"))
    try send(&phone)
    #expect(relay.live.count == 2)
    #expect(relay.record(of: good.key)?.content == "{}")
    #expect(phone.outbox.unsent == 1)
    #expect(phone.outbox.unreadableCount == 1)
    // Another process of the home knows it as well, once the version was read.
    try read(on: &phone)
    phone.reopen()
    #expect(phone.freezeBatch() == nil)
    #expect(phone.outbox.unreadableCount == 1)
    // Another device, which holds the record, saves it again.
    try read(on: &desk)
    desk.edit(.note("diary", "from the desk"))
    relay.put(good)
    try send(&desk)
    try read(on: &phone)
    #expect(phone.outbox.unreadableCount == 0)
    try send(&phone)
    #expect(phone.outbox.unsent == 0)
    #expect(try opened(#require(relay.record(of: good.key))).text == "mine")
  }

  /// The relay need not send that version with the changes, so the device has to try again.
  @Test mutating func aConflictThatCannotBeReadIsTriedAgain() throws {
    var (desk, _) = try pair()
    try write("diary", "a secret", on: &desk)
    let good = relay.records[0]
    desk.pass(milliseconds: 10)
    desk.edit(.note("diary", "more"))
    var bad = good
    bad.fields = Array("{}".utf8)
    relay.put(bad)
    try send(&desk)
    #expect(desk.outbox.unsent == 1)
    relay.put(good)
    try send(&desk)
    #expect(desk.outbox.unsent == 1)
    desk.perform(.retryRefused(withParked: true))
    desk.page(relay.live, from: nil, to: 9)
    try send(&desk)
    #expect(desk.outbox.unsent == 0)
    #expect(desk.outbox.unreadableCount == 0)
    #expect(try opened(relay.records[0]).text == "more")
  }

  @Test mutating func filesAreRefusedUntilTheyCanBeSealed() throws {
    var (desk, _) = try pair()
    let hash = String(repeating: "0", count: 64)
    let album = EditRequest.fields("album", TestApp.album, ["pieces": [.string(hash)]])
    guard case .failure(.refused) = desk.edit(album) else {
      Issue.record("not refused")
      return
    }
  }

  @Test mutating func aNewGenerationMakesReadableWhatWasNot() throws {
    var (desk, phone) = try pair()
    try write("diary", "old", on: &desk)
    try read(on: &phone)
    desk.seal(keys([1, 2]))
    desk.page(relay.live, from: nil, to: 1)
    desk.pass(milliseconds: 10)
    try write("diary", "new", on: &desk)
    try read(on: &phone)
    #expect(try phone.store.record(.desk("diary"))?.text == "old")
    #expect(phone.outbox.unreadableCount == 1)
    phone.seal(keys([1, 2]))
    phone.page(relay.live, from: nil, to: 9)
    #expect(try phone.store.record(.desk("diary"))?.text == "new")
    #expect(phone.outbox.unreadableCount == 0)
  }

  @Test mutating func anUnreadableVersionInASnapshotDoesNotCountAsAbsent() throws {
    var (desk, phone) = try pair()
    try write("diary", "a secret", on: &desk)
    try read(on: &phone)
    var bad = relay.records[0]
    bad.fields = Array("{}".utf8)
    relay.put(bad)
    phone.perform(.forgetCursor(restoredThrough: nil))
    phone.page(relay.live, from: nil, to: 9)
    phone.bringBack()
    #expect(try phone.store.record(.desk("diary"))?.text == "a secret")
    #expect(phone.freezeBatch() == nil)
  }

  // MARK: keys

  @Test mutating func aZoneWithPlainRecordsIsNotSealed() throws {
    var desk = try ReplicaHarness()
    desk.edit(.note("diary", "plain"))
    #expect(desk.seal(keys([1])) == false)
    #expect(desk.freezeBatch()?.mutations.map(\.name.text) == ["diary"])
  }

  @Test mutating func keysAreNeverReplacedByOthers() throws {
    var (desk, _) = try pair()
    #expect(desk.seal(keys([2])) == false)
    #expect(desk.seal(keys([1])) == true)
    try write("diary", "x", on: &desk)
    #expect(try opened(relay.records[0]).text == "x")
  }

  // MARK: stage

  private func pair() throws -> (ReplicaHarness, ReplicaHarness) {
    var devices = [try ReplicaHarness(device: 1), try ReplicaHarness(device: 2)]
    for index in devices.indices {
      #expect(devices[index].seal(keys([1])) == true)
      devices[index].page([], from: nil, to: 1)
    }
    return (devices[0], devices[1])
  }

  private mutating func write(_ name: String, _ text: String, on device: inout ReplicaHarness)
    throws
  {
    device.edit(.note(name, text))
    try send(&device)
  }

  /// Sends all that waits, at most ten batches.
  private mutating func send(_ device: inout ReplicaHarness) throws {
    for _ in 0..<10 {
      guard let batch = device.freezeBatch() else { return }
      try device.answer(batch, relay.save(batch, by: device.device))
    }
    Issue.record("the device sends for ever")
  }

  private mutating func read(on device: inout ReplicaHarness) throws {
    try device.apply(relay.changes(for: device.device))
    device.bringBack()
  }

  private func opened(_ record: Record) throws -> Record {
    try ZoneSeal(keys([1])).opened(record)
  }
}

extension ReplicaHarness {
  /// Returns false if the replica has refused the keys.
  @discardableResult
  fileprivate mutating func seal(_ keys: ZoneKeys) -> Bool {
    perform(.seal(OrderID(rawValue: 1), [keys]))
    guard case .success(.switched(_, .success, _)) = outcome.result else { return false }
    return true
  }
}

private func keys(_ numbers: [UInt8]) -> ZoneKeys {
  let generations = numbers.compactMap {
    KeyGeneration(secret: [UInt8](repeating: $0, count: KeyGeneration.count))
  }
  guard
    let keys = AccountKeys(
      nameSecret: [UInt8](repeating: 9, count: 32), generations: generations)
  else { preconditionFailure("valid keys") }
  return keys.keys(of: TestApp.zone)
}

/// A relay's records: it saves batches as the protocol demands, and may do anything else.
private struct KeylessRelay {
  /// The newest version of each record, oldest first.
  private(set) var records: [Record] = []
  private var tag: ChangeTag = 1
  private var read: [DeviceID: ChangeTag] = [:]

  var live: [Record] { records.filter { !$0.isDeleted } }

  func record(of key: RecordKey) -> Record? { records.first { $0.key == key } }

  func record(at index: Int) -> Record { records[index] }

  mutating func put(_ record: Record) {
    tag += 1
    var record = record
    record.tag = tag
    records.removeAll { $0.key == record.key }
    records.append(record)
  }

  mutating func delete(_ key: RecordKey) {
    guard var record = record(of: key) else { return }
    record.fields = nil
    put(record)
  }

  mutating func forget(_ key: RecordKey) { records.removeAll { $0.key == key } }

  mutating func save(_ request: SaveRequest, by device: DeviceID) -> [MutationResult] {
    request.mutations.map { mutation in
      let key = RecordKey(zone: request.zone, name: mutation.name)
      let held = record(of: key)
      let isTaken = held.map { !$0.isDeleted || mutation.unlessDeleted } ?? false
      let isBase = mutation.baseTag == 0 ? !isTaken : mutation.baseTag == held?.tag
      guard isBase else {
        return .conflict(name: mutation.name, record: held ?? .nothing(at: key))
      }
      put(
        Record(
          zone: request.zone, name: mutation.name, type: mutation.type ?? TestApp.note,
          fields: mutation.fields, modifiedAt: mutation.modifiedAt, device: device, tag: 0,
          chunks: mutation.chunks, includes: mutation.includes))
      return .saved(name: mutation.name, tag: tag)
    }
  }

  /// Returns what the device has not read yet.
  mutating func changes(for device: DeviceID) -> [Record] {
    defer { read[device] = tag }
    return records.filter { $0.tag > read[device] ?? 0 }
  }
}

extension Record {
  /// Fields as text.
  fileprivate var content: String { String(decoding: fields ?? [], as: UTF8.self) }
}
