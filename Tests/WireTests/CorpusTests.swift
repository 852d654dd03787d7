import Foundation
import Testing
import WireLaws

/// Checks the seeds of fuzzing, and every input with which it found a fault, against the laws.
struct CorpusTests {
  private static let laws: [(corpus: String, hold: @Sendable ([UInt8]) throws -> Void)] = [
    ("HTTPRequest", { try WireLaw.requests($0) }), ("WebSocket", { try WireLaw.webSocket($0) }),
    ("JSON", { try WireLaw.json($0) }), ("Message", { try WireLaw.messages($0) }),
    ("HTTPResponse", { try WireLaw.responses($0) }),
  ]

  @Test(arguments: 0..<laws.count) func theCorpusKeepsTheLaws(_ index: Int) throws {
    let law = Self.laws[index]
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../Fuzzing/Corpus/\(law.corpus)")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(names.count >= 5)
    for name in names.sorted() {
      let bytes = Array(try Data(contentsOf: folder.appending(path: name)))
      #expect(throws: Never.self, "\(law.corpus)/\(name)") { try law.hold(bytes) }
    }
  }
}
