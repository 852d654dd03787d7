import Lockstep
import LockstepJSON
import LockstepModel

/// A broken law of a record type's rules, with the smallest case that was found.
public struct MergeLawFault: Error, CustomStringConvertible, Sendable {
  public let description: String
}

/// Checks the merge of a record type with random histories: two to four devices edit one record,
/// not knowing of each other's edits, and sync in every order, or in six of the orders of four.
///
/// A debug build plays about 70 histories of a record with seven fields a second.
///
///
/// - Merging is symmetric: the result does not depend on which version is local.
/// - It is repeatable, and a merged record stays as it is when it meets itself.
/// - Every order of arrival ends with the same record.
///
/// The values of the fields are drawn by the type's `Codable` conformance.
///
/// - Parameters:
///   - type: Type of the record.
///   - histories: Number of histories.
///   - samples: Draws a value, for a type whose values cannot be drawn; `nil` draws them.
/// - Throws: `MergeLawFault`, also for a type whose values cannot be drawn.
public func checkMergeLaws<Record: SyncedRecord>(
  _ type: Record.Type, histories: Int, samples: ((_ index: Int) -> Record)? = nil
) throws {
  for seed in 0..<UInt64(clamping: histories) {
    let history: MergeHistory<Record>
    do {
      history = try MergeHistory<Record>(seed: seed, samples: samples)
    } catch let error as DecodingError {
      throw MergeLawFault(description: RandomValues.explanation(of: error, drawing: type))
    }
    try history.check()
  }
}

/// One history of concurrent edits of one record.
struct MergeHistory<Record: SyncedRecord> {
  private let seed: UInt64
  private let rules = Record.rules
  private let resolver = RecordResolver<Record>()
  private let base: Version?
  private let edits: [Version]
  /// Orders of arrival that are played, all of them for up to three edits.
  private let orders: [[Int]]

  private static var ordersMax: Int { 6 }

  init(seed: UInt64, samples: ((Int) -> Record)?) throws {
    self.seed = seed
    var random = SeededRandom(seed: seed)
    var values = RandomValues(seed: random.next())
    var drawn = 0
    func value() throws -> Record {
      drawn += 1
      var value =
        try samples.map { $0(Int(clamping: seed) &* 8 &+ drawn) } ?? values.draw(Record.self)
      value.id = "record"
      return value
    }
    let start: Int64 = 1_000_000
    var base: Version?
    if Int.random(in: 0..<4, using: &random) > 0 {
      base = Version(
        name: "record", fields: try value().fields(over: nil, by: "origin"), modifiedAt: start,
        device: "origin")
    }
    var edits: [Version] = []
    for device in ["a", "b", "c", "d"].prefix(Int.random(in: 2...4, using: &random)) {
      var version = base
      for _ in 0...Int.random(in: 0...1, using: &random) {
        let time = start + Int64.random(in: 1...4, using: &random) + (version == nil ? 0 : 4)
        version = try Self.edited(version, value(), device, time, &random)
      }
      if let version { edits.append(version) }
    }
    self.base = base
    self.edits = edits
    orders = Array(
      Self.orders(of: edits.count).shuffled(using: &random).prefix(Self.ordersMax))
  }

  /// Returns the version after an edit that sets some of the fields to those of `value`.
  private static func edited(
    _ version: Version?, _ value: Record, _ device: String, _ time: Int64,
    _ random: inout SeededRandom
  ) throws -> Version {
    let rules = Record.rules
    let newest = version.map { rules.newestStamp(in: $0).time + 1 } ?? time
    let stamp = Stamp(time: max(time, newest), device: device)
    if version?.fields != nil, Int.random(in: 0..<8, using: &random) == 0 {
      return Version(name: "record", fields: nil, modifiedAt: stamp.time, device: device)
    }
    var fields = version?.fields ?? [:]
    let whole = try value.fields(over: nil, by: device)
    let chosen = (whole.members ?? []).filter { _ in
      version?.fields == nil || Int.random(in: 0..<3, using: &random) == 0
    }
    fields = fields.setting(chosen)
    return Version(
      name: "record", fields: rules.stamped(fields, over: version, at: stamp),
      modifiedAt: stamp.time, device: device)
  }

