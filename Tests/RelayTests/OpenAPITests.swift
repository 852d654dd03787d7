import Foundation
import LockstepJSON
import LockstepModel
import LockstepWire
import Testing

@testable import LockstepRelay

/// docs/openapi.json is written by hand; these tests compare it with the code.
@Suite struct OpenAPITests {
  private let document: JSONValue

  init() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
    document = try JSONValue(
      parsing: Array(Data(contentsOf: root.appending(path: "docs/openapi.json"))))
  }

  @Test func itNamesTheCallsOfTheFrontDoorAndNoOthers() throws {
    let documented = try calls()
    let routed = Set(
      Router.entries.filter { $0.listenerKinds.contains(.public) }.map {
        "\($0.method) /\($0.pattern.joined(separator: "/"))"
      })
    let missing = routed.subtracting(documented).sorted()
    #expect(missing.isEmpty, "docs/openapi.json lacks \(missing)")
    // HEAD is answered wherever GET is, and has an entry only if it has a meaning of its own.
    let unknown = documented.subtracting(routed).filter {
      !$0.hasPrefix("HEAD ") || !routed.contains("GET " + $0.dropFirst("HEAD ".count))
    }
    #expect(unknown.isEmpty, "docs/openapi.json names \(unknown.sorted()), which no route takes")
  }

  @Test func itNamesTheCodesOfAllRefusalsAndNoOthers() throws {
    let codes = try strings(["components", "schemas", "Problem", "properties", "code", "enum"])
    #expect(codes == RefusalCode.allCases.map(\.rawValue))
  }

  @Test func eachStatusHasItsCodes() throws {
    let responses = try #require(try value(["components", "responses"]).members)
    let statuses = Set(RefusalCode.allCases.map(\.status))
    #expect(Set(responses.compactMap { Int($0.name) }) == statuses)
    for status in statuses {
      let schema = [
        "components", "responses", String(status), "content", "application/problem+json", "schema",
        "properties",
      ]
      let codes = RefusalCode.allCases.filter { $0.status == status }.map(\.rawValue)
      #expect(try strings(schema + ["code", "enum"]) == codes)
      #expect(try value(schema + ["status", "const"]).int64 == Int64(status))
    }
  }

  @Test func itNamesAllLimits() throws {
    let body = LimitsInForce.encodedBody(RelayConfiguration())
    let limits = try JSONValue(parsing: body).members?.map(\.name)
    let documented = try strings(["components", "schemas", "LimitsInForce", "required"])
    #expect(documented.sorted() == limits?.sorted())
  }

  /// The limits that the document gives as numbers, for its readers.
  @Test(arguments: [
    (["Name", "maxLength"], Limits.nameBytes),
    (["Label", "maxLength"], Limits.descriptionBytes),
    (["ChangeToken", "maxLength"], Limits.changeTokenBytes),
    (["SaveRequest", "properties", "records", "maxItems"], Limits.batchRecords),
    (["ChangePage", "properties", "changes", "maxItems"], Limits.pageRecords),
    (["DeviceList", "properties", "devices", "maxItems"], Limits.devicesPerAccount),
    (["Record", "properties", "chunks", "maxItems"], Limits.chunksPerRecord),
    (["MissingChunks", "properties", "missing", "maxItems"], Limits.chunkHashes),
    (["ZoneList", "properties", "zones", "maxItems"], Limits.listedZones),
    (["WrappedKeys", "maxLength"], Limits.wrappedKeyCharacters),
    (["ChangeTag", "maximum"], Int(Limits.sequenceLimit) - 1),
    (["Instant", "maximum"], Int(Limits.sequenceLimit) - 1),
  ])
  func itTellsTheLimitInForce(_ path: [String], _ limit: Int) throws {
    #expect(try value(["components", "schemas"] + path).int64 == Int64(limit))
  }

  // MARK: reading the document

  /// Returns `METHOD /path` of each call, with `*` for a part in braces.
  private func calls() throws -> Set<String> {
    var calls: Set<String> = []
    for path in try value(["paths"]).members ?? [] {
      let pattern = path.name.split(separator: "/").map { $0.hasPrefix("{") ? "*" : String($0) }
      for member in path.value.members ?? [] where member.name != "parameters" {
        calls.insert("\(member.name.uppercased()) /\(pattern.joined(separator: "/"))")
      }
    }
    return calls
  }

  private func value(_ path: [String]) throws -> JSONValue {
    try path.reduce(document) { value, name in
      try #require(value[name], "docs/openapi.json has no \(path.joined(separator: " → "))")
    }
  }

  private func strings(_ path: [String]) throws -> [String] {
    try value(path).array?.compactMap(\.string) ?? []
  }
}
