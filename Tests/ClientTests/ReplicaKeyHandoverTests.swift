import LockstepCrypto
import LockstepJSON
import LockstepModel
import LockstepSealing
import LockstepStorage
import Testing

@testable import LockstepClient

/// Devices of an account that give each other new keys, and one that gets none.
struct ReplicaKeyHandoverTests {
  private var relay = KeylessRelay()

  @Test mutating func theOthersGetTheNewKeysAndGoOn() throws {
    var (desk, phone, lost) = try devices()
    try rotate(desk, secret: 2, without: [lost.device])
    try write("after", on: &desk, with: [1, 2])
    try read(on: &phone)
    phone.page(relay.live, from: nil, to: 90)
    #expect(phone.outbox.unreadableCount == 0)
    #expect(try phone.store.record(.desk("d"))?.text == "after")
    phone.reopen()
    phone.pass(milliseconds: 10)
    phone.edit(draft("from the phone"))
    try relay.saveAll(from: &phone)
    #expect(relay.record(of: sealedKey(2))?.value?["key"]?.string == id(2))

    try read(on: &lost)
    #expect(lost.outbox.unreadableCount == 1)
    #expect(try lost.store.record(.desk("d"))?.text != "from the phone")
  }

  /// It has what it had: the former generation, and its own key.
  @Test mutating func aRemovedDeviceGivesNobodyKeys() throws {
    var (desk, phone, lost) = try devices()
    try rotate(desk, secret: 2, without: [lost.device])
    try read(on: &phone)
    let held = try #require(try Replica.keys(in: phone.store))
    #expect(held.current?.id == id(2))
    let before = relay
    for author in [lost.device, desk.device, DeviceID(rawValue: 77)] {
      relay = before
      let key = try #require(try Replica.deviceKey(in: lost.store))
      // An invented device would have to be known first.
      putDeviceKey(key.publicKey, of: author, generation(1))
      let phoneKey = try #require(try Replica.deviceKey(in: phone.store)).publicKey
      let keys = SealingKeys.account(accountKeys([1, 2, 9]), .all(but: [KeyRing.zone]))
      let next = KeyHandover.Next(keys, author: author, without: [])
      let fields = try #require(
        KeyHandover.fields(of: next, for: phone.device, phoneKey, key: key))
      put(KeyHandover.nextRecord(for: phone.device), KeyHandover.nextType, fields)
      try read(on: &phone)
      #expect(try Replica.keys(in: phone.store) == held, "author \(author)")
    }
  }

  /// It has left the account, and nobody made new keys then.
  @Test mutating func aDeviceThatHasLeftGetsNoKeys() throws {
    let (desk, phone, lost) = try devices()
    try rotate(desk, secret: 2, without: [], left: [lost.device])
    #expect(relay.live.contains { $0.name == KeyHandover.nextRecord(for: phone.device) })
    #expect(!relay.live.contains { $0.name == KeyHandover.nextRecord(for: lost.device) })
    for home in [desk, phone] {
      var home = home
      try read(on: &home)
      let members = try Replica.members(in: home.store).members.map(\.device)
      #expect(members == [desk.device, phone.device])
    }
  }

  /// The former generation makes a public key known to a device that has not read the rotation.
  @Test mutating func aRemovedDeviceLeavesNoOtherBehind() throws {
    var (desk, phone, lost) = try devices()
    let key = try #require(try Replica.deviceKey(in: lost.store))
    let invented = DeviceID(rawValue: 77)
    putDeviceKey(key.publicKey, of: invented, generation(1))
    try read(on: &phone)
    #expect(try Replica.members(in: phone.store).key(of: invented) != nil)
    try rotate(desk, secret: 2, without: [lost.device])
    try read(on: &phone)
    let members = try Replica.members(in: phone.store)
    #expect(members.members.map(\.device) == [desk.device, phone.device])
    #expect(try Replica.keys(in: phone.store)?.current?.id == id(2))
  }

  /// The relay repeats a handover that was true once.
  @Test mutating func aFormerHandoverTakesNothingBack() throws {
    var (desk, phone, lost) = try devices()
    try rotate(desk, secret: 2, without: [])
    let former = try #require(relay.record(of: next(for: phone)))
    try read(on: &phone)
    try read(on: &desk)
    try rotate(desk, secret: 3, without: [lost.device])
    try read(on: &phone)
    #expect(try Replica.keys(in: phone.store)?.current?.id == id(3))
    relay.put(former)
    try read(on: &phone)
    #expect(try Replica.keys(in: phone.store)?.current?.id == id(3))
  }

  /// Away for two rotations by the same device.
  @Test mutating func aDeviceThatWasAwayCatchesUp() throws {
    var (desk, phone, lost) = try devices()
    for secret: UInt8 in 2...4 {
      try rotate(desk, secret: secret, without: [lost.device])
      try read(on: &desk)
    }
    try write("after", on: &desk, with: [1, 2, 3, 4])
    try read(on: &phone)
    phone.page(relay.live, from: nil, to: 90)
    #expect(try phone.store.record(.desk("d"))?.text == "after")
    #expect(phone.outbox.unreadableCount == 0)
  }

  /// With a stop in between; the other device takes them for what they are, and nobody sends twice.
  @Test mutating func whatWasWrittenBeforeIsSealedAgain() throws {
    var (desk, phone, lost) = try devices()
    for number in 1...20 {
      desk.pass(milliseconds: 1)
      desk.edit(.note("n\(number)", "text \(number)"))
    }
    try relay.saveAll(from: &desk)
    try read(on: &phone)
    let versions = try (1...20).map { try phone.store.version(.desk("n\($0)")) }
    try rotate(desk, secret: 2, without: [lost.device])
    desk.perform(
      .seal(OrderID(rawValue: 1), .account(accountKeys([1, 2]), .all(but: [KeyRing.zone]))))
    desk.readAgain(relay.live)
    var turns = 0
    while desk.outbox.isResealing, turns < 20 {
      desk.perform(.reseal)
      #expect(desk.outbox.unsent <= Limits.resealRecords)
      try relay.saveAll(from: &desk)
      turns += 1
      if turns == 2 { desk.reopen() }
    }
    #expect(turns == 3 || turns == 4)
    let sealed = relay.live.filter { $0.zone == TestApp.zone }
    #expect(sealed.count == 21 && sealed.allSatisfy { $0.value?["key"]?.string == id(2) })
    try read(on: &phone)
    if try phone.store.cursor() == nil { phone.readAgain(relay.live) }
    #expect(phone.outbox.unreadableCount == 0 && phone.freezeBatch() == nil)
    #expect(try (1...20).map { try phone.store.version(.desk("n\($0)")) } == versions)
    #expect(phone.conflicts == 0 && desk.conflicts == 0)
  }

  /// The device that makes new keys ends before it knows that they are saved, and starts again.
  @Test mutating func aDeviceThatFindsItsOwnNewKeysSealsAgainToo() throws {
    var (desk, phone, lost) = try devices()
    try rotate(desk, secret: 2, without: [lost.device])
    try read(on: &desk)
    try read(on: &phone)
    for home in [desk, phone] {
      #expect(try Replica.keys(in: home.store)?.current?.id == id(2))
    }
    #expect(desk.outbox.isResealing && !phone.outbox.isResealing)
    if try desk.store.cursor() == nil { desk.readAgain(relay.live) }
    desk.perform(.reseal)
    try relay.saveAll(from: &desk)
    #expect(!desk.outbox.isResealing)
    let sealed = relay.live.filter { $0.zone == TestApp.zone }
    #expect(!sealed.isEmpty && sealed.allSatisfy { $0.value?["key"]?.string == id(2) })
  }

  /// The relay shows each of two devices only its own rotation, and then both.
  @Test mutating func twoRotationsAtOnceMakeAKeyThatFollowsFromBoth() throws {
    let (desk, phone, _) = try devices()
    let before = relay
    try rotate(phone, secret: 3, without: [])
    let fromPhone = try #require(relay.record(of: next(for: desk)))
    let phoneOwn = relay.records.filter { $0.zone == KeyRing.zone }
    relay = before
    try rotate(desk, secret: 2, without: [])
    let fromDesk = try #require(relay.record(of: next(for: phone)))
    let deskOwn = relay.records.filter { $0.zone == KeyRing.zone }
    for (home, own, other) in [(desk, deskOwn, fromPhone), (phone, phoneOwn, fromDesk)] {
      var home = home
      try home.apply(own)
      var record = other
      record.tag = 1_000
      try home.apply([record])
      let current = try #require(try Replica.keys(in: home.store)?.current)
      #expect(current.id != id(2) && current.id != id(3))
    }
  }

  /// The relay was restored from a backup of before the new keys: a phrase would not open them.
  @Test mutating func theRecordOfFormerKeysIsReplaced() throws {
    let (desk, other, lost) = try devices()
    var phone = other
    let former = try #require(relay.record(of: KeyRing.key))
    try rotate(desk, secret: 2, without: [lost.device])
    try read(on: &phone)
    if try phone.store.cursor() == nil { phone.readAgain(relay.live) }
    relay.put(former)
    try read(on: &phone)
    try relay.saveAll(from: &phone)
    let ring = try #require(relay.record(of: KeyRing.key))
    let keys = try KeyRing.keys(in: ring.value, openedBy: generation(2))
    #expect(keys == (try Replica.keys(in: phone.store)))
  }

  /// Each made keys that the other never got, because the relay has lost them.
  @Test mutating func devicesWithDifferentKeysHaveAllAfterPairingAgain() throws {
    var (desk, phone, _) = try devices()
    let zones = ZoneSet.all(but: [KeyRing.zone])
    func pair(_ home: inout ReplicaHarness, _ keys: SealingKeys) throws -> SealingKeys {
      home.perform(.seal(OrderID(rawValue: 2), keys, plain: .replaced))
      return try #require(try Replica.keys(in: home.store))
    }
    let desks = try pair(&desk, .account(accountKeys([1, 2]), zones))
    #expect(try pair(&phone, .account(accountKeys([1, 3]), zones)).current?.id == id(3))
    let phones = try #require(try Replica.keys(in: phone.store))
    let all = try pair(&phone, desks)
    #expect(all.contains(desks) && all.contains(phones))
    let same = try pair(&desk, phones)
    #expect(same.contains(all) && same.current == all.current)
    #expect(try pair(&desk, .account(accountKeys([1]), zones)) == same)
    // Each accepts the other's record of the keys, although it has them in another order.
    phone.readAgain(relay.live)
    try relay.saveAll(from: &phone)
    let ring = try #require(relay.record(of: KeyRing.key))
    desk.readAgain(relay.live)
    try relay.saveAll(from: &desk)
    #expect(relay.record(of: KeyRing.key) == ring)
  }

  // MARK: stage

  private mutating func devices() throws -> (ReplicaHarness, ReplicaHarness, ReplicaHarness) {
    var homes: [ReplicaHarness] = []
    for number in 1...3 {
      var home = try ReplicaHarness(device: UInt64(number))
      home.perform(
        .seal(
          OrderID(rawValue: 1), .account(accountKeys([1]), .all(but: [KeyRing.zone]))))
      home.page([], from: nil, to: 1)
      home.perform(.makeDeviceKey([UInt8](repeating: UInt8(number), count: 32)))
      try relay.saveAll(from: &home)
      homes.append(home)
    }
    homes[0].edit(draft("before"))
    try relay.saveAll(from: &homes[0])
    for index in homes.indices {
      try homes[index].apply(relay.changes(for: homes[index].device))
      #expect(try Replica.members(in: homes[index].store).members.count == 3)
    }
    return (homes[0], homes[1], homes[2])
  }

  private mutating func rotate(
    _ home: ReplicaHarness, secret: UInt8, without gone: [DeviceID], left: [DeviceID] = []
  ) throws {
    let keys = try #require(try Replica.keys(in: home.store))
    let key = try #require(try Replica.deviceKey(in: home.store))
    let members = try Replica.members(in: home.store)
    let rotation = try #require(
      KeyRotation(
        of: keys, secret: [UInt8](repeating: secret, count: 32), by: home.device, key,
        for: members, listed: members.members.map(\.device).filter { !left.contains($0) },
        without: gone))
    for record in rotation.records {
      guard let fields = record.fields else {
        relay.delete(RecordKey(zone: KeyRing.zone, name: record.name))
        continue
      }
      put(record.name, record.type, fields)
    }
  }

  private mutating func put(_ name: Name, _ type: Name, _ fields: JSONValue) {
    relay.put(
      Record(
        zone: KeyRing.zone, name: name, type: type, fields: fields.serialized(),
        modifiedAt: 1_000_000, device: DeviceID(rawValue: 1), tag: 0))
  }

  private mutating func putDeviceKey(
    _ key: [UInt8], of device: DeviceID, _ generation: KeyGeneration
  ) {
    put(
      KeyHandover.deviceRecord(of: device), KeyHandover.deviceType,
      KeyHandover.fields(ofKey: key, of: device, generation))
  }

  private func next(for home: ReplicaHarness) -> RecordKey {
    RecordKey(zone: KeyRing.zone, name: KeyHandover.nextRecord(for: home.device))
  }

  private func generation(_ number: UInt8) -> KeyGeneration {
    accountKeys([number]).generations[0]
  }

  private func id(_ number: UInt8) -> String { generation(number).id }

  private func sealedKey(_ number: UInt8) -> RecordKey {
    let seal = ZoneSeal(accountKeys([number]).keys(of: TestApp.zone))
    return RecordKey(zone: TestApp.zone, name: seal.relayName(of: Name(trusted: "d")))
  }

  private func draft(_ text: String) -> EditRequest {
    .fields("d", TestApp.draft, ["text": .string(text)])
  }

  private mutating func write(
    _ text: String, on home: inout ReplicaHarness, with numbers: [UInt8]
  ) throws {
    try read(on: &home)
    #expect(try Replica.keys(in: home.store)?.current?.id == id(numbers[numbers.count - 1]))
    home.pass(milliseconds: 10)
    home.edit(draft(text))
    try relay.saveAll(from: &home)
  }

  private mutating func read(on home: inout ReplicaHarness) throws {
    try home.apply(relay.changes(for: home.device))
  }
}
