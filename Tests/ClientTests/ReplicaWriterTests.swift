import LockstepModel
import LockstepSealing
import LockstepStorage
import Testing

@testable import LockstepClient

/// A home as the author of versions in a sealed zone: what tells its versions from those of other
/// homes is its own, also if the relay or its disk says otherwise.
struct ReplicaWriterTests {
  private var relay = KeylessRelay()

  // MARK: a disk that was set back

  @Test(arguments: UInt64(1)...12)
  mutating func nothingIsLostToAHomeThatWasSetBack(seed: UInt64) throws {
    var (desk, phone) = try pair(seed: seed)
    try write("first", on: &desk)
    try read(on: &phone)
    let backup = desk.store.copy()
    desk.pass(milliseconds: 10)
    try write("forgotten", on: &desk)
    desk.setBack(to: backup)
    desk.pass(milliseconds: 10)
    try write("third", on: &desk)
    try expectBoth("forgotten", "third", on: &phone)
  }

  /// The relay was set back with the desk, and the phone holds what both have forgotten.
  @Test(arguments: UInt64(1)...12)
  mutating func nothingIsLostThatAnotherHomeHolds(seed: UInt64) throws {
    var (desk, phone) = try pair(seed: seed)
    try write("first", on: &desk)
    try read(on: &phone)
    let backup = (desk: desk.store.copy(), relay: relay)
    desk.pass(milliseconds: 10)
    try write("forgotten", on: &desk)
    try read(on: &phone)
    relay = backup.relay
    relay.beginRun()
    desk.setBack(to: backup.desk, incarnation: "another")
    desk.pass(milliseconds: 20)
    try write("third", on: &desk)
    try expectBoth("forgotten", "third", on: &phone)
  }

  /// The number of the change that was refused may be greater than that of the forgotten version.
  @Test(arguments: UInt64(1)...12)
  mutating func nothingIsLostToAnEditThatWasMadeMeanwhile(seed: UInt64) throws {
    var (desk, phone) = try pair(seed: seed)
    try write("first", on: &desk)
    try read(on: &phone)
    let backup = desk.store.copy()
    desk.pass(milliseconds: 10)
    try write("forgotten", on: &desk)
    desk.setBack(to: backup)
    desk.pass(milliseconds: 10)
    desk.edit(draft("third"))
    let batch = try desk.freezeOneBatch()
    desk.pass(milliseconds: 10)
    desk.edit(draft("fourth"))
    try desk.answer(batch, relay.save(batch, by: desk.device))
    try send(&desk)
    try expectBoth("forgotten", "fourth", on: &phone)
  }

  /// The answer does not say that another version is there; the changes do, after the edit.
  @Test(arguments: UInt64(1)...12)
  mutating func nothingIsLostToAnEditOfAnUnansweredChange(seed: UInt64) throws {
    var (desk, phone) = try pair(seed: seed)
    try write("first", on: &desk)
    try read(on: &phone)
    let backup = desk.store.copy()
    desk.pass(milliseconds: 10)
    try write("forgotten", on: &desk)
    desk.setBack(to: backup)
    desk.pass(milliseconds: 10)
    desk.edit(draft("third"))
    let batch = try desk.freezeOneBatch()
    desk.perform(.setAside(batch.id))
    desk.pass(milliseconds: 10)
    desk.edit(draft("fourth"))
    desk.perform(.retryRefused(withParked: false))
    try desk.apply(relay.live)
    try send(&desk)
    try expectBoth("forgotten", "fourth", on: &phone)
  }

  /// One answer reports several forgotten versions.
  @Test(arguments: UInt64(1)...12)
  mutating func nothingIsLostIfSeveralVersionsAreForgotten(seed: UInt64) throws {
    var (desk, phone) = try pair(seed: seed)
    let names = ["a", "b", "c"]
    for name in names { desk.edit(draft("first", name)) }
    try send(&desk)
    try read(on: &phone)
    let backup = desk.store.copy()
    desk.pass(milliseconds: 10)
    for name in names { desk.edit(draft("forgotten", name)) }
    try send(&desk)
    desk.setBack(to: backup)
    desk.pass(milliseconds: 10)
    for name in names { desk.edit(draft("third", name)) }
    let batch = try desk.freezeOneBatch()
    desk.pass(milliseconds: 10)
    for name in names { desk.edit(draft("fourth", name)) }
    try desk.answer(batch, relay.save(batch, by: desk.device))
    try send(&desk)
    try read(on: &phone)
    let texts = try phone.store.allRecords().compactMap(\.text).sorted()
    #expect(texts == ["forgotten", "forgotten", "forgotten", "fourth", "fourth", "fourth"])
  }

