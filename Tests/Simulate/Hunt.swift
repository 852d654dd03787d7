import LockstepJSON
import Simulator

/// Search for a seed that detects an injected bug, and what the responsible checker reports. Faults
/// that others report, and crashes, are no proof that this one would; nor is a fault that is also
/// reported without the bug.
struct Hunt {
  let options: Options

  private struct Catch {
    var seed: UInt64
    var words: String
  }

  func run(_ breakages: [Breakage]) throws -> Int32 {
    var missed = 0
    for breakage in breakages {
      let caught = try hunt(breakage)
      if caught == nil { missed += 1 }
      report(breakage, caught)
    }
    return missed == 0 ? Program.passed : Program.found
  }

  private func hunt(_ breakage: Breakage) throws -> Catch? {
    var options = options
    options.breakage = breakage
    let slices = stride(from: options.first, to: options.first + options.seeds, by: 4).map {
      Slice(first: $0, count: min(4, options.first + options.seeds - $0))
    }
    var crew = Crew(options: options, slices: slices)
    var caught: Catch?
    try crew.run { event in
      switch event {
      case .crashed: break
      case .played(let seed, _):
        let fault = seed.faults.first { breakage.words.contains(where: $0.contains) }
        caught = fault.map { Catch(seed: seed.seed, words: $0) }
      }
      return caught == nil
    }
    guard let caught else { return nil }
    let sound = try World(seed: caught.seed, profile: options.profile, breakage: nil).run()
    return sound.faults.isEmpty ? caught : nil
  }

  private func report(_ breakage: Breakage, _ caught: Catch?) {
    if options.isJSON {
      let value: JSONValue = [
        "breakage": .string(breakage.rawValue),
        "seed": caught.map { .string("\($0.seed)") } ?? .null,
        "words": caught.map { .string($0.words) } ?? .null,
      ]
      return Output.writeResult(value.text)
    }
    let name = breakage.rawValue
    let place = name + String(repeating: " ", count: max(1, 24 - name.count))
    guard let caught else {
      return Output.writeResult("\(place)NOT DETECTED in \(options.seeds) seeds: \(breakage.what)")
    }
    let words = caught.words.split(separator: "\n").first ?? ""
    Output.writeResult("\(place)seed \(caught.seed): \(words)")
  }
}
