import LockstepApps
import LockstepJSON
import LockstepModel

/// Random fields of the records of vault, clipboard, memos and habits, some incomplete or
/// malformed.
enum RandomFields {
  /// The same hash always comes with the same fields.
  static func vaultFile(_ random: inout SeededRandom) -> JSONValue {
    let number = Int64.random(in: 0..<3, using: &random)
    let hash = String(repeating: "\(number)", count: 64)
    let fields: JSONValue = [
      "file": pick(["vault.db"], &random), "size": .number(JSONNumber(number)),
      "sha256": .string(hash), "chunks": [.string(hash)],
    ]
    return number == 2 ? fields.setting("sha256", to: nil) : fields
  }

  static let vaultKey = VaultKey(bytes: Array(1...16))
  private static let seal = vaultKey.map(VaultSeal.init) ?? .plain
  static let sealedName = seal.recordName(of: "vault.db")?.text ?? ""

  /// Like `vaultFile`, but sealed; some not made with the vault's key.
  static func sealedFile(_ random: inout SeededRandom) -> JSONValue {
    let number = UInt8.random(in: 0..<4, using: &random)
    guard let hash = ChunkHash(bytes: Array(repeating: number, count: 32)),
      let chunk = ChunkHash(bytes: Array(repeating: number + 100, count: 32))
    else { return .null }
    let manifest = VaultManifest(
      file: "vault.db", size: Int(number), sha256: hash, chunks: [hash, hash])
    let fields = seal.fields(of: manifest, chunks: [chunk, chunk])
    return number == 3 ? fields.setting("sealed", to: "AAAA") : fields
  }

  static func clipboardItem(_ random: inout SeededRandom) -> JSONValue {
    var fields: JSONValue = ["content": pick(["", "a", "é", "e\u{301}", .null, 5], &random)]
    if Int.random(in: 0..<3, using: &random) == 0 {
      fields = fields.setting("pinned", to: pick([true, true, "yes"], &random))
        .setting("copiedAt", to: pick([4, 6, "never"], &random))
    }
    return fields
  }

  static func memo(_ random: inout SeededRandom) -> JSONValue {
    let content = pick(["", "one", "two\nlines", "two\r\nlines", "é", .null], &random)
    var fields: JSONValue = ["title": "old", "content": content, "date": 5]
    if Bool.random(using: &random) {
      fields = fields.setting("date", to: pick([4, 6, "never", .null], &random))
    }
    if Int.random(in: 0..<6, using: &random) == 0 { fields = fields.setting("content", to: nil) }
    if Bool.random(using: &random) { fields = fields.setting("colour", to: pick([1, 2], &random)) }
    return fields
  }

  static func habit(_ random: inout SeededRandom) -> JSONValue {
    ["title": pick(["Run", "水"], &random), "kind": "count", "target": pick([1, 2], &random)]
  }

  static func checkIn(_ random: inout SeededRandom) -> JSONValue {
    var fields: JSONValue = ["habit": "h", "day": "2026-03-01"]
    if Bool.random(using: &random) {
      fields = fields.setting("done", to: pick([true, false], &random))
    }
    for name in ["counts", "undone"] where Int.random(in: 0..<4, using: &random) > 0 {
      fields = fields.setting(name, to: counts(&random))
    }
    return fields
  }

  static func habitList(_ random: inout SeededRandom) -> JSONValue {
    if Int.random(in: 0..<10, using: &random) == 0 { return ["places": 5, "archived": "all"] }
    var places: JSONValue = [:]
    var archived: [JSONValue] = []
    for habit in ["run", "é", "e\u{301}"] {
      if Bool.random(using: &random) {
        places = places.setting(habit, to: pick([1, 2, .null, "x"], &random))
      }
      if Bool.random(using: &random) { archived.append(.string(habit)) }
    }
    return ["places": places, "archived": .array(archived)]
  }

  private static func counts(_ random: inout SeededRandom) -> JSONValue {
    if Int.random(in: 0..<10, using: &random) == 0 { return .string("many") }
    var counts: JSONValue = [:]
    for device in ["Mac", "é", "e\u{301}"] where Bool.random(using: &random) {
      counts = counts.setting(device, to: pick([0, 1, 2, .null, "x"], &random))
    }
    return counts
  }

  private static func pick(_ values: [JSONValue], _ random: inout SeededRandom) -> JSONValue {
    values[Int.random(in: values.indices, using: &random)]
  }
}
