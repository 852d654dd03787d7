import Foundation
import PushLaws
import Testing

/// Checks the seeds of fuzzing, and every input with which it found a fault, against the laws.
struct CorpusTests {
  @Test func theCorpusKeepsTheLaws() throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../Fuzzing/Corpus/Push")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(names.count >= 5)
    for name in names.sorted() {
      let bytes = Array(try Data(contentsOf: folder.appending(path: name)))
      #expect(throws: Never.self, "\(name)") { try PushLaw.check(bytes) }
    }
  }

  /// Texts near those that are valid.
  @Test func changedSeedsKeepTheLaws() throws {
    let seeds = ["\u{0}https://a.example:8443/p?q", "\u{2}Sun, 01 Mar 2026 12:02:00 GMT"]
    for seed in seeds {
      for index in seed.utf8.indices {
        for byte in UInt8.min...UInt8.max {
          var bytes = Array(seed.utf8)
          bytes[seed.utf8.distance(from: seed.utf8.startIndex, to: index)] = byte
          try PushLaw.check(bytes)
        }
      }
    }
  }
}
