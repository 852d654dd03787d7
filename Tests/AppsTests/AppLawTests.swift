import AppLaws
import Foundation
import LockstepModel
import Testing

/// Checks the laws of the apps with the fuzzing seeds, every input that fuzzing found a fault with,
/// and some thousand more inputs.
struct AppLawTests {
  private static let laws: [(corpus: String, hold: @Sendable ([UInt8]) throws -> Void)] = [
    ("Conflicts", { try AppLaw.conflicts($0) }), ("Screens", { try AppLaw.screens($0) }),
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

  @Test(arguments: 0..<laws.count) func hostileRecordsKeepTheLaws(_ index: Int) {
    for seed in UInt64(1)...400 {
      var random = SeededRandom(seed: seed)
      let bytes = (0..<400).map { _ in UInt8.random(in: 0...255, using: &random) }
      #expect(throws: Never.self, "seed \(seed)") { try Self.laws[index].hold(bytes) }
    }
  }
}
