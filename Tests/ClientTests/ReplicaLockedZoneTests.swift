import LockstepModel
import LockstepSealing
import LockstepStorage
import Testing

@testable import LockstepClient

/// A device that joined a sealed account with a code that carries no keys.
struct ReplicaLockedZoneTests {
  private var relay = KeylessRelay()

  @Test mutating func itTakesNothingAndSendsNothing() throws {
    var (desk, phone) = try pair()
    phone.edit(draft("made before", "p"))
    try write("a secret", on: &desk)
    try read(on: &phone)
    #expect(try phone.store.allRecords().compactMap(\.text) == ["made before"])
    #expect(phone.outbox.unreadableCount == 1)
    #expect(phone.freezeBatch() == nil)
    guard case .failure(.refused(let refusal)) = phone.edit(draft("made later", "q")) else {
      Issue.record("the edit is not refused")
      return
    }
    #expect(refusal.reason.contains("does not have the keys"))
    #expect(relay.records.count == 1)
  }

  /// Also while it reads from the beginning, and whatever the relay leaves out then.
  @Test mutating func itStaysLockedUntilItHasTheKeys() throws {
    var (desk, phone) = try pair()
    phone.edit(draft("made before", "p"))
    try write("a secret", on: &desk)
    try read(on: &phone)
    phone.perform(.forgetCursor(restoredThrough: nil))
    phone.page([], from: nil, to: 9)
    #expect(phone.freezeBatch() == nil)
    phone.reopen()
    #expect(phone.freezeBatch() == nil)
    var forged = relay.record(at: 0)
    forged.name = Name(trusted: "x")
    forged.type = TestApp.draft
    forged.fields = Array(#"{"text":"forged"}"#.utf8)
    relay.put(forged)
    try read(on: &phone)
    #expect(try phone.store.allRecords().compactMap(\.text) == ["made before"])
    relay.forget(RecordKey(zone: forged.zone, name: forged.name))

    #expect(phone.seal(sealKeys([1])) == true)
    phone.page(relay.live, from: nil, to: 20)
    #expect(phone.outbox.unreadableCount == 0)
    try relay.saveAll(from: &phone)
    try read(on: &desk)
    for store in [phone.store, desk.store] {
      let texts = try store.allRecords().compactMap(\.text)
      #expect(texts.sorted() == ["a secret", "made before"])
    }
  }

  @Test mutating func itMergesNothingWithASealedRecord() throws {
    var (desk, phone) = try pair()
    try write("a secret", on: &desk)
    phone.edit(draft("made before"))
    let batch = try phone.freezeOneBatch()
    var sealed = relay.record(at: 0)
    sealed.name = batch.mutations[0].name
    try phone.answer(batch, [.conflict(name: sealed.name, record: sealed)])
    #expect(try phone.store.allRecords().compactMap(\.text) == ["made before"])
    #expect(phone.freezeBatch() == nil)
    #expect(phone.outbox.unreadableCount == 1)
  }

  @Test mutating func otherZonesAreNotLocked() throws {
    var (desk, phone) = try pair()
    try write("a secret", on: &desk)
    try read(on: &phone)
    phone.edit(.text("for all", in: Name(trusted: "Other")))
    try relay.saveAll(from: &phone)
    #expect(relay.live.count == 2)
  }

  /// Before the relay tells it anything, or keeps it back.
  @Test mutating func itIsLockedFromTheMomentThatItJoins() throws {
    var phone = try ReplicaHarness(device: 2)
    phone.edit(draft("made before", "p"))
    let plain = Name(trusted: "Plain")
    phone.edit(.text("for all", in: plain))
    try phone.join(JoinedKeys(sealed: .all(but: [plain])))
    #expect(phone.outbox.isLocked)
    let batch = try phone.freezeOneBatch()
    #expect(batch.zone == plain)
    try phone.answer(batch, relay.take(batch, by: phone.device))
    #expect(phone.freezeBatch() == nil)
    phone.reopen()
    #expect(phone.outbox.isLocked && phone.freezeBatch() == nil)
    try phone.join(JoinedKeys(.account(accountKeys([1]), .all(but: [plain]))))
    #expect(!phone.outbox.isLocked)
    try relay.saveAll(from: &phone)
    let sent = relay.records.filter { $0.zone == TestApp.zone }
    #expect(!sent.isEmpty && sent.allSatisfy { ZoneSeal.keyID(of: $0) != nil })
  }

  // MARK: stage

  /// The first one has keys.
  private func pair() throws -> (ReplicaHarness, ReplicaHarness) {
    var desk = try ReplicaHarness(device: 1)
    #expect(desk.seal(sealKeys([1])) == true)
    desk.page([], from: nil, to: 1)
    return (desk, try ReplicaHarness(device: 2))
  }

  private func draft(_ text: String, _ name: String = "d") -> EditRequest {
    .fields(name, TestApp.draft, ["text": .string(text)])
  }

  private mutating func write(_ text: String, on device: inout ReplicaHarness) throws {
    device.edit(draft(text))
    try relay.saveAll(from: &device)
  }

  private mutating func read(on device: inout ReplicaHarness) throws {
    try device.apply(relay.changes(for: device.device))
  }
}