  // MARK: laws

  func check() throws {
    var outcomes: [(order: [Int], fields: JSONValue?)] = []
    for (number, order) in orders.enumerated() {
      // Each order meets other versions, but the laws of one merge take four times as long.
      guard let fields = try outcome(of: order, checksMerges: number == 0) else { return }
      outcomes.append((order: order, fields: fields.value))
    }
    guard let first = outcomes.first else { return }
    for other in outcomes where other.fields != first.fields {
      throw fault(
        """
        the order of arrival decides
        \(names(first.order)) ends with \(text(first.fields))
        \(names(other.order)) ends with \(text(other.fields))
        """)
    }
  }

  private struct Outcome { var value: JSONValue? }

  /// Merges the edits in this order, as the devices would. Returns nil if a person is asked.
  ///
  /// - Parameter checksMerges: Also checks the laws of each merge.
  private func outcome(of order: [Int], checksMerges: Bool) throws -> Outcome? {
    var server = edits[order[0]]
    for index in order.dropFirst() {
      let local = edits[index]
      let conflict = Conflict(base: base, local: local, server: server)
      let resolution = resolver.resolve(conflict)
      if checksMerges { try check(resolution, of: conflict) }
      guard case .merged(var fields, _) = resolution else { return nil }
      if let live = [local, server].first(where: { !$0.isDeleted }), fields == live.fields {
        // A version that outlives a delete keeps its own stamps.
        fields = rules.explicit(live)
      }
      let merged = Version(
        name: "record", fields: fields, modifiedAt: max(local.modifiedAt, server.modifiedAt),
        device: local.device)
      if checksMerges { try checkStays(merged) }
      server = merged
    }
    return Outcome(value: unstamped(server.fields))
  }

  private func check(_ resolution: Resolution, of conflict: Conflict) throws {
    let (local, server) = (conflict.local, conflict.server)
    let exchanged = Conflict(base: conflict.base, local: server, server: local)
    guard form(resolver.resolve(exchanged)) == form(resolution) else {
      throw fault("local and server are not treated alike: \(text(local)) and \(text(server))")
    }
    guard form(resolver.resolve(conflict)) == form(resolution) else {
      throw fault("the same conflict ends differently: \(text(local)) and \(text(server))")
    }
  }

  private func checkStays(_ merged: Version) throws {
    let again = resolver.resolve(Conflict(base: base, local: merged, server: merged))
    guard case .merged(let stays, _) = again, unstamped(stays) == unstamped(merged.fields) else {
      throw fault("a merged record changes when it meets itself: \(text(merged.fields))")
    }
  }

  private func unstamped(_ fields: JSONValue?) -> JSONValue? {
    fields.map { Stamps.removed(from: $0) }
  }

  private func form(_ resolution: Resolution) -> [UInt8]? {
    guard case .merged(let fields, let copies) = resolution else { return nil }
    return JSONValue.array(
      [fields ?? .null] + copies.flatMap { [.string($0.name), $0.fields] }
    ).serialized()
  }

  private static func orders(of count: Int) -> [[Int]] {
    var orders: [[Int]] = [[]]
    for _ in 0..<count {
      orders = orders.flatMap { order in
        (0..<count).filter { !order.contains($0) }.map { order + [$0] }
      }
    }
    return orders
  }

  // MARK: texts

  private func names(_ order: [Int]) -> String {
    order.map { edits[$0].device }.joined(separator: ", ")
  }

  private func text(_ version: Version) -> String { text(version.fields) }
  private func text(_ fields: JSONValue?) -> String { fields?.text ?? "a deleted record" }

  private func fault(_ law: String) -> MergeLawFault {
    let versions = edits.map { "  \($0.device): \(text($0))" }.joined(separator: "\n")
    return MergeLawFault(
      description: """
        \(Record.recordType), history \(seed): \(law)
        base: \(base.map { text($0) } ?? "none")
        \(versions)
        """)
  }
}
