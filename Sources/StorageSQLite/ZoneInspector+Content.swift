import LockstepModel
import LockstepStorage

/// Checks that SQL cannot do: names, fields, plans and subscriptions are readable, and the use
/// count of each chunk is correct.
extension ZoneInspector {
  func contentFaults() throws(StorageError) -> [StoreFault] {
    var faults = try recordFaults()
    guard schema >= 2 else { return faults }
    let plans = try connection.prepare("SELECT account, plan FROM accounts WHERE plan IS NOT NULL")
    faults += try plans.all { row -> StoreFault? in
      guard Plan(storedText: row.text(1)) == nil else { return nil }
      return StoreFault("plan", AccountID(rawValue: row.bits(0)), "its plan cannot be read")
    }.compactMap(\.self)
    let wishes = try connection.prepare("SELECT account, id, content FROM subscriptions")
    faults += try wishes.all { row -> StoreFault? in
      if let id = Name(row.text(1)), Subscription(id: id, storedText: row.text(2)) != nil {
        return nil
      }
      return StoreFault(
        "subscription", AccountID(rawValue: row.bits(0)),
        "the subscription \(row.text(1)) cannot be read")
    }.compactMap(\.self)
    return faults
  }

  // MARK: records

  /// Findings, collected for one account after the other.
  private struct Walk {
    var account: UInt64?
    /// Number of records of the account that name each chunk.
    var uses: [ChunkHash: Int] = [:]
    var faults: [StoreFault] = []

    mutating func note(_ code: String, _ detail: String) {
      guard faults.count < Limits.shownFaults else { return }
      faults.append(StoreFault(code, account.map(AccountID.init(rawValue:)), detail))
    }
  }

  private func recordFaults() throws(StorageError) -> [StoreFault] {
    let records = try connection.prepare(
      """
      SELECT account, zone, name, type, fields, \(schema >= 2 ? "chunks" : "NULL") FROM records
      ORDER BY account
      """)
    let counted =
      try schema >= 2
      ? connection.prepare("SELECT hash, uses FROM chunks WHERE account = ? ORDER BY hash") : nil
    var walk = Walk()
    defer { records.reset() }
    while try records.step() {
      if walk.account != records.bits(0) {
        try compareUses(&walk, with: counted)
        walk.account = records.bits(0)
      }
      look(at: records, &walk)
    }
    try compareUses(&walk, with: counted)
    return walk.faults
  }

  private func look(at row: SQLiteStatement, _ walk: inout Walk) {
    let names = [row.text(1), row.text(2), row.text(3)]
    if !names.allSatisfy(Name.isValid) {
      walk.note("name", "a record has a name or type that is none: \(names)")
    }
    if !row.isNull(4), !ZoneInspector.isObject(row.bytes(4)) {
      walk.note("fields", "\(names[0])/\(names[1]) has fields that are no JSON object")
    }
    guard let hashes = row.chunks(5) else {
      return walk.note("pieceList", "the list of chunks of \(names[0])/\(names[1]) is cut off")
    }
    for hash in Set(hashes).sorted() { walk.uses[hash, default: 0] += 1 }
  }

  /// Not checked: the use counts of chunks in accounts without records.
  private func compareUses(
    _ walk: inout Walk, with counted: SQLiteStatement?
  ) throws(StorageError) {
    guard let account = walk.account, let counted else { return }
    let rows = try counted.bind(account).all { ($0.bytes(0), Int(clamping: $0.integer(1))) }
    for (bytes, uses) in rows {
      guard let hash = ChunkHash(bytes: bytes) else { continue }
      let held = walk.uses.removeValue(forKey: hash) ?? 0
      if held != uses {
        walk.note("pieceUses", "the chunk \(hash.text) is named by \(held) and counts \(uses)")
      }
    }
    for hash in walk.uses.keys.sorted() {
      walk.note("pieceUnknown", "a record names the chunk \(hash.text), which the account lacks")
    }
    walk.uses = [:]
  }

  private static func isObject(_ bytes: [UInt8]) -> Bool {
    var scanner = JSONScanner(bytes.span.bytes)
    do throws(JSONFault) {
      guard try scanner.kind() == .object else { return false }
      _ = try scanner.skipValue()
      try scanner.finish()
      return true
    } catch {
      return false
    }
  }
}
