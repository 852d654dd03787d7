import LockstepJSON
import LockstepModel
import LockstepSealing
import LockstepStorage
import Testing

@testable import LockstepClient

/// A zone that had plain records, and is sealed from now on, while its devices go on.
struct ReplicaPlainZoneTests {
  private var relay = KeylessRelay()

  @Test mutating func whatWasThereIsSealedOnce() throws {
    var (desk, phone) = try devices()
    try seal(&desk)
    try sync(&desk)
    try shareRing(with: &phone)
    try sync(&phone)
    let sealed = relay.live.filter { $0.type == ZoneSeal.hiddenType }
    #expect(sealed.count == 1)
    #expect(sealed[0].device == desk.device)
    for home in [desk, phone] {
      #expect(home.outbox.unreadableCount == 0)
      #expect(try home.store.record(note)?.text == "before")
      #expect(try home.store.record(note)?.device == desk.device)
      #expect(try home.store.version(note) == .plain(plainTag))
    }
  }

  @Test mutating func bothGoOnWhileItIsSealed() throws {
    var (desk, phone) = try devices()
    try seal(&desk)
    phone.pass(milliseconds: 10)
    phone.edit(.note("a", "from the phone, offline"))
    try sync(&desk)
    try shareRing(with: &phone)
    try sync(&phone)
    try readAll(on: &desk)
    for home in [desk, phone] {
      #expect(try home.store.record(note)?.text == "from the phone, offline")
      #expect(home.conflicts == 0 || home.device == phone.device)
    }
    #expect(!relay.live.contains { $0.type == TestApp.note && $0.tag > plainTag })
  }

  /// It was saved plain, and acknowledged, after the desk had read all.
  @Test mutating func aNewerPlainRecordIsTaken() throws {
    var (desk, phone) = try devices()
    phone.pass(milliseconds: 10)
    phone.edit(.note("a", "newer"))
    phone.edit(.note("b", "another"))
    try relay.saveAll(from: &phone)
    try seal(&desk)
    try sync(&desk)
    #expect(try desk.store.record(note)?.text == "newer")
    #expect(try desk.store.record(.desk("b"))?.text == "another")
    try readAll(on: &desk)
    #expect(desk.outbox.unreadableCount == 0)

    phone.edit(.note("b", "once more, plain"))
    try relay.saveAll(from: &phone)
    try desk.apply(relay.changes(for: desk.device))
    try relay.saveAll(from: &desk)
    #expect(try desk.store.record(.desk("b"))?.text == "once more, plain")
    try shareRing(with: &phone)
    try sync(&phone)
    #expect(try phone.store.record(note)?.text == "newer")
    #expect(try phone.store.record(.desk("b"))?.text == "once more, plain")
    #expect(relay.live.count { $0.type == ZoneSeal.hiddenType } == 2)
  }

  /// The device that seals a zone takes plain records until the work is done, and none later.
  @Test mutating func aPlainRecordIsNotTakenLater() throws {
    var (desk, phone) = try devices()
    try seal(&desk)
    try sync(&desk)
    desk.perform(.seal(OrderID(rawValue: 1), keys(.only([TestApp.zone])), plain: .replaced))
    phone.pass(milliseconds: 10)
    phone.edit(.note("a", "plain, and later"))
    try relay.saveAll(from: &phone)
    try desk.apply(relay.changes(for: desk.device))
    #expect(desk.outbox.unreadableCount == 1)
    #expect(try desk.store.record(note)?.text == "before")
    // Until somebody seals the zone again.
    try seal(&desk)
    try sync(&desk)
    #expect(desk.outbox.unreadableCount == 0)
    #expect(try desk.store.record(note)?.text == "plain, and later")
  }

