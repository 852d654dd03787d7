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

  // MARK: a relay that lies about the order of versions

  @Test mutating func aVersionMadeWithoutTheHeldOneIsMerged() throws {
    var (desk, phone) = try pair()
    desk.edit(.count("c"))
    try send(&desk)
    try read(on: &phone)
    desk.edit(.count("c"))
    try send(&desk)
    // The relay withholds that version from the phone, and shows the phone's in its place.
    phone.pass(milliseconds: 10)
    phone.edit(.count("c"))
    let batch = try phone.freezeOneBatch()
    try phone.answer(batch, relay.take(batch, by: phone.device))
    try read(on: &desk)
    try send(&desk)
    let value = try desk.store.record(.desk("c"))?.value
    #expect(value?[desk.device.text]?.int64 == 2)
    #expect(value?[phone.device.text]?.int64 == 1)
    try read(on: &phone)
    #expect(try phone.store.record(.desk("c"))?.value == value)
    #expect(phone.freezeBatch() == nil)
  }

  @Test mutating func aRestoredRelayLosesNoConcurrentEdit() throws {
    var (desk, phone) = try pair()
    desk.edit(.count("c"))
    try send(&desk)
    let backup = relay
    try read(on: &phone)
    phone.pass(milliseconds: 1_000)
    phone.edit(.count("c"))
    try send(&phone)
    relay = backup
    desk.edit(.count("c"))
    let batch = try desk.freezeOneBatch()
    try desk.answer(batch, relay.take(batch, by: desk.device))
    phone.reportRestore(through: 2)
    phone.page(relay.live, from: nil, to: 9)
    phone.bringBack()
    try send(&phone)
    let value = try opened(relay.records[0]).value
    #expect(value?[desk.device.text]?.int64 == 2)
    #expect(value?[phone.device.text]?.int64 == 1)
  }

  @Test(arguments: [0, 1]) mutating func aSmallTagMakesNoOlderVersion(tag: ChangeTag) throws {
    var (desk, phone) = try pair()
    desk.edit(.count("c"))
    try send(&desk)
    try read(on: &phone)
    desk.edit(.count("c"))
    try send(&desk)
    phone.pass(milliseconds: 10)
    phone.edit(.count("c"))
    let batch = try phone.freezeOneBatch()
    var server = relay.records[0]
    server.tag = tag
    try phone.answer(batch, [.conflict(name: server.name, record: server)])
    if tag == 0 {
      #expect(phone.outbox.unreadableCount == 1)
    } else {
      #expect(try phone.store.record(.desk("c"))?.value?[desk.device.text]?.int64 == 2)
    }
  }

  @Test mutating func aClaimedRestoreDoesNotBringBackAnOlderVersion() throws {
    var (desk, phone) = try pair()
    desk.edit(.count("c"))
    try send(&desk)
    try read(on: &phone)
    desk.edit(.count("c"))
    try send(&desk)
    phone.reportRestore(through: 1)
    var server = relay.records[0]
    server.tag = 1
    phone.page([server], from: nil, to: 9)
    phone.bringBack()
    #expect(try phone.store.record(.desk("c"))?.value?[desk.device.text]?.int64 == 2)
    #expect(phone.freezeBatch() == nil)
  }

  @Test mutating func aLiveRecordWithoutATagRemovesNothing() throws {
    var (desk, phone) = try pair()
    try write("diary", "first", on: &desk)
    try read(on: &phone)
    phone.edit(.note("diary", "mine"))
    desk.pass(milliseconds: 100)
    try write("diary", "second", on: &desk)
    phone.perform(.forgetCursor(restoredThrough: nil))
    var server = relay.records[0]
    server.tag = 0
    phone.page([server], from: nil, to: 9)
    #expect(try phone.store.record(.desk("diary"))?.text == "mine")
    #expect(phone.outbox.unreadableCount == 1)
  }

  @Test mutating func aReplacedVersionIsNotTakenByADeviceThatNeverHeldIt() throws {
    var (desk, phone) = try pair()
    var laptop = try laptop()
    desk.edit(.count("c"))
    phone.edit(.count("c"))
    try send(&desk)
    let former = relay.records[0]
    try send(&phone)
    try read(on: &laptop)
    relay.put(former)
    try read(on: &laptop)
    try send(&laptop)
    #expect(try laptop.store.record(.desk("c"))?.value?[phone.device.text]?.int64 == 1)
    #expect(try opened(relay.records[0]).value?[phone.device.text]?.int64 == 1)
  }

  @Test mutating func theOrderSurvivesARestartOfTheDevice() throws {
    var (desk, phone) = try pair()
    try write("diary", "first", on: &desk)
    let former = relay.records[0]
    desk.pass(milliseconds: 10)
    try write("diary", "second", on: &desk)
    try read(on: &phone)
    phone.reopen()
    relay.put(former)
    try read(on: &phone)
    phone.reopen()
    try send(&phone)
    #expect(try phone.store.record(.desk("diary"))?.text == "second")
    #expect(try opened(relay.records[0]).text == "second")
  }

  @Test mutating func aSaveWhoseAnswerIsLostIsNoConflict() throws {
    var (desk, phone) = try pair()
    try write("diary", "first", on: &desk)
    desk.pass(milliseconds: 10)
    desk.edit(.note("diary", "second"))
    let batch = try desk.freezeOneBatch()
    _ = relay.take(batch, by: desk.device)
    desk.pass(milliseconds: 10)
    desk.edit(.note("diary", "third"))
    // The relay does not know the batch any more when it is sent again.
    try desk.answer(batch, relay.save(batch, by: desk.device))
    try send(&desk)
    #expect(desk.conflicts == 0)
    try read(on: &phone)
    #expect(try phone.store.record(.desk("diary"))?.text == "third")
    #expect(phone.conflicts == 0)
  }

  @Test mutating func aSaveThatIsNotAnsweredAndEditedAgainIsNoConflict() throws {
    var (desk, _) = try pair()
    desk.edit(.count("c"))
    let batch = try desk.freezeOneBatch()
    _ = relay.take(batch, by: desk.device)
    desk.perform(.setAside(batch.id))
    desk.pass(milliseconds: 10)
    desk.edit(.count("c"))
    try read(on: &desk)
    desk.perform(.retryRefused(withParked: false))
    try send(&desk)
    #expect(desk.conflicts == 0)
    #expect(try opened(relay.records[0]).value?[desk.device.text]?.int64 == 2)
  }

  /// Otherwise the desk would merge its version once more, with one more copy.
  @Test mutating func aDeviceThatMergesTwoBranchesSavesAVersionThatIncludesBoth() throws {
    var (desk, phone) = try pair()
    var laptop = try laptop()
    func draft(_ text: String) -> EditRequest {
      .fields("d", TestApp.draft, ["text": .string(text)])
    }
    desk.edit(draft("first"))
    try send(&desk)
    try read(on: &phone)
    try read(on: &laptop)
    desk.pass(milliseconds: 10)
    desk.edit(draft("desk"))
    try send(&desk)
    try read(on: &phone)
    phone.pass(milliseconds: 20)
    phone.edit(draft("phone, on the desk's"))
    // The relay saves what the laptop has made without the desk's version.
    laptop.pass(milliseconds: 100)
    laptop.edit(draft("laptop"))
    let batch = try laptop.freezeOneBatch()
    try laptop.answer(batch, relay.take(batch, by: laptop.device))
    try read(on: &phone)
    try send(&phone)
    try read(on: &desk)
    try send(&desk)
    let texts = try desk.store.allRecords().compactMap(\.text).sorted()
    #expect(texts == ["laptop", "phone, on the desk's"])
    #expect(desk.conflicts == 0)
  }

  /// Another device has deleted the version that this one is about to save again.
  @Test mutating func aDeletionOutlivesTheVersionThatItDeleted() throws {
    var (desk, phone) = try pair()
    try write("diary", page: "a secret", on: &desk)
    try read(on: &phone)
    relay.delete(relay.records[0].key)
    try read(on: &phone)
    let late = try phone.freezeOneBatch()
    desk.pass(milliseconds: 10)
    try write("diary", page: nil, on: &desk)
    try phone.answer(late, relay.save(late, by: phone.device))
    try send(&phone)
    #expect(try phone.store.record(.desk("diary"))?.isDeleted == true)
    #expect(try opened(relay.records[0]).isDeleted)
    #expect(phone.outbox.unsent == 0)
  }

  /// The deletion was made without the version that the change was made on, and after the change.
  @Test mutating func aChangeIsNotLostToALaterDeletionOfAFormerVersion() throws {
    var (desk, phone) = try pair()
    try write("diary", page: "first", on: &desk)
    let former = relay.records[0]
    try read(on: &phone)
    desk.pass(milliseconds: 10)
    try write("diary", page: "second", on: &desk)
    relay.put(former)
    try read(on: &phone)
    desk.pass(milliseconds: 10)
    desk.edit(.fields("diary", TestApp.page, ["text": "third"]))
    phone.pass(milliseconds: 1_000)
    try write("diary", page: nil, on: &phone)
    try send(&desk)
    #expect(try desk.store.record(.desk("diary"))?.text == "third")
    try read(on: &phone)
    #expect(try phone.store.record(.desk("diary"))?.text == "third")
  }

  @Test mutating func threeDevicesThatBringBackTheSameVersionAgree() throws {
    var (desk, phone) = try pair()
    var laptop = try laptop()
    try write("diary", "first", on: &desk)
    let former = relay.records[0]
    desk.pass(milliseconds: 10)
    try write("diary", "second", on: &desk)
    try read(on: &phone)
    try read(on: &laptop)
    relay.put(former)
    for _ in 0..<3 {
      try read(on: &desk)
      try read(on: &phone)
      try read(on: &laptop)
      try send(&desk)
      try send(&phone)
      try send(&laptop)
    }
    let tag = relay.records[0].tag
    for device in [desk, phone, laptop] {
      #expect(try device.store.record(.desk("diary"))?.text == "second")
      #expect(try device.store.record(.desk("diary"))?.tag == tag)
      #expect(device.outbox.unsent == 0)
      #expect(device.conflicts == 0)
    }
  }

  @Test mutating func aTombstoneThatOvertakesTheAnswerIsNotForgotten() throws {
    var (desk, _) = try pair()
    try write("diary", "a", on: &desk)
    desk.edit(.note("diary", "b"))
    let batch = try desk.freezeOneBatch()
    let results = relay.take(batch, by: desk.device)
    relay.delete(relay.records[0].key)
    try read(on: &desk)
    try desk.answer(batch, results)
    desk.bringBack()
    try send(&desk)
    #expect(relay.live.count == 1)
    #expect(try opened(relay.records[0]).text == "b")
  }

  @Test mutating func aTombstoneFromBeforeTheSaveIsNothing() throws {
    var (desk, _) = try pair()
    try write("diary", "a", on: &desk)
    relay.delete(relay.records[0].key)
    let tombstone = relay.records[0]
    desk.edit(.note("diary", "b"))
    try send(&desk)
    try desk.apply([tombstone])
    desk.bringBack()
    #expect(desk.freezeBatch() == nil)
    #expect(try desk.store.record(.desk("diary"))?.text == "b")
  }

  @Test mutating func aPageFromBeforeTheSaveIsPassedOver() throws {
    var (desk, _) = try pair()
    try write("diary", "a", on: &desk)
    let former = relay.records[0]
    relay.delete(former.key)
    let tombstone = relay.records[0]
    desk.edit(.note("diary", "b"))
    try send(&desk)
    desk.edit(.note("diary", "c"))
    try desk.apply([former])
    try desk.apply([tombstone])
    let batch = try desk.freezeOneBatch()
    #expect(batch.mutations.map(\.baseTag) == [relay.records[0].tag])
  }

  @Test mutating func aRelayThatRefusesTheVersionItHasIsAskedLater() throws {
    var (desk, _) = try pair()
    try write("diary", "a", on: &desk)
    desk.edit(.note("diary", "b"))
    let batch = try desk.freezeOneBatch()
    try desk.answer(batch, [.conflict(name: relay.records[0].name, record: relay.records[0])])
    guard case .success(.applied(let applied)) = desk.outcome.result else {
      Issue.record("no answer")
      return
    }
    #expect(applied.retryLater != nil)
    try send(&desk)
    #expect(try opened(relay.records[0]).text == "b")
  }

  @Test mutating func aScopeThatLeavesTheZoneOutDeletesNothing() throws {
    var (desk, phone) = try pair()
    try write("diary", "a secret", on: &desk)
    try read(on: &phone)
    try phone.limit(to: DeviceScope(zones: [Name(trusted: "Other")]))
    phone.page([], from: nil, to: 9)
    #expect(try phone.store.record(.desk("diary"))?.text == "a secret")
  }

  // MARK: questions, and changes that only save a version again

  @Test mutating func aVersionThatIsBroughtBackUndoesNoDeletion() throws {
    var (desk, phone) = try pair()
    desk.edit(.fields("t", TestApp.task, ["title": "a"]))
    try send(&desk)
    let former = relay.records[0]
    desk.pass(milliseconds: 10)
    desk.edit(.fields("t", TestApp.task, ["title": "b"]))
    try send(&desk)
    try read(on: &phone)
    relay.put(former)
    try read(on: &phone)  // waits to be saved again
    try read(on: &desk)
    try send(&desk)  // the desk was faster,
    desk.edit(EditRequest(key: .desk("t"), type: TestApp.task) { _ in nil })
    try send(&desk)  // and its person deletes it, knowing it
    try send(&phone)
    #expect(try opened(relay.records[0]).isDeleted)
    #expect(phone.conflicts == 0)
  }

  @Test mutating func aChosenVersionThatTheRelayHasLostIsSavedAgain() throws {
    var (desk, phone) = try pair()
    desk.edit(.fields("a", TestApp.choice, ["v": 1]))
    try send(&desk)
    let former = relay.records[0]
    try read(on: &phone)
    desk.pass(milliseconds: 10)
    desk.edit(.fields("a", TestApp.choice, ["v": 2]))
    try send(&desk)
    phone.pass(milliseconds: 20)
    phone.edit(.fields("a", TestApp.choice, ["v": 3]))
    try send(&phone)  // asks about 2
    relay.put(former)
    try read(on: &phone)
    _ = phone.decide("a", keepLocal: false)
    phone.bringBack()
    try send(&phone)
    #expect(try opened(relay.records[0]).value?["v"]?.int64 == 2)
  }

  @Test mutating func aQuestionIsNoReasonToPause() throws {
    var (desk, phone) = try pair()
    desk.edit(.fields("a", TestApp.choice, ["v": 1]))
    try send(&desk)
    phone.edit(.fields("a", TestApp.choice, ["v": 2]))
    let batch = try phone.freezeOneBatch()
    try phone.answer(batch, relay.save(batch, by: phone.device))
    guard case .success(.applied(let applied)) = phone.outcome.result else { return }
    #expect(phone.outbox.askingCount == 1)
    #expect(applied.retryLater == nil)
  }

  @Test mutating func aRecordWithoutNumbersStopsNothingElse() throws {
    var (desk, phone) = try pair()
    let last = try sealedVersion(7, Limits.sequenceLimit - 1)
    relay.put(
      ZoneSeal(sealKeys([1])).sealed(
        Record(
          zone: TestApp.zone, name: Name(trusted: "a"), type: TestApp.note,
          fields: Array(#"{"text":"x"}"#.utf8), modifiedAt: 1, device: desk.device, tag: 0),
        version: last))
    try read(on: &phone)
    phone.edit(.note("a", "y"))
    phone.edit(.note("b", "z"))
    _ = phone.freezeBatch()
    try send(&phone)
    #expect(phone.outbox.parkedCount == 1)
    #expect(relay.live.count == 2)
  }

  @Test mutating func theFloorIncludesNoEditThatNobodyHasSeen() throws {
    var (desk, phone) = try pair()
    phone.edit(.count("c"))
    let batch = try phone.freezeOneBatch()
    let most = Int64(Limits.vectorEntries)
    let made = (1...most + 1).reduce(VersionVector()) { made, number in
      made.adding(
        VersionID(writer: WriterID(rawValue: UInt64(number)), number: 1 << 30 + number))
    }
    relay.put(
      ZoneSeal(sealKeys([1])).sealed(
        Record(
          zone: TestApp.zone, name: Name(trusted: "c"), type: TestApp.counter,
          fields: Array(#"{"x":1}"#.utf8), modifiedAt: 1_000_065, device: desk.device,
          tag: 0),
        version: try sealedVersion(200, 1 << 31, on: made)))
    try phone.answer(batch, relay.save(batch, by: phone.device))
    try send(&phone)
    #expect(try phone.store.record(.desk("c"))?.value?[phone.device.text]?.int64 == 1)
  }

  @Test mutating func choosingTheRelaysVersionSavesNothing() throws {
    var (desk, phone) = try pair()
    desk.edit(.fields("a", TestApp.choice, ["v": 1]))
    try send(&desk)
    phone.edit(.fields("a", TestApp.choice, ["v": 2]))
    try send(&phone)
    _ = phone.decide("a", keepLocal: false)
    phone.bringBack()
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

  /// The relay is restored to a time before it had that version, and the device needs no snapshot:
  /// the changes since then do not name the record.
  @Test(arguments: [true, false])
  mutating func aConflictThatCannotBeReadIsTriedAgainAfterARestore(isSeen: Bool) throws {
    var (desk, _) = try pair()
    try write("diary", "a secret", on: &desk)
    desk.page(relay.live, from: 1, to: 9)
    let good = relay.records[0]
    var bad = good
    bad.fields = Array("{}".utf8)
    relay.put(bad)
    desk.pass(milliseconds: 10)
    try write("diary", "more", on: &desk)
    #expect(desk.outbox.unsent == 1 && desk.outbox.unreadableCount == 1)
    relay.restore(good)
    let since = ChangeToken(generation: 1, sequence: 9)
    desk.generation = isSeen ? 2 : 1
    desk.perform(
      .apply([
        .page(
          ChangePage(
            since: since, token: ChangeToken(generation: desk.generation, sequence: 40),
            more: false, changes: [],
            lostTags: isSeen ? [] : [TagGap(after: 20, through: 39)]))
      ]))
    #expect(desk.outbox.unreadableCount == 0)
    try send(&desk)
    #expect(desk.outbox.unsent == 0)
    #expect(try opened(relay.records[0]).text == "more")
  }

  /// A snapshot does not name what the relay has deleted.
  @Test mutating func aConflictThatCannotBeReadIsTriedAgainAfterASnapshot() throws {
    var (desk, _) = try pair()
    try write("diary", "a secret", on: &desk)
    var bad = relay.records[0]
    bad.fields = Array("{}".utf8)
    relay.put(bad)
    desk.pass(milliseconds: 10)
    try write("diary", "more", on: &desk)
    #expect(desk.outbox.unreadableCount == 1)
    relay.forget(bad.key)
    desk.perform(.forgetCursor(restoredThrough: nil))
    desk.page(relay.live, from: nil, to: 9)
    try send(&desk)
    #expect(desk.outbox.unsent == 0 && desk.outbox.unreadableCount == 0)
    #expect(try opened(relay.records[0]).text == "more")
  }

  /// The merge of the desk's version with the deletion is no newer than that version: the phone's
  /// edit of it is newer.
  @Test mutating func anEditOfAVersionOutlivesItsMergeWithADeletion() throws {
    var (desk, phone) = try pair()
    var laptop = try laptop()
    try write("diary", page: "first", on: &desk)
    try read(on: &phone)
    try read(on: &laptop)
    desk.pass(milliseconds: 10)
    try write("diary", page: "second", on: &desk)
    try read(on: &phone)
    phone.pass(milliseconds: 20)
    phone.edit(.fields("diary", TestApp.page, ["text": "third"]))
    // The relay saves the deletion of a version that it had before.
    laptop.pass(milliseconds: 500)
    laptop.edit(EditRequest(key: .desk("diary"), type: TestApp.page) { _ in nil })
    let deletion = try laptop.freezeOneBatch()
    try laptop.answer(deletion, relay.take(deletion, by: laptop.device))
    try read(on: &desk)
    try send(&desk)
    try read(on: &phone)
    try send(&phone)
    #expect(try opened(relay.records[0]).text == "third")
  }

  /// The desk merges its version with the phone's, which stays. The phone, which knows nothing of
  /// the desk's, deletes its version before the merge arrives: the merge has changed nothing of it.
  @Test(arguments: [TestApp.page, Name(trusted: "Unknown")])
  mutating func aMergeThatKeepsAVersionOutlivesNoDeletionOfIt(type: Name) throws {
    var (desk, phone) = try pair()
    func edit(_ text: String?) -> EditRequest {
      EditRequest(key: .desk("diary"), type: type) { _ in
        text.map { text -> JSONValue in ["text": .string(text)] }
      }
    }
    desk.edit(edit("first"))
    try send(&desk)
    let former = relay.records[0]
    try read(on: &phone)
    desk.pass(milliseconds: 10)
    desk.edit(edit("desk"))
    try send(&desk)
    relay.put(former)
    phone.pass(milliseconds: 20)
    phone.edit(edit("phone"))
    let batch = try phone.freezeOneBatch()
    try phone.answer(batch, relay.take(batch, by: phone.device))
    try read(on: &desk)
    #expect(try desk.store.record(.desk("diary"))?.text == "phone")
    let merge = try desk.freezeOneBatch()
    for text in ["second", nil] {
      phone.pass(milliseconds: 10)
      phone.edit(edit(text))
      try send(&phone)
    }
    try desk.answer(merge, relay.save(merge, by: desk.device))
    try send(&desk)
    try read(on: &phone)
    #expect(try opened(relay.records[0]).isDeleted)
    #expect(try desk.store.record(.desk("diary"))?.isDeleted == true)
    #expect(try phone.store.record(.desk("diary"))?.isDeleted == true)
    #expect(phone.conflicts == 0)
  }

  /// The phone merges the desk's version with the laptop's deletion of a former one. The desk,
  /// which has deleted its version, merges the two deletions: that includes all that the phone's
  /// merge does.
  @Test(arguments: [false, true])
  mutating func aMergeGivesWayToAVersionThatIncludesAllThatWasMerged(isSent: Bool) throws {
    var (desk, phone) = try pair()
    var laptop = try laptop()
    try write("diary", page: "first", on: &desk)
    let former = relay.records[0]
    try read(on: &laptop)
    desk.pass(milliseconds: 10)
    try write("diary", page: "second", on: &desk)
    try read(on: &phone)
    relay.put(former)
    try read(on: &laptop)
    laptop.pass(milliseconds: 20)
    try write("diary", page: nil, on: &laptop)
    try read(on: &phone)
    #expect(try phone.store.record(.desk("diary"))?.text == "second")
    let merge = isSent ? try phone.freezeOneBatch() : nil
    desk.pass(milliseconds: 30)
    desk.edit(EditRequest(key: .desk("diary"), type: TestApp.page) { _ in nil })
    try read(on: &desk)
    try send(&desk)
    if let merge { try phone.answer(merge, relay.save(merge, by: phone.device)) }
    try read(on: &phone)
    try send(&phone)
    #expect(try phone.store.record(.desk("diary"))?.isDeleted == true)
    #expect(try opened(relay.records[0]).isDeleted)
    #expect(phone.outbox.unsent == 0)
  }

  /// The answer to the desk's save is lost. The phone merges the saved version with the laptop's
  /// deletion of a former one, and keeps it; the desk has deleted that very version meanwhile.
  @Test mutating func aMergeThatKeepsAnUnansweredVersionUndoesNoDeletionOfIt() throws {
    var (desk, phone) = try pair()
    var laptop = try laptop()
    try write("diary", page: "first", on: &desk)
    let former = relay.records[0]
    desk.pass(milliseconds: 10)
    desk.edit(.fields("diary", TestApp.page, ["text": "second"]))
    let batch = try desk.freezeOneBatch()
    _ = relay.save(batch, by: desk.device)
    try read(on: &phone)
    relay.put(former)
    try read(on: &laptop)
    laptop.pass(milliseconds: 20)
    try write("diary", page: nil, on: &laptop)
    try read(on: &phone)
    try send(&phone)
    #expect(try opened(relay.records[0]).text == "second")
    desk.pass(milliseconds: 30)
    desk.edit(EditRequest(key: .desk("diary"), type: TestApp.page) { _ in nil })
    try desk.answer(batch, relay.save(batch, by: desk.device))
    try send(&desk)
    #expect(try opened(relay.records[0]).isDeleted)
    #expect(try desk.store.record(.desk("diary"))?.isDeleted == true)
    try read(on: &phone)
    #expect(try phone.store.record(.desk("diary"))?.isDeleted == true)
    #expect(desk.conflicts == 0)
  }

  /// The phone's edit is in no version that the desk knows, whatever it was merged with.
  @Test mutating func anEditOfAMergeGivesWayToNothing() throws {
    var (desk, phone) = try pair()
    var laptop = try laptop()
    desk.edit(.count("c"))
    try send(&desk)
    let former = relay.records[0]
    desk.edit(.count("c"))
    try send(&desk)
    try read(on: &phone)
    relay.put(former)
    try read(on: &laptop)
    laptop.edit(.count("c"))
    try send(&laptop)
    try read(on: &phone)
    phone.edit(.count("c"))
    try read(on: &desk)
    try send(&desk)
    try read(on: &phone)
    try send(&phone)
    let counts = try opened(relay.records[0]).value
    #expect(counts?[desk.device.text]?.int64 == 2)
    #expect(counts?[laptop.device.text]?.int64 == 1)
    #expect(counts?[phone.device.text]?.int64 == 1)
  }

  // MARK: files

  @Test mutating func aRecordNamesAFileThatIsSealedForItsZone() throws {
    var (desk, phone) = try pair()
    let hashes = try TestChunk.hashes(2)
    try write(photo("lake", hashes), on: &desk)
    #expect(relay.records.map(\.chunks) == [hashes])
    #expect(relay.records.allSatisfy { !$0.content.contains("lake") })
    try read(on: &phone)
    let arrived = try phone.store.record(.desk("photo"))
    #expect(arrived?.chunks == hashes)
    #expect(arrived?.value.map { FileReference.chunks(in: $0) } == hashes)
  }

  @Test mutating func anEditOfTheTitleKeepsTheFile() throws {
    var (desk, phone) = try pair()
    let hashes = try TestChunk.hashes(2)
    try write(photo("lake", hashes), on: &desk)
    try read(on: &phone)
    phone.pass(milliseconds: 10)
    try write(photo("the lake", hashes), on: &phone)
    #expect(relay.records.map(\.chunks) == [hashes])
    #expect(try opened(relay.records[0]).value?["title"]?.string == "the lake")
  }

  @Test mutating func aFileThatIsNotSealedForTheZoneIsRefused() throws {
    var (desk, _) = try pair()
    let hashes = try TestChunk.hashes(1)
    let requests: [EditRequest] = [
      photo("lake", hashes, sealedIn: nil), photo("lake", hashes, sealedIn: "Other"),
      .album("photo", hashes),
    ]
    for request in requests {
      guard case .failure(.refused) = desk.edit(request) else {
        Issue.record("not refused")
        return
      }
    }
    #expect(desk.outbox.unsent == 0)
  }

  @Test mutating func aZoneWithAPlainFileIsNotSealed() throws {
    let hashes = try TestChunk.hashes(1)
    var desk = try ReplicaHarness()
    desk.edit(photo("lake", hashes, sealedIn: nil))
    #expect(desk.seal(sealKeys([1])) == false)
    desk.edit(photo("lake", []))
    #expect(desk.seal(sealKeys([1])) == true)
  }

  /// A chunk that nothing names was attached before the keys: it would go as it is to a relay that
  /// was restored, and is offered all chunks of the home.
  @Test mutating func plainChunksThatNothingNamesGoWithTheFirstKeys() throws {
    let hashes = try TestChunk.hashes(2)
    var desk = try ReplicaHarness()
    for (number, hash) in hashes.enumerated() { hold(hash, UInt64(number), on: &desk) }
    let other = RecordKey(zone: Name(trusted: "Plain"), name: Name(trusted: "photo"))
    let named = photo("lake", [hashes[1]], sealedIn: nil)
    desk.edit(EditRequest(key: other, type: named.type, make: named.make))
    #expect(desk.seal(sealKeys([1])) == true)
    #expect(try desk.store.chunks(hashes).map(\.hash) == [hashes[1]])
    let sealed = try TestChunk.hash(9)
    hold(sealed, 9, on: &desk)
    desk.seal(sealKeys([1, 2]))
    #expect(try desk.store.chunks([sealed]).count == 1)
  }

  @Test mutating func aDeviceWithoutTheKeysOffersNoFileOfTheZone() throws {
    var (desk, _) = try pair()
    var phone = try ReplicaHarness(device: 3)
    let hashes = try TestChunk.hashes(3)
    for (number, hash) in hashes.enumerated() { hold(hash, UInt64(number), on: &phone) }
    phone.edit(photo("plain", [hashes[0]], sealedIn: nil))
    let other = RecordKey(zone: Name(trusted: "Plain"), name: Name(trusted: "photo"))
    let named = photo("lake", [hashes[1]], sealedIn: nil)
    phone.edit(EditRequest(key: other, type: named.type, make: named.make))
    try write("diary", "a secret", on: &desk)
    try read(on: &phone)
    #expect(phone.outbox.unreadableCount == 1)

    #expect(phone.freezeBatch() == nil)
    var offered = phone.outcome.needs
    try phone.confirmChunks([hashes[1]])
    #expect(try phone.freezeOneBatch().mutations.map(\.chunks) == [[hashes[1]]])
    phone.perform(.chunks(.check))
    offered += phone.outcome.needs
    try phone.confirmChunks([hashes[1]])
    phone.reportRestore(through: 1)
    offered += phone.outcome.needs
    #expect(offered.map(\.hash) == [hashes[1], hashes[1], hashes[1]])
  }

  @Test mutating func theRelayCannotChangeTheChunksOfARecord() throws {
    var (desk, phone) = try pair()
    let hashes = try TestChunk.hashes(4)
    try write(photo("lake", Array(hashes[..<2])), on: &desk)
    try read(on: &phone)
    desk.pass(milliseconds: 10)
    try write(photo("sea", Array(hashes[2...])), on: &desk)
    let honest = relay.records[0]
    for chunks in [[], [hashes[2]], [hashes[3], hashes[2]], hashes, Array(hashes[..<2])] {
      var changed = honest
      changed.chunks = chunks
      relay.put(changed)
      try read(on: &phone)
      #expect(phone.outbox.unreadable.map(\.fault) == [.altered])
      let held = try phone.store.record(.desk("photo"))
      #expect(held?.value?["title"]?.string == "lake")
      #expect(held?.chunks == Array(hashes[..<2]))
    }
    relay.put(honest)
    try read(on: &phone)
    #expect(try phone.store.record(.desk("photo"))?.chunks == Array(hashes[2...]))
    #expect(phone.outbox.unreadableCount == 0)
  }

  @Test mutating func theRelayCannotMoveAFileToAnotherRecord() throws {
    var (desk, phone) = try pair()
    let hashes = try TestChunk.hashes(2)
    try write(photo("lake", [hashes[0]], name: "a"), on: &desk)
    try write(photo("sea", [hashes[1]], name: "b"), on: &desk)
    var swapped = relay.records
    (swapped[0].fields, swapped[1].fields) = (swapped[1].fields, swapped[0].fields)
    (swapped[0].chunks, swapped[1].chunks) = (swapped[1].chunks, swapped[0].chunks)
    for record in swapped { relay.put(record) }
    try read(on: &phone)
    #expect(phone.outbox.unreadableCount == 2)
    #expect(try phone.store.allRecords().isEmpty)
  }

  @Test mutating func theNewerFileOfAConflictStaysWithItsChunks() throws {
    var (desk, phone) = try pair()
    let hashes = try TestChunk.hashes(3)
    try write(photo("lake", [hashes[0]]), on: &desk)
    try read(on: &phone)
    desk.pass(milliseconds: 10)
    phone.pass(milliseconds: 20)
    try write(photo("desk", [hashes[1]]), on: &desk)
    try write(photo("phone", [hashes[2]]), on: &phone)
    try read(on: &desk)
    try read(on: &phone)
    for device in [desk, phone] {
      let held = try device.store.record(.desk("photo"))
      #expect(held?.value?["title"]?.string == "phone")
      #expect(held?.chunks == [hashes[2]])
    }
    #expect(relay.records.map(\.chunks) == [[hashes[2]]])
  }

  @Test mutating func aNewGenerationMakesReadableWhatWasNot() throws {
    var (desk, phone) = try pair()
    try write("diary", "old", on: &desk)
    try read(on: &phone)
    desk.seal(sealKeys([1, 2]))
    desk.page(relay.live, from: nil, to: 1)
    desk.pass(milliseconds: 10)
    try write("diary", "new", on: &desk)
    try read(on: &phone)
    #expect(try phone.store.record(.desk("diary"))?.text == "old")
    #expect(phone.outbox.unreadableCount == 1)
    phone.seal(sealKeys([1, 2]))
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

  @Test mutating func aGroupWaitsForItsUnreadableMember() throws {
    var (desk, phone) = try pair()
    try write("a", "1", on: &desk)
    try read(on: &phone)
    var bad = relay.records[0]
    bad.fields = Array("{}".utf8)
    relay.put(bad)
    try read(on: &phone)
    phone.perform(
      .transact(OrderID(rawValue: 1)) { session throws(EditFailure) in
        for name in ["a", "b"] {
          try session.write(.desk(name), type: TestApp.note, fields: ["text": "x"])
        }
      })
    #expect(phone.freezeBatch() == nil)
    #expect(phone.outbox.heldBack.map(\.count) == [2])
  }

  @Test mutating func theRelayCannotFillTheListOfUnreadableRecords() throws {
    var (desk, phone) = try pair()
    try write("diary", "x", on: &desk)
    var bad = relay.records[0]
    let id = String(repeating: "k", count: 900_000)
    bad.fields = Array(#"{"key":"\#(id)","sealed":"AAAA"}"#.utf8)
    relay.put(bad)
    try read(on: &phone)
    let list = try #require(try phone.store.value(ReplicaState.sealUnreadableKey))
    #expect(list.utf8.count < 1_000)
    #expect(phone.outbox.unreadableCount == 1)
  }

  // MARK: keys

  @Test mutating func keysMayComeAfterTheFirstPage() throws {
    var (desk, _) = try pair()
    try write("diary", "a secret", on: &desk)
    var phone = try ReplicaHarness(device: 2)
    phone.page(relay.live, from: 1, to: 2)
    #expect(phone.seal(sealKeys([2])) == false)
    #expect(phone.seal(sealKeys([1])) == true)
    phone.page(relay.live, from: nil, to: 9)
    #expect(try phone.store.record(.desk("diary"))?.text == "a secret")
    #expect(try phone.store.allRecords().count == 1)
  }

  @Test mutating func whatNoRelayHasSeenIsSealedWhenItIsSent() throws {
    var desk = try ReplicaHarness()
    desk.edit(.note("diary", "before the keys"))
    #expect(desk.seal(sealKeys([1])) == true)
    desk.page([], from: nil, to: 1)
    try send(&desk)
    #expect(try opened(relay.records[0]).text == "before the keys")
    #expect(relay.records.allSatisfy { !$0.content.contains("before") })
  }

  @Test mutating func editsBeforeJoiningAreSealedIfTheCodeHasKeys() throws {
    let store = MemoryReplicaStore()
    var replica = Replica(store: store, apps: [TestApp()], editsBeforeJoining: true)
    let clock = ClockReading(wall: 1_000_000, offset: 0, isTrusted: true, isMeasured: true)
    func perform(_ task: ReplicaTask, offer: BatchOffer? = nil) -> ReplicaOutcome {
      replica.perform(ReplicaJob(task: task, offer: offer, clock: clock))
    }
    _ = perform(.edit(OrderID(rawValue: 1), .note("diary", "a secret")))
    let identity = HomeIdentity(
      relay: "http://relay:1",
      credentials: Credentials(
        account: AccountID(rawValue: 7), device: DeviceID(rawValue: 1), token: "secret"),
      deviceName: "desk")
    let offer = BatchOffer(id: BatchID(high: 1, low: 1), bounds: BatchBounds(), seed: 1)
    let keys = SealingKeys.zones([sealKeys([1])])
    let outcome = perform(.join(OrderID(rawValue: 2), identity, JoinedKeys(keys)), offer: offer)
    let batch = try #require(outcome.batch ?? perform(.freezeBatch, offer: offer).batch)
    _ = relay.take(batch, by: DeviceID(rawValue: 1))
    #expect(try opened(relay.records[0]).text == "a secret")
    #expect(relay.records.allSatisfy { !$0.content.contains("secret") })
  }

  @Test mutating func keysThatTheHomeHasLostAreNoReasonToSendPlainText() throws {
    var (desk, _) = try pair()
    desk.edit(.note("diary", "a secret"))
    for text in ["[]", "{", "[1]", "null"] {
      try desk.store.write([.setValue(key: ReplicaState.sealKeysKey, text)])
      desk.reopen()
      guard case .failure(.corrupt) = desk.outcome.result else {
        Issue.record("opened with \(text)")
        return
      }
      #expect(desk.freezeBatch() == nil)
    }
  }

  @Test mutating func aZoneWithPlainRecordsIsNotSealed() throws {
    var desk = try ReplicaHarness()
    desk.edit(.note("diary", "plain"))
    let batch = try desk.freezeOneBatch()
    #expect(desk.seal(sealKeys([1])) == false)
    try desk.answer(batch, relay.take(batch, by: desk.device))
    #expect(desk.seal(sealKeys([1])) == false)
    #expect(relay.records.map(\.name.text) == ["diary"])
  }

  @Test mutating func keysAreNeverReplacedByOthers() throws {
    var (desk, _) = try pair()
    #expect(desk.seal(sealKeys([2])) == false)
    #expect(desk.seal(sealKeys([1])) == true)
    try write("diary", "x", on: &desk)
    #expect(try opened(relay.records[0]).text == "x")
  }

  // MARK: stage

  private func pair() throws -> (ReplicaHarness, ReplicaHarness) {
    var devices = [try ReplicaHarness(device: 1), try ReplicaHarness(device: 2)]
    for index in devices.indices {
      #expect(devices[index].seal(sealKeys([1])) == true)
      devices[index].page([], from: nil, to: 1)
    }
    return (devices[0], devices[1])
  }

  private func laptop() throws -> ReplicaHarness {
    var laptop = try ReplicaHarness(device: 3)
    #expect(laptop.seal(sealKeys([1])) == true)
    laptop.page([], from: nil, to: 1)
    return laptop
  }

  private mutating func write(_ name: String, _ text: String, on device: inout ReplicaHarness)
    throws
  {
    device.edit(.note(name, text))
    try send(&device)
  }

  /// Returns an edit of a record with a title and a file.
  private func photo(
    _ title: String, _ chunks: [ChunkHash], sealedIn zone: String? = TestApp.zone.text,
    name: String = "photo"
  ) -> EditRequest {
    let plain: JSONValue = [
      "name": "a.jpg", "bytes": .number(JSONNumber(Int64(chunks.count))),
      "chunks": .array(chunks.map { .string($0.text) }),
    ]
    let seal = zone.map { zone -> JSONValue in ["zone": .string(zone), "key": "00"] }
    let fields: JSONValue = ["title": .string(title), "image": plain.setting("seal", to: seal)]
    return .fields(name, Name(trusted: "Photo"), fields)
  }

  private func hold(_ hash: ChunkHash, _ file: UInt64, on device: inout ReplicaHarness) {
    device.perform(.chunks(.add(HeldChunk(hash: hash, file: file, bytes: 5))))
  }

  /// Writes a record whose chunks the relay has.
  private mutating func write(_ edit: EditRequest, on device: inout ReplicaHarness) throws {
    guard case .success(let record) = device.edit(edit) else { throw TestFault("not written") }
    try device.confirmChunks(record.chunks)
    try send(&device)
  }

  /// Writes a page; nil deletes it.
  private mutating func write(_ name: String, page text: String?, on device: inout ReplicaHarness)
    throws
  {
    device.edit(
      EditRequest(key: .desk(name), type: TestApp.page) { _ in
        text.map { text -> JSONValue in ["text": .string(text)] }
      })
    try send(&device)
  }

  /// Sends all that waits, at most ten batches.
  private mutating func send(_ device: inout ReplicaHarness) throws {
    try relay.saveAll(from: &device)
  }

  private mutating func read(on device: inout ReplicaHarness) throws {
    try device.apply(relay.changes(for: device.device))
    device.bringBack()
  }

  private func sealedVersion(
    _ writer: UInt64, _ number: Int64, on made: VersionVector = VersionVector()
  ) throws -> RecordVersion {
    let id = VersionID(writer: WriterID(rawValue: writer), number: number)
    return try #require(RecordVersion(id, madeOn: made))
  }

  private func opened(_ record: Record) throws -> Record {
    try ZoneSeal(sealKeys([1])).opened(record).record
  }
}

extension Record {
  /// Fields as text.
  fileprivate var content: String { String(decoding: fields ?? [], as: UTF8.self) }
}
