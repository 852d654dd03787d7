import LockstepJSON
import Simulator

/// Result of a seed, as one process sends it to another on one line.
struct PlayedSeed {
  var seed: UInt64
  var digest: UInt64
  var faults: [String]
  var shortfalls: [String]
  var figures: Figures

  init(_ verdict: Verdict) {
    seed = verdict.seed
    digest = verdict.digest
    faults = verdict.faults
    shortfalls = verdict.shortfalls
    figures = Figures(verdict)
  }

  /// Returns the line that is written before a seed, so that a seed that ends the process is known.
  static func begins(_ seed: UInt64) -> String { "begins \(seed)" }

  static func begun(_ line: some StringProtocol) -> UInt64? {
    line.hasPrefix("begins ") ? UInt64(line.dropFirst(7)) : nil
  }

  var line: String {
    let value: JSONValue = [
      "seed": .string("\(seed)"), "digest": .string("\(digest)"),
      "faults": .array(faults.map { .string($0) }),
      "shortfalls": .array(shortfalls.map { .string($0) }),
      "figures": figures.json,
    ]
    return value.text
  }

  init?(line: some StringProtocol) {
    guard let value = JSONValue(ifJSON: Array(line.utf8)),
      let seed = value["seed"]?.string.flatMap({ UInt64($0) }),
      let digest = value["digest"]?.string.flatMap({ UInt64($0) }),
      let faults = value["faults"]?.array, let shortfalls = value["shortfalls"]?.array,
      let figures = value["figures"].flatMap(Figures.init(json:))
    else { return nil }
    self.seed = seed
    self.digest = digest
    self.faults = faults.compactMap(\.string)
    self.shortfalls = shortfalls.compactMap(\.string)
    self.figures = figures
  }
}