  /// The record of the keys arrives while a change of the zone is on its way.
  @Test mutating func aChangeOnItsWayIsAnsweredFirst() throws {
    var (desk, phone) = try devices()
    phone.pass(milliseconds: 10)
    phone.edit(.note("a", "on its way"))
    let batch = try phone.freezeOneBatch()
    try shareRing(with: &phone)
    phone.edit(.note("a", "and once more"))
    #expect(try Replica.keys(in: phone.store)?.keys(of: TestApp.zone) == nil)
    #expect(phone.freezeBatch()?.id == batch.id)
    try phone.answer(batch, relay.save(batch, by: phone.device))
    #expect(try Replica.keys(in: phone.store)?.keys(of: TestApp.zone) != nil)
    try sync(&phone)
    #expect(relay.live.count { $0.type == ZoneSeal.hiddenType } == 1)
    #expect(!relay.live.contains { $0.text == "and once more" })
    try seal(&desk)
    try sync(&desk)
    try readAll(on: &desk)
    #expect(try desk.store.record(note)?.text == "and once more")
  }

  @Test mutating func aHomeThatStopsInBetweenGoesOn() throws {
    var (desk, phone) = try devices()
    phone.pass(milliseconds: 10)
    phone.edit(.note("a", "on its way"))
    let batch = try phone.freezeOneBatch()
    try shareRing(with: &phone)
    phone.reopen()
    #expect(phone.freezeBatch()?.id == batch.id)
    try phone.answer(batch, relay.save(batch, by: phone.device))
    #expect(try Replica.keys(in: phone.store)?.keys(of: TestApp.zone) != nil)
    let plain = relay.record(of: note)
    try seal(&desk)
    desk.reopen()
    try readAll(on: &desk)
    #expect(desk.outbox.unreadableCount == 1)
    try seal(&desk)
    try sync(&desk)
    #expect(desk.outbox.unreadableCount == 0)
    #expect(try desk.store.record(note)?.text == "on its way")
    #expect(relay.record(of: note) == plain)
    #expect(relay.live.count { $0.type == ZoneSeal.hiddenType } == 1)
  }

