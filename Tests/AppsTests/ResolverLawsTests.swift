import LockstepApps
import LockstepJSON
import LockstepModel
import Testing

/// Laws of every resolver in the catalog, tested with versions of which some are incomplete or
/// malformed.
struct ResolverLawsTests {
  struct Law: Sendable {
    let type: String
    /// True if merging an outcome with the server's version gives the same outcome. A rule that
    /// does not use the base keeps both again, or asks again.
    var readsBase = true
    /// Name of the record.
    var name = "current"
    /// Key of the device; nil: the device has none.
    var vaultKey: VaultKey?
    let fields: @Sendable (inout SeededRandom) -> JSONValue

    var resolver: (any Resolver)? {
      Name(type).flatMap { type in
        AppCatalog.all(vaultSeal: { vaultKey.map(VaultSeal.init) })
          .compactMap { $0.resolver(for: type) }.first
      }
    }

    /// Returns the server's version as the agent keeps it: with the stamps that it lacks.
    func kept(_ conflict: Conflict) -> Version {
      let rules = Name(type).flatMap { type in
        AppCatalog.all.compactMap { $0.rules(for: type) }.first
      }
      var server = conflict.server
      if let rules { server.fields = rules.completed(server, over: conflict.base) }
      return server
    }
  }

  static let subjects = [
    Law(type: "TimerState", fields: { RandomTimer.oddFields(&$0) }),
    Law(type: "Settings", fields: { RandomTimer.settings(&$0) }),
    Law(type: "VaultFile", readsBase: false, fields: { RandomFields.vaultFile(&$0) }),
    Law(
      type: "VaultFile", readsBase: false, name: RandomFields.sealedName,
      vaultKey: RandomFields.vaultKey, fields: { RandomFields.sealedFile(&$0) }),
    Law(type: "ClipboardItem", fields: { RandomFields.clipboardItem(&$0) }),
    Law(type: "Memo", fields: { RandomFields.memo(&$0) }),
    Law(type: "Habit", readsBase: false, fields: { RandomFields.habit(&$0) }),
    Law(type: "CheckIn", fields: { RandomFields.checkIn(&$0) }),
    Law(type: "HabitList", fields: { RandomFields.habitList(&$0) }),
  ]

  @Test(arguments: subjects)
  func theSameEitherWayRoundAndOnASecondRun(law: Law) throws {
    let resolver = try #require(law.resolver)
    for seed in UInt64(1)...250 {
      let conflict = conflict(of: law, seed: seed)
      let outcome = resolver.resolve(conflict)
      #expect(bytes(outcome) == bytes(resolver.resolve(conflict)), "seed \(seed)")
      let exchanged = Conflict(
        base: conflict.base, local: conflict.server, server: conflict.local)
      #expect(bytes(outcome) == bytes(resolver.resolve(exchanged)), "seed \(seed)")
    }
  }

  @Test(arguments: subjects)
  func whatIsResolvedStaysResolved(law: Law) throws {
    let resolver = try #require(law.resolver)
    for seed in UInt64(1)...250 {
      let conflict = conflict(of: law, seed: seed)
      // If one version is deleted, the live one is kept unchanged, in canonical order or not.
      if conflict.local.isDeleted || conflict.server.isDeleted { continue }
      guard case .merged(let fields, _) = resolver.resolve(conflict) else { continue }
      var outcome = conflict.sides.newer
      outcome.fields = fields
      outcome.modifiedAt += 1
      for base in [conflict.base, conflict.server, nil] {
        let again = resolver.resolve(Conflict(base: base, local: outcome, server: outcome))
        #expect(bytes(again) == bytes(.merged(fields: fields, copies: [])), "seed \(seed)")
      }
      if !law.readsBase { continue }
      // The agent's next step: the outcome is saved on top of the server's version.
      let server = law.kept(conflict)
      let saved = Conflict(base: server, local: outcome, server: server)
      #expect(
        bytes(resolver.resolve(saved)) == bytes(.merged(fields: fields, copies: [])),
        "seed \(seed)")
    }
  }

  @Test(arguments: subjects)
  func theSpellingOfTheInputPlaysNoPart(law: Law) throws {
    let resolver = try #require(law.resolver)
    for seed in UInt64(1)...500 {
      let conflict = conflict(of: law, seed: seed)
      let respelt = Conflict(
        base: conflict.base.map(reversed), local: reversed(conflict.local),
        server: reversed(conflict.server))
      #expect(
        bytes(resolver.resolve(conflict)) == bytes(resolver.resolve(respelt)), "seed \(seed)")
    }
  }

  private func conflict(of law: Law, seed: UInt64) -> Conflict {
    var random = SeededRandom(seed: seed)
    func version() -> Version {
      Version(
        name: law.name,
        fields: Int.random(in: 0..<8, using: &random) == 0 ? nil : law.fields(&random),
        modifiedAt: Int64.random(in: 0..<4, using: &random),
        device: RandomTimer.device(&random))
    }
    let base = Int.random(in: 0..<4, using: &random) == 0 ? nil : version()
    return Conflict(base: base, local: version(), server: version())
  }

  private func bytes(_ resolution: Resolution) -> [UInt8]? {
    guard case .merged(let fields, let copies) = resolution else { return nil }
    let all: JSONValue = [
      "fields": fields ?? .null,
      "copies": .array(copies.map { ["name": .string($0.name), "fields": $0.fields] }),
    ]
    return all.serialized()
  }

  private func reversed(_ version: Version) -> Version {
    var version = version
    version.fields = version.fields.map(reversed)
    return version
  }

  private func reversed(_ value: JSONValue) -> JSONValue {
    switch value {
    case .null, .bool, .string: value
    case .number(let number):
      // 1500 as 1500.0 and 0.5 as 0.50e0: the same numbers with another spelling.
      .number(JSONNumber(number.text + (number.int64 == nil ? "0e0" : ".0")) ?? number)
    case .array(let elements): .array(elements.map(reversed))
    case .object(let members):
      .object(members.reversed().map { JSONMember($0.name, reversed($0.value)) })
    }
  }
}