  /// The phone has made a version on the forgotten one.
  @Test(arguments: UInt64(1)...12)
  mutating func nothingIsLostToAVersionThatWasMadeOnTheForgottenOne(seed: UInt64) throws {
    var (desk, phone) = try pair(seed: seed)
    try write("first", on: &desk)
    let backup = desk.store.copy()
    desk.pass(milliseconds: 10)
    try write("forgotten", on: &desk)
    try read(on: &phone)
    phone.pass(milliseconds: 50)
    try write("phone", on: &phone)
    desk.setBack(to: backup)
    desk.pass(milliseconds: 10)
    try write("third", on: &desk)
    try expectBoth("phone", "third", on: &phone)
  }

  /// The relay saves the change although it was made on another version than it has.
  @Test(arguments: UInt64(1)...12)
  mutating func aForkThatTheRelayHidesIsSeenByOthers(seed: UInt64) throws {
    var (desk, phone) = try pair(seed: seed)
    try write("first", on: &desk)
    try read(on: &phone)
    let backup = desk.store.copy()
    desk.pass(milliseconds: 10)
    try write("forgotten", on: &desk)
    try read(on: &phone)
    desk.setBack(to: backup)
    desk.pass(milliseconds: 10)
    desk.edit(draft("third"))
    let batch = try desk.freezeOneBatch()
    try desk.answer(batch, relay.take(batch, by: desk.device))
    try expectBoth("forgotten", "third", on: &phone)
  }

  @Test mutating func aHomeThatWasSetBackTakesANewID() throws {
    var (desk, _) = try pair(seed: 1)
    let backup = desk.store.copy()
    try write("first", on: &desk)
    let former = try writer(of: desk)
    desk.pass(milliseconds: 10)
    try write("second", on: &desk)
    #expect(try writer(of: desk)?.id == former?.id)
    #expect(try writer(of: desk)?.greatest ?? 0 > former?.greatest ?? 0)
    desk.setBack(to: backup)
    readAll(on: &desk)
    desk.pass(milliseconds: 10)
    try write("third", on: &desk)
    #expect(try writer(of: desk)?.id != former?.id)
    #expect(desk.conflicts == 0)
    desk.reopen()
    desk.pass(milliseconds: 10)
    try write("fourth", on: &desk)
    #expect(desk.conflicts == 0)
  }

  // MARK: a relay that was set back with the home

  /// One backup contained both. Nobody tells the home then that it has forgotten a version.
  @Test(arguments: UInt64(1)...12)
  mutating func nothingIsLostIfTheRelayWasSetBackAsWell(seed: UInt64) throws {
    var (desk, phone) = try pair(seed: seed)
    try write("first", on: &desk)
    try read(on: &phone)
    let (home, image) = (desk.store.copy(), relay)
    desk.pass(milliseconds: 10)
    try write("forgotten", on: &desk)
    try read(on: &phone)
    relay = image
    relay.beginRun()
    desk.setBack(to: home, incarnation: "2")
    for text in ["third", "fourth"] {
      desk.pass(milliseconds: 10)
      try write(text, on: &desk)
    }
    try expectBoth("forgotten", "fourth", on: &phone)
  }

  /// The home of the copy was made from the backup, while the first one went on.
  @Test(arguments: UInt64(1)...12)
  mutating func nothingIsLostBetweenAHomeAndItsCopy(seed: UInt64) throws {
    var (desk, phone) = try pair(seed: seed)
    try write("first", on: &desk)
    let (home, image) = (desk.store.copy(), relay)
    desk.pass(milliseconds: 10)
    try write("forgotten", on: &desk)
    relay = image
    relay.beginRun()
    var copy = try self.home(device: 1, seed: seed)
    copy.setBack(to: home, incarnation: "copy")
    for text in ["third", "fourth"] {
      copy.pass(milliseconds: 10)
      try write(text, on: &copy)
    }
    readAll(on: &desk)
    try send(&desk)
    try expectBoth("forgotten", "fourth", on: &phone)
  }

  /// A start of the system is a new incarnation, too. A change that the relay has saved, but whose
  /// answer was lost, is still known as the base of what others made on it.
  @Test mutating func aStartOfTheSystemMakesNoConflict() throws {
    var (desk, phone) = try pair(seed: 1)
    try write("first", on: &desk)
    let former = try writer(of: desk)
    desk.pass(milliseconds: 10)
    desk.edit(draft("second"))
    let batch = try desk.freezeOneBatch()
    _ = relay.save(batch, by: desk.device)
    try read(on: &phone)
    phone.pass(milliseconds: 50)
    try write("phone", on: &phone)
    desk.setBack(to: desk.store, incarnation: "2")
    readAll(on: &desk)
    try send(&desk)
    #expect(desk.conflicts == 0)
    #expect(try desk.store.allRecords().compactMap(\.text) == ["phone"])
    desk.pass(milliseconds: 100)
    try write("third", on: &desk)
    let third = try writer(of: desk)
    #expect(third?.id != former?.id && third?.greatest ?? 0 > former?.greatest ?? 0)
    #expect(third.flatMap { SealingWriter(stored: $0.storedText) } == third)
    try read(on: &phone)
    #expect(phone.conflicts == 0)
  }