  /// Another device that holds the record does not bring it back.
  @Test mutating func aDeletionThatWaitsIsNotLost() throws {
    var (desk, phone) = try devices()
    phone.pass(milliseconds: 10)
    phone.edit(EditRequest(key: note, type: TestApp.note) { _ in nil })
    try seal(&desk)
    try sync(&desk)
    try shareRing(with: &phone)
    try readAll(on: &phone)
    try relay.saveAll(from: &phone)
    try readAll(on: &desk)
    for home in [desk, phone] { #expect(try home.store.record(note)?.fields == nil) }
  }

  /// A device that was away, and has neither keys nor heard of them, sends nothing plain.
  @Test mutating func aDeviceWithoutKeysWaits() throws {
    var (desk, phone) = try devices()
    var tablet = try ReplicaHarness(device: 3)
    try readAll(on: &tablet)
    try seal(&desk)
    try sync(&desk)
    tablet.pass(milliseconds: 10)
    tablet.edit(.note("a", "from the tablet"))
    try shareRing(with: &tablet)
    #expect(tablet.freezeBatch() == nil)
    #expect(throws: EditFailure.self) { try tablet.edit(.note("b", "and another")).get() }
    #expect(try Replica.isLocked(TestApp.zone, in: tablet.store))
    tablet.perform(
      .seal(OrderID(rawValue: 1), keys(.only([TestApp.zone])), plain: .replaced))
    try readAll(on: &tablet)
    try relay.saveAll(from: &tablet)
    try readAll(on: &desk)
    #expect(try desk.store.record(note)?.text == "from the tablet")
    try shareRing(with: &phone)
    try readAll(on: &phone)
    #expect(try phone.store.record(note)?.text == "from the tablet")
  }

  /// The device was away: the record of the keys and the sealed records come in one page.
  @Test mutating func aDeviceThatWasAwayReadsAllAtOnce() throws {
    var (desk, phone) = try devices()
    try putRing()
    try seal(&desk)
    try sync(&desk)
    relay.delete(note)
    try readAll(on: &phone)
    try readAll(on: &phone)
    #expect(phone.outbox.unreadableCount == 0)
    #expect(try phone.store.record(note)?.text == "before")
    #expect(phone.freezeBatch() == nil)
  }

  /// It has joined with the keys, and reads the account for the first time.
  @Test mutating func aDeviceThatBeginsThenReadsAllAtOnce() throws {
    var (desk, _) = try devices()
    try putRing()
    try seal(&desk)
    try sync(&desk)
    relay.delete(note)
    var tablet = try ReplicaHarness(device: 3)
    tablet.perform(.forgetCursor(restoredThrough: nil))
    tablet.perform(.seal(OrderID(rawValue: 1), keys(.empty)))
    for _ in 0..<2 { tablet.readAgain(relay.live) }
    #expect(tablet.outbox.unreadableCount == 0)
    #expect(try tablet.store.record(note)?.text == "before")
  }

  /// A person syncs by hand, so that all is read anew.
  @Test mutating func aDeviceWithoutKeysKeepsWhatItHas() throws {
    var (desk, _) = try devices()
    var tablet = try ReplicaHarness(device: 3)
    try readAll(on: &tablet)
    try seal(&desk)
    try sync(&desk)
    relay.delete(note)
    try shareRing(with: &tablet)
    tablet.perform(.retryRefused(withParked: true))
    try readAll(on: &tablet)
    #expect(try tablet.store.record(note)?.text == "before")
  }

  // MARK: stage

  private let note = RecordKey.desk("a")
  private let plainTag: ChangeTag = 2

  private func keys(_ zones: ZoneSet) -> SealingKeys { .account(accountKeys([1]), zones) }

  /// Two devices with keys that seal nothing yet, and a plain record.
  private mutating func devices() throws -> (ReplicaHarness, ReplicaHarness) {
    var desk = try ReplicaHarness(device: 1)
    var phone = try ReplicaHarness(device: 2)
    desk.edit(.note("a", "before"))
    try relay.saveAll(from: &desk)
    #expect(relay.record(of: note)?.tag == plainTag)
    phone.perform(.seal(OrderID(rawValue: 1), keys(.empty)))
    desk.perform(.seal(OrderID(rawValue: 1), keys(.empty)))
    try readAll(on: &phone)
    try readAll(on: &desk)
    #expect(try phone.store.record(note)?.text == "before")
    return (desk, phone)
  }

  /// Seals the zone, as the person's command does.
  private func seal(_ home: inout ReplicaHarness) throws {
    home.perform(
      .seal(
        OrderID(rawValue: 1), keys(.only([TestApp.zone])), plain: .taken(in: TestApp.zone)))
    guard case .success(.switched(_, .success, _)) = home.outcome.result else {
      throw TestFault("not sealed: \(home.outcome.result)")
    }
  }

  /// Brings the record of the keys to the device.
  private mutating func shareRing(with home: inout ReplicaHarness) throws {
    try putRing()
    let ring = try #require(relay.record(of: KeyRing.key))
    try home.apply([ring])
  }

  private mutating func putRing() throws {
    let fields = try #require(KeyRing.fields(of: keys(.only([TestApp.zone]))))
    relay.put(
      Record(
        zone: KeyRing.zone, name: KeyRing.record, type: KeyRing.type, fields: fields.serialized(),
        modifiedAt: 1, device: DeviceID(rawValue: 1), tag: 0))
  }

  /// Reads all, and saves what the relay lacks.
  private mutating func sync(_ home: inout ReplicaHarness) throws {
    try readAll(on: &home)
    home.bringBack()
    try relay.saveAll(from: &home)
  }

  private mutating func readAll(on home: inout ReplicaHarness) throws {
    let changes = relay.changes(for: home.device)
    if try home.store.cursor() == nil {
      home.readAgain(relay.live)
    } else {
      try home.apply(changes)
    }
  }
}
