import LockstepJSON
import LockstepModel
import LockstepSealing
import LockstepStorage
import Testing

@testable import LockstepClient

struct MergingTests {
  private let me = DeviceID(rawValue: 1)
  private var merging: Merging { Merging(apps: [TestApp()], device: me) }

  private func local(_ type: Name, _ fields: JSONValue?, at modifiedAt: Int64) -> OutboxEntry {
    OutboxEntry(
      number: 1, key: .desk("a"), type: type, fields: fields?.serialized(), modifiedAt: modifiedAt,
      isStampTrusted: true, base: nil, state: .waiting)
  }

  private func server(_ type: Name, _ fields: JSONValue?, at modifiedAt: Int64) -> Record {
    Record(
      zone: TestApp.zone, name: Name(trusted: "a"), type: type, fields: fields?.serialized(),
      modifiedAt: modifiedAt, device: DeviceID(rawValue: 2), tag: 3)
  }

  @Test func theAppsRuleDecides() {
    let resolution = merging.resolve(
      local(TestApp.counter, ["a": 3], at: 1), server(TestApp.counter, ["a": 1, "b": 2], at: 9))
    #expect(resolution == .merged(fields: ["a": 3, "b": 2], copies: []))
    #expect(
      merging.resolve(
        local(TestApp.choice, ["a": 3], at: 1), server(TestApp.choice, ["a": 1], at: 9)) == .ask)
  }

  @Test func aTypeNobodyKnowsIsTheNewersAndAChangeOutlivesADelete() {
    let type = Name(trusted: "FromLater")
    #expect(
      merging.resolve(local(type, ["a": 1], at: 5), server(type, ["a": 2], at: 4))
        == .merged(fields: ["a": 1], copies: []))
    #expect(
      merging.resolve(local(type, ["a": 1], at: 5), server(type, ["a": 2], at: 5))
        == .merged(fields: ["a": 2], copies: []))
    #expect(
      merging.resolve(local(type, ["a": 1], at: 1), server(type, nil, at: 9))
        == .merged(fields: ["a": 1], copies: []))
    #expect(
      merging.resolve(local(type, nil, at: 9), server(type, ["a": 2], at: 1))
        == .merged(fields: ["a": 2], copies: []))
    #expect(
      merging.resolve(local(type, nil, at: 9), server(type, nil, at: 1))
        == .merged(fields: nil, copies: []))
  }

  /// A device that has not read the newest keys saves the ones that it has.
  @Test func ofTheAccountsKeysTheRelaysVersionWins() {
    var entry = local(KeyRing.type, ["key": "former"], at: 9)
    entry.key = KeyRing.key
    var newest = server(KeyRing.type, ["key": "newest"], at: 1)
    (newest.zone, newest.name) = (KeyRing.zone, KeyRing.record)
    #expect(merging.resolve(entry, newest) == .merged(fields: ["key": "newest"], copies: []))
    newest.fields = nil
    #expect(merging.resolve(entry, newest) == .merged(fields: ["key": "former"], copies: []))
  }

  @Test func anEditMadeAtACountdownsEndKnowsOfThatEnd() {
    // Another device saved the end first; on this device the user pressed stop after it.
    var entry = local(EditsApp.type, ["edits": ["stop"]], at: 9)
    entry.base = server(EditsApp.type, ["edits": ["focus"]], at: 1)
    let ended = server(EditsApp.type, ["edits": ["end"]], at: 8)
    let merging = Merging(apps: [EditsApp()], device: me)
    #expect(
      merging.resolve(entry, ended) == .merged(fields: ["edits": ["stop", "end"]], copies: []))
    entry.timeMade = ended
    #expect(merging.resolve(entry, ended) == .merged(fields: ["edits": ["stop"]], copies: []))
    // An edit that this device had not received is kept too.
    let other = server(EditsApp.type, ["edits": ["end", "pause"]], at: 8)
    #expect(
      merging.resolve(entry, other) == .merged(fields: ["edits": ["stop", "pause"]], copies: []))
  }

  /// A relay restored from a backup lacks the version on which the change was made. Meanwhile
  /// another device without that version has set "a"; on this device the user set "b".
  @Test func aLostVersionComesBackBeforeWhatWasMadeOnIt() {
    let merging = Merging(apps: [TestApp(), EditsApp()], device: me)
    // Both edits of the lost version were replaced here; the edit of the other device stays.
    var entry = local(EditsApp.type, ["edits": ["stop"]], at: 20)
    let lost = server(EditsApp.type, ["edits": ["focus", "end"]], at: 10)
    entry.base = lost
    let theirs = server(EditsApp.type, ["edits": ["end", "pause"]], at: 15)
    #expect(
      merging.resolve(entry, madeOn: lost, theirs)
        == .merged(fields: ["edits": ["stop", "pause"]], copies: []))
    // A conflict that only a user may decide stays undecided.
    let choice = local(TestApp.choice, ["a": 3], at: 20)
    #expect(
      merging.resolve(
        choice, madeOn: server(TestApp.choice, ["a": 2], at: 10),
        server(TestApp.choice, ["a": 1], at: 15)) == .ask)
    // A draft that lost to another is kept once, without the version that it was based on.
    let draft = local(TestApp.draft, ["t": "mine"], at: 20)
    let resolution = merging.resolve(
      draft, madeOn: server(TestApp.draft, ["t": "before"], at: 10),
      server(TestApp.draft, ["t": "theirs"], at: 15))
    guard case .merged(let fields, let copies) = resolution else {
      Issue.record("a draft asks")
      return
    }
    #expect(fields == ["t": "mine"])
    #expect(copies.map(\.fields) == [["t": "theirs"]])
  }

  @Test func fieldsAreEqualAsJSON() {
    #expect(Merging.equal(Array(#"{"a":1,"b":2}"#.utf8), Array(#"{ "b":2.0, "a":1 }"#.utf8)))
    #expect(!Merging.equal(Array(#"{"a":1}"#.utf8), Array(#"{"a":"1"}"#.utf8)))
    #expect(!Merging.equal(nil, Array("{}".utf8)))
    #expect(Merging.equal(nil, nil))
    #expect(!Merging.equal([1], [2]))
  }

  @Test func onlyTheAppThatOwnsAZoneWaitsInIt() {
    var egg = server(TestApp.egg, ["dueAt": 50, "owner": "x"], at: 1)
    #expect(merging.dueEdit(for: egg)?.dueAt == 50)
    egg.zone = Name(trusted: "Elsewhere")
    #expect(merging.dueEdit(for: egg) == nil)
    // A type for which the app has declared no due edits.
    let note = server(TestApp.note, ["dueAt": 50, "owner": "x"], at: 1)
    #expect(merging.dueEdit(for: note) == nil)
  }
}

/// Records that hold a set of words, merged three ways.
private struct EditsApp: App {
  static let type = Name(trusted: "Edits")

  let name = "edits"
  let zone = TestApp.zone

  func resolver(for type: Name) -> (any Resolver)? { type == EditsApp.type ? Words() : nil }

  let timedTypes: [Name] = []

  func dueEdit(for record: Record) -> DueEdit? { nil }

  private struct Words: Resolver {
    func resolve(_ conflict: Conflict) -> Resolution {
      let base = words(conflict.base)
      let local = words(conflict.local)
      let server = words(conflict.server)
      let kept =
        local.filter { server.contains($0) || !base.contains($0) }
        + server.filter { !local.contains($0) && !base.contains($0) }
      return .merged(fields: ["edits": .array(kept)], copies: [])
    }

    private func words(_ version: Version?) -> [JSONValue] {
      version?.fields?["edits"]?.array ?? []
    }
  }
}