  // MARK: a relay that gives two devices one id

  @Test mutating func twoDevicesOfOneIDLoseNothingOfEachOther() throws {
    var devices = [try home(device: 1, seed: 1), try home(device: 1, seed: 2)]
    try write("first", on: &devices[0])
    readAll(on: &devices[1])
    devices[0].pass(milliseconds: 10)
    try write("left", on: &devices[0])
    devices[1].pass(milliseconds: 20)
    try write("right", on: &devices[1])
    readAll(on: &devices[0])
    let texts = try devices[0].store.allRecords().compactMap(\.text)
    #expect(Set(texts) == ["left", "right"])
  }

  // MARK: versions that are saved again

  @Test mutating func aVersionThatAnotherDeviceSavesAgainKeepsItsAuthor() throws {
    var (desk, phone) = try pair(seed: 1)
    try write("first", on: &desk)
    try read(on: &phone)
    let version = try opened(relay.records[0]).version
    relay.delete(relay.records[0].key)
    try read(on: &phone)
    phone.bringBack()
    try send(&phone)
    let again = try opened(relay.records[0])
    #expect(relay.records[0].device == phone.device)
    #expect(again.record.device == desk.device && again.version == version)
    #expect(try phone.store.record(.desk("d"))?.device == desk.device)
    try read(on: &desk)
    try send(&desk)
    #expect(desk.changed.isEmpty && desk.conflicts == 0)
    #expect(try opened(relay.records[0]).version == version)
  }

  @Test mutating func anEditOfAVersionThatIsSavedAgainIsANewOne() throws {
    var (desk, phone) = try pair(seed: 1)
    try write("first", on: &desk)
    try read(on: &phone)
    let version = try opened(relay.records[0]).version
    relay.delete(relay.records[0].key)
    try read(on: &phone)
    phone.bringBack()
    phone.pass(milliseconds: 10)
    try write("second", on: &phone)
    let edited = try opened(relay.records[0])
    #expect(edited.record.device == phone.device)
    #expect(edited.version != version && edited.version.includes(version))
    try read(on: &desk)
    #expect(desk.conflicts == 0)
    #expect(try desk.store.record(.desk("d"))?.text == "second")
  }

  // MARK: stage

  private func home(device: UInt64, seed: UInt64) throws -> ReplicaHarness {
    var home = try ReplicaHarness(device: device, seed: seed)
    #expect(home.seal(sealKeys([1])) == true)
    home.page([], from: nil, to: 1)
    return home
  }

  private func pair(seed: UInt64) throws -> (ReplicaHarness, ReplicaHarness) {
    (try home(device: 1, seed: 2 * seed), try home(device: 2, seed: 2 * seed + 1))
  }

  private func draft(_ text: String, _ name: String = "d") -> EditRequest {
    .fields(name, TestApp.draft, ["text": .string(text)])
  }

  private mutating func write(_ text: String, on device: inout ReplicaHarness) throws {
    device.edit(draft(text))
    try send(&device)
  }

  private mutating func send(_ device: inout ReplicaHarness) throws {
    try relay.saveAll(from: &device)
  }

  private mutating func read(on device: inout ReplicaHarness) throws {
    try device.apply(relay.changes(for: device.device))
    device.bringBack()
  }

  private func readAll(on device: inout ReplicaHarness) {
    device.perform(.forgetCursor(restoredThrough: nil))
    device.page(relay.live, from: nil, to: 9)
  }

  /// Both texts are there once the phone has read: one in the record, one in its copy.
  private mutating func expectBoth(
    _ one: String, _ other: String, on phone: inout ReplicaHarness
  ) throws {
    try read(on: &phone)
    try send(&phone)
    let texts = try phone.store.allRecords().compactMap(\.text)
    #expect(Set(texts) == [one, other])
    #expect(try Set(relay.live.map { try opened($0).record.text }) == [one, other])
  }

  private func opened(_ record: Record) throws -> OpenedRecord {
    try ZoneSeal(sealKeys([1])).opened(record)
  }

  private func writer(of home: ReplicaHarness) throws -> SealingWriter? {
    try home.store.value(ReplicaState.sealWriterKey).flatMap { SealingWriter(stored: $0) }
  }
}
