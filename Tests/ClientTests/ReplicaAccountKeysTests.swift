import LockstepModel
import LockstepSealing
import LockstepStorage
import Testing

@testable import LockstepClient

/// A home with the keys of its whole account: every zone is sealed, also one that an app makes
/// later, but for the zones that stay plain.
struct ReplicaAccountKeysTests {
  private var relay = KeylessRelay()
  private let later = Name(trusted: "Later")
  private let open = Name(trusted: "Open")

  @Test mutating func aZoneThatIsMadeLaterIsSealedToo() throws {
    var (desk, phone) = (try home(1), try home(2))
    desk.edit(.text("a secret", in: later))
    try send(&desk)
    #expect(!relay.records[0].text(contains: "secret"))
    try phone.apply(relay.changes(for: phone.device))
    let key = RecordKey(zone: later, name: Name(trusted: "a"))
    #expect(try phone.store.record(key)?.text == "a secret")
  }

  @Test mutating func aPlainZoneStaysAsItIs() throws {
    var (desk, phone) = (try home(1), try home(2))
    desk.edit(.text("for all", in: open))
    try send(&desk)
    #expect(relay.records[0].text(contains: "for all"))
    try phone.apply(relay.changes(for: phone.device))
    let key = RecordKey(zone: open, name: Name(trusted: "a"))
    #expect(try phone.store.record(key)?.text == "for all")
  }

  @Test mutating func aHomeKnowsItsKeysInTheNextProcess() throws {
    var desk = try home(1)
    desk.reopen()
    desk.edit(.text("a secret", in: later))
    try send(&desk)
    #expect(!relay.records[0].text(contains: "secret"))
  }

  @Test mutating func keysOfAZoneBecomeThoseOfTheAccount() throws {
    var desk = try ReplicaHarness()
    #expect(adopt(.zones([accountKeys([1]).keys(of: later)]), on: &desk))
    #expect(!adopt(.account(accountKeys([2]), .all(but: [open])), on: &desk))
    #expect(!adopt(.account(accountKeys([1]), .all(but: [later])), on: &desk))
    #expect(adopt(.account(accountKeys([1]), .all(but: [open])), on: &desk))
    let all = SealingKeys.account(accountKeys([1, 2]), .all(but: [open]))
    #expect(adopt(all, on: &desk))
    #expect(adopt(.account(accountKeys([1]), .all(but: [open])), on: &desk))
    #expect(try Replica.keys(in: desk.store) == all)
    #expect(!adopt(.zones([accountKeys([2]).keys(of: later)]), on: &desk))
  }

  @Test mutating func anAccountWithPlainRecordsIsNotSealed() throws {
    var desk = try ReplicaHarness()
    desk.edit(.text("for all", in: open))
    desk.edit(.text("for all", in: later))
    try send(&desk)
    #expect(!adopt(.account(accountKeys([1]), .all(but: [open])), on: &desk))
    #expect(adopt(.account(accountKeys([1]), .all(but: [open, later])), on: &desk))
  }

  // MARK: stage

  private func home(_ device: UInt64) throws -> ReplicaHarness {
    var home = try ReplicaHarness(device: device)
    #expect(adopt(.account(accountKeys([1]), .all(but: [open])), on: &home))
    home.page([], from: nil, to: 1)
    return home
  }

  private func adopt(_ keys: SealingKeys, on home: inout ReplicaHarness) -> Bool {
    home.perform(.seal(OrderID(rawValue: 1), keys))
    guard case .success(.switched(_, .success, _)) = home.outcome.result else { return false }
    return true
  }

  private mutating func send(_ device: inout ReplicaHarness) throws {
    try relay.saveAll(from: &device)
  }
}

extension Record {
  fileprivate func text(contains word: String) -> Bool {
    String(decoding: fields ?? [], as: UTF8.self).contains(word)
  }
}
