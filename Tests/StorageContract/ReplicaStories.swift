import LockstepModel
import LockstepStorage
import Testing

/// Contract of a device's store.
enum ReplicaStories {
  static let all = [
    ReplicaStory("an empty home holds nothing") { scene in
      try scene.reopen()
      let store = scene.store
      #expect(try store.identity() == nil)
      #expect(try store.cursor() == nil)
      #expect(try store.allRecords().isEmpty)
      #expect(try store.outbox().isEmpty)
      #expect(try store.value("any") == nil)
      #expect(try store.record(scene.record("a").key) == nil)
    },
    ReplicaStory("a home keeps its identity until it is removed") { scene in
      let credentials = Credentials(
        account: AccountID(rawValue: .max), device: DeviceID(rawValue: 1), token: "secret")
      let identity = HomeIdentity(
        relay: "http://relay.example:5625", credentials: credentials, deviceName: "Sofa 🛋")
      try scene.write(.setIdentity(identity))
      try scene.reopen()
      #expect(try scene.store.identity() == identity)
      var moved = identity
      moved.relay = "http://other.example"
      try scene.write(.setIdentity(moved))
      #expect(try scene.store.identity() == moved)
      try scene.write(.setIdentity(nil))
      try scene.reopen()
      #expect(try scene.store.identity() == nil)
    },
    ReplicaStory("a home keeps what its device was paired for") { scene in
      var identity = HomeIdentity(
        relay: "http://relay.example:5625",
        credentials: Credentials(
          account: AccountID(rawValue: 1), device: DeviceID(rawValue: 2), token: "secret"),
        deviceName: "Phone")
      let zones = [Name(trusted: "Todos"), Name(trusted: #"a "quoted" 🛋"#)]
      let scopes = [
        DeviceScope(zones: zones), DeviceScope(zones: zones, isReadOnly: true),
        DeviceScope(zones: nil, isReadOnly: true), .everything,
      ]
      for scope in scopes {
        identity.credentials.scope = scope
        try scene.write(.setIdentity(identity))
        try scene.reopen()
        #expect(try scene.store.identity() == identity)
      }
    },
    ReplicaStory("a record is held as it was put, the last one wins") { scene in
      let first = scene.record("a", #"{"n":1}"#)
      let second = scene.record("a", #"{"n":2}"#, tag: 9, type: Name(trusted: "Other"))
      try scene.write(.putRecord(first))
      try scene.reopen()
      #expect(try scene.store.record(first.key) == first)
      try scene.write(.putRecord(second))
      try scene.reopen()
      #expect(try scene.store.record(first.key) == second)
      #expect(try scene.store.records(zone: scene.zone, type: scene.type).isEmpty)
      try scene.write(.removeRecord(first.key), .removeRecord(first.key))
      try scene.reopen()
      #expect(try scene.store.record(first.key) == nil)
      try scene.write(.putRecord(first), .putRecord(scene.record("b")))
      try scene.write(.removeRecords([first.key, scene.record("b").key, first.key]))
      try scene.reopen()
      #expect(try scene.store.allRecords().isEmpty)
    },
    ReplicaStory("a record remembers the newest versions that it replaced") { scene in
      let record = scene.record("a")
      let prints = (0..<20).map { VersionFingerprint(rawValue: UInt64.max - UInt64($0)) }
      let most = Limits.ancestors
      try scene.write(.putRecord(record))
      #expect(try scene.store.ancestors(record.key) == [])
      try scene.write(.putRecord(record, replacing: [prints[0], prints[1]]), .putRecord(record))
      try scene.reopen()
      #expect(try scene.store.ancestors(record.key) == [prints[0], prints[1]])
      try scene.write(.putRecord(record, replacing: Array(prints[2...most])))
      #expect(try scene.store.ancestors(record.key) == Array(prints[1...most]))
      try scene.write(.putRecord(record, replacing: prints))
      try scene.reopen()
      #expect(try scene.store.ancestors(record.key) == prints.suffix(most))
      try scene.write(.removeRecord(record.key), .putRecord(record))
      #expect(try scene.store.ancestors(record.key) == [])
    },
    ReplicaStory("a record keeps which version it is") { scene in
      let record = scene.record("a")
      let version = try #require(
        RecordVersion(
          VersionID(writer: WriterID(rawValue: .max), number: Limits.sequenceLimit - 1),
          madeOn: scene.vector))
      try scene.write(.putRecord(record, version: version))
      try scene.reopen()
      #expect(try scene.store.version(record.key) == version)
      #expect(try scene.store.version(scene.record("b").key) == nil)
      try scene.write(.markLost(record.key), .markInSnapshot(record.key, snapshot: 1))
      #expect(try scene.store.version(record.key) == version)
      try scene.write(.putRecord(record))
      #expect(try scene.store.version(record.key) == nil)
      try scene.write(
        .putRecord(record, version: version), .removeRecord(record.key), .putRecord(record))
      try scene.reopen()
      #expect(try scene.store.version(record.key) == nil)
    },
    ReplicaStory("a change has the versions that it was made on") { scene in
      let id = VersionID(writer: WriterID(rawValue: 9), number: Limits.sequenceLimit - 1)
      let version = try #require(RecordVersion(id, madeOn: scene.vector))
      let lineages: [OutboxEntry.Lineage?] = [
        nil, OutboxEntry.Lineage(base: nil, made: VersionVector()),
        OutboxEntry.Lineage(base: nil, made: scene.vector, id: id, given: [id]),
        OutboxEntry.Lineage(base: version, made: version.vector, asked: version),
        OutboxEntry.Lineage(base: version, made: version.vector, isMerge: true),
      ]
      for lineage in lineages {
        var entry = scene.entry(1, base: scene.record("a"))
        entry.lineage = lineage
        try scene.write(.putEntry(entry))
        try scene.reopen()
        #expect(try scene.store.outbox() == [entry])
      }
    },
    ReplicaStory("records of a type come by name, tombstones left out") { scene in
      let other = Name(trusted: "Other")
      let records = [
        scene.record("é"), scene.record("b"), scene.record("a"), scene.record("Z"),
        scene.record("gone", nil), scene.record("x", zone: other), scene.record("y", type: other),
      ]
      try scene.store.write(records.map { .putRecord($0) })
      try scene.reopen()
      let listed = try scene.store.records(zone: scene.zone, type: scene.type)
      #expect(listed.map(\.name.text) == ["Z", "a", "b", "é"])
      let all = try scene.store.allRecords()
      #expect(all.map(\.name.text) == ["Z", "a", "b", "gone", "y", "é", "x"])
      #expect(all == records.sorted { $0.key < $1.key })
    },
    ReplicaStory("a record keeps the chunks of files that it names, in their order") { scene in
      var record = scene.record("a")
      record.chunks = [2, 1].compactMap { ChunkHash(bytes: .init(repeating: $0, count: 32)) }
      try scene.write(.putRecord(record), .putEntry(scene.entry(1, base: record)))
      try scene.reopen()
      #expect(try scene.store.record(record.key) == record)
      #expect(try scene.store.allRecords() == [record])
      #expect(try scene.store.outbox().first?.base == record)
      try scene.write(.putRecord(scene.record("a")))
      #expect(try scene.store.record(record.key)?.chunks == [])
    },
    ReplicaStory(
      "records that a snapshot does not name are returned, without their fields"
    ) { scene in
      let names = ["a", "b", "c", "d", "gone"]
      try scene.store.write(
        names.map { .putRecord(scene.record($0, $0 == "gone" ? nil : "{}", tag: 5)) })
      try scene.write(
        .markInSnapshot(scene.record("a").key, snapshot: 1),
        .putRecord(scene.record("b", tag: 6), snapshot: 1),
        // A record put without a snapshot keeps its mark; a missing record gets none.
        .putRecord(scene.record("a", tag: 7)), .markInSnapshot(scene.record("x").key, snapshot: 1))
      try scene.reopen()
      let unnamed = try scene.store.unnamed(bySnapshot: 1)
      #expect(unnamed.map(\.key.name.text) == ["c", "d", "gone"])
      #expect(unnamed.map(\.isDeleted) == [false, false, true])
      #expect(unnamed[0].type == scene.type)
      #expect(unnamed[0].tag == 5)
      #expect(unnamed[0].modifiedAt == 50)
      #expect(unnamed[0].device == DeviceID(rawValue: .max))
      #expect(try scene.store.unnamed(bySnapshot: 2).count == 5)
      try scene.write(.markInSnapshot(scene.record("a").key, snapshot: 2))
      #expect(
        try scene.store.unnamed(bySnapshot: 2).map(\.key.name.text) == ["b", "c", "d", "gone"])
      #expect(try scene.store.record(scene.record("x").key) == nil)
    },
    ReplicaStory("lost records are returned in portions, until they are put or named") { scene in
      let keys = ["c", "a", "b"].map { scene.record($0).key }
      try scene.store.write(["a", "b", "c", "d"].map { .putRecord(scene.record($0)) })
      try scene.store.write(keys.map { .markLost($0) })
      try scene.write(.markLost(scene.record("x").key))
      try scene.reopen()
      func lost(_ limit: Int, _ bytes: Int) throws -> [String] {
        try scene.store.lostRecords(limit: limit, bytes: bytes).map(\.name.text)
      }
      #expect(try lost(9, 100) == ["a", "b", "c"])
      #expect(try lost(2, 100) == ["a", "b"])
      #expect(try lost(9, 5) == ["a", "b"])
      #expect(try lost(9, 0) == ["a"])
      #expect(try scene.store.isLost(scene.record("a").key))
      #expect(try !scene.store.isLost(scene.record("d").key))
      #expect(try !scene.store.isLost(scene.record("x").key))
      #expect(try scene.store.unnamed(bySnapshot: 1).map(\.key.name.text) == ["d"])
      try scene.write(
        .putRecord(scene.record("a")), .markInSnapshot(scene.record("b").key, snapshot: 1))
      #expect(try lost(9, 100) == ["c"])
      try scene.write(.removeRecord(scene.record("c").key))
      #expect(try lost(9, 100).isEmpty)
      #expect(try !scene.store.isLost(scene.record("c").key))
    },
    ReplicaStory("the greatest tag is known") { scene in
      #expect(try scene.store.greatestTag() == 0)
      try scene.write(
        .putRecord(scene.record("a", tag: 5)), .putRecord(scene.record("b", nil, tag: 1 << 52)),
        .putRecord(scene.record("c", tag: 9)))
      #expect(try scene.store.greatestTag() == 1 << 52)
      try scene.write(.removeRecord(scene.record("b").key))
      #expect(try scene.store.greatestTag() == 9)
    },
    ReplicaStory("the cursor is kept as it was set, and can be dropped") { scene in
      let token = ChangeToken(generation: .max, sequence: 5, zoneDigest: 7, pinned: 9)
      try scene.write(.setCursor(token))
      try scene.reopen()
      #expect(try scene.store.cursor() == token)
      try scene.write(.setCursor(nil))
      try scene.reopen()
      #expect(try scene.store.cursor() == nil)
    },
    ReplicaStory("the outbox comes oldest first, in every state, as it was put") { scene in
      let refusal = Refusal(
        .recordTooLarge, "Make it smaller.", retryAfterMilliseconds: 5, relayTime: -6)
      let entries = [
        scene.entry(1), scene.entry(2, state: .sent(BatchID(high: .max, low: 3)), group: 2),
        scene.entry(3, state: .parked(refusal), base: scene.record("a", #"{"n":1}"#)),
        scene.entry(4, state: .parked(Refusal(.badName, ""))),
        scene.entry(
          5, state: .asking(scene.record("a", nil, tag: 8)), base: scene.record("a"), fields: nil),
        scene.entry(11, base: scene.record("a"), timeMade: scene.record("a", #"{"n":2}"#, tag: 0)),
      ]
      try scene.store.write(entries.reversed().map { .putEntry($0) })
      try scene.reopen()
      #expect(try scene.store.outbox() == entries)
    },
    ReplicaStory("an entry is replaced with all that it refers to, and removed with it") { scene in
      let base = scene.record("a", #"{"n":1}"#)
      try scene.write(.putEntry(scene.entry(1, state: .asking(base), base: base)))
      let waiting = scene.entry(1, "b")
      try scene.write(.putEntry(waiting))
      try scene.reopen()
      #expect(try scene.store.outbox() == [waiting])
      try scene.write(.removeEntry(number: 1), .removeEntry(number: 2))
      try scene.write(.putEntry(scene.entry(1)))
      try scene.reopen()
      #expect(try scene.store.outbox() == [scene.entry(1)])
    },
    ReplicaStory("a note is kept under its key until it is dropped") { scene in
      try scene.write(.setValue(key: "k", "one"), .setValue(key: "empty", ""))
      try scene.write(.setValue(key: "k", "two"))
      try scene.reopen()
      #expect(try scene.store.value("k") == "two")
      #expect(try scene.store.value("empty") == "")
      #expect(try scene.store.value("K") == nil)
      try scene.write(.setValue(key: "k", nil), .setValue(key: "never", nil))
      try scene.reopen()
      #expect(try scene.store.value("k") == nil)
    },
    ReplicaStory("the writes of one call happen in their order") { scene in
      let record = scene.record("a")
      try scene.write(
        .putRecord(record), .removeRecord(record.key), .putRecord(scene.record("a", tag: 2)),
        .putEntry(scene.entry(1)), .removeEntry(number: 1), .setValue(key: "k", "1"),
        .setValue(key: "k", "2"))
      try scene.reopen()
      #expect(try scene.store.record(record.key)?.tag == 2)
      #expect(try scene.store.outbox().isEmpty)
      #expect(try scene.store.value("k") == "2")
    },
    ReplicaStory("a megabyte of fields comes back as it was") { scene in
      let text = "{\"n\":\"" + String(repeating: "é", count: 500_000) + "\"}"
      let record = scene.record("a", text)
      try scene.write(.putRecord(record), .putEntry(scene.entry(1, base: record, fields: text)))
      try scene.reopen()
      #expect(try scene.store.record(record.key) == record)
      #expect(try scene.store.outbox().first?.base == record)
    },
  ]
}
