import LockstepJSON
import LockstepModel
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// Cases of merge rules as data, and the outcomes that every language must reproduce.
struct RuleVectorTests {
  @Test func answersAreTheExpectedOnes() throws {
    let lines = try contents(of: "Rules.jsonl").split(separator: UInt8(ascii: "\n"))
    #expect(lines.count == 300)
    for (number, line) in lines.enumerated() {
      let vector = try JSONValue(parsing: Array(line))
      let rules = try MergeRules(try #require(vector["case"]?["rules"]), place: "the rules")
      let conflict = Conflict(
        base: try version(vector, "base"),
        local: try #require(try version(vector, "local")),
        server: try #require(try version(vector, "server")))
      let exchanged = Conflict(
        base: conflict.base, local: conflict.server, server: conflict.local)
      for conflict in [conflict, exchanged] {
        let answer = answer(RuleResolver(rules).resolve(conflict))
        #expect(answer == vector["expect"], "line \(number + 1)")
      }
    }
  }

  private func version(_ vector: JSONValue, _ side: String) throws -> Version? {
    let value = try #require(vector["case"]?[side])
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
        "outcome": "merged", "fields": fields ?? .null, "deleted": .bool(fields == nil),
        "copies": .array(copies.map { ["name": .string($0.name), "fields": $0.fields] }),
      ]
    }
  }

  /// Reads a file beside the tests: embedded in code, one of its size would take minutes to
  /// compile.
  private func contents(of name: String) throws -> [UInt8] {
    let folder = String(#filePath.dropLast("Rules/RuleVectorTests.swift".count))
    let file = try #require(fopen(folder + "Vectors/" + name, "r"))
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while case let count = fread(&buffer, 1, buffer.count, file), count > 0 {
      bytes += buffer[..<count]
    }
    return bytes
  }
}
