import Foundation
import LockstepApps
import LockstepJSON
import LockstepModel
import Testing

/// Test vectors: cases and results that every program which resolves Lockstep's conflicts must
/// reproduce. They were written before some of the rules kept stamps, so stamps are not compared.
struct VectorTests {
  @Test(arguments: [
    ("TimerState", "TimerState"),
    ("TimerState", "TimerStateActs"),
    ("Settings", "Settings"),
    ("VaultFile", "VaultFile"),
    ("ClipboardItem", "ClipboardItem"),
    ("ClipboardItem", "ClipboardPins"),
    ("Memo", "Memo"),
    ("Habit", "Habit"),
    ("CheckIn", "CheckIn"),
  ])
  func answersAreTheExpectedOnes(type: String, file: String) throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
    let path = folder.appending(path: "Vectors/\(file).jsonl")
    let lines = [UInt8](try Data(contentsOf: path)).split(separator: UInt8(ascii: "\n"))
    #expect(lines.count == ["Settings": 59, "ClipboardPins": 12][file, default: 60])
    for (number, line) in lines.enumerated() {
      let vector = try JSONValue(parsing: Array(line))
      let conflict = try conflict(vector)
      let resolver = try #require(AppCatalog.resolver(forType: type))
      let expected = vector["expect"]
      #expect(vector["case"]?["type"]?.string == type)
      #expect(answer(resolver.resolve(conflict)) == expected, "line \(number + 1)")
      let exchanged = Conflict(
        base: conflict.base, local: conflict.server, server: conflict.local)
      #expect(answer(resolver.resolve(exchanged)) == expected, "line \(number + 1) exchanged")
    }
  }

  private func conflict(_ vector: JSONValue) throws -> Conflict {
    Conflict(
      base: try version(vector["case"]?["base"]),
      local: try #require(try version(vector["case"]?["local"])),
      server: try #require(try version(vector["case"]?["server"])))
  }

  private func version(_ value: JSONValue?) throws -> Version? {
    let value = try #require(value)
    if value.isNull { return nil }
    let fields = try #require(value["fields"])
    return Version(
      name: try #require(value["name"]?.string), fields: fields.isNull ? nil : fields,
      modifiedAt: try #require(value["modifiedAt"]?.int64),
      device: try #require(value["device"]?.string))
  }

  private func answer(_ resolution: Resolution) -> JSONValue {
    switch resolution {
    case .ask: ["outcome": "ask", "fields": .null, "deleted": false, "copies": []]
    case .merged(let fields, let copies):
      [
        "outcome": "merged", "fields": fields.map { Stamps.removed(from: $0) } ?? .null,
        "deleted": .bool(fields == nil),
        "copies": .array(copies.map { ["name": .string($0.name), "fields": $0.fields] }),
      ]
    }
  }
}
