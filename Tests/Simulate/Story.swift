import LockstepModel
import LockstepStorage
import Simulator

/// Report of one seed: its plan, the traffic between the machines, and the least that still fails.
struct Story {
  /// Limit of the simulations that are played to find the least.
  static let tries = 400

  let seed: UInt64
  let options: Options

  func writeReport() throws(StorageError) -> Int32 {
    let world = try World(
      seed: seed, profile: options.profile, breakage: options.breakage, excerpt: options.excerpt,
      logsTraffic: true)
    let verdict = world.run()
    if options.isJSON {
      Output.writeResult(PlayedSeed(verdict).line)
      return verdict.faults.isEmpty ? Program.passed : Program.found
    }
    Output.writeResult(verdict.story)
    if verdict.faults.isEmpty {
      for shortfall in verdict.shortfalls { Output.writeResult("below the minimum: \(shortfall)") }
      Output.writeResult(FigureText(Figures(verdict), seconds: 1, played: 1).text)
      return verdict.shortfalls.isEmpty ? Program.passed : Program.found
    }
    Output.writeResult("\nseed \(seed) failed:\n\(verdict.faults.joined(separator: "\n"))")
    try writeSmallest(of: world, like: verdict.faults[0])
    return Program.found
  }

  /// Leaves out faults, then user actions, as long as the seed still fails.
  private func writeSmallest(of world: World, like words: String) throws(StorageError) {
    let start = excerpt(of: world)
    var shrinker = Shrinker(tries: Story.tries / 2)
    let faults = try shrinker.shrink(start.faults) { (faults) throws(StorageError) in
      try fails(Excerpt(faults: faults, acts: start.acts), like: words)
    }
    shrinker = Shrinker(tries: Story.tries / 2)
    let acts = try shrinker.shrink(start.acts) { (acts) throws(StorageError) in
      try fails(Excerpt(faults: faults, acts: acts), like: words)
    }
    let least = Excerpt(faults: faults, acts: acts)
    let verdict = try World(
      seed: seed, profile: options.profile, breakage: options.breakage, excerpt: least,
      logsTraffic: true
    ).run()
    let lists = (faults: list(faults), acts: list(acts))
    Output.writeResult(
      """

      smallest part that still fails: \(faults.count) faults, \(acts.count) user actions
      \(verdict.story)
      \(verdict.faults.joined(separator: "\n"))
        \(options.replay(seed)) --faults \(lists.faults) --acts \(lists.acts)
      """)
  }

  /// True if the excerpt fails in the same way: another violation may have other causes.
  private func fails(_ excerpt: Excerpt, like words: String) throws(StorageError) -> Bool {
    let faults = try World(
      seed: seed, profile: options.profile, breakage: options.breakage, excerpt: excerpt
    ).run().faults
    return faults.first.map { Story.signature($0) == Story.signature(words) } ?? false
  }

  /// Returns the first four words of a violation, without the numbers in them.
  private static func signature(_ fault: String) -> String {
    String(fault.split { !$0.isLetter }.prefix(4).joined(separator: " "))
  }

  /// Returns the indices of all faults and user actions that are played.
  private func excerpt(of world: World) -> (faults: [Int], acts: [Int]) {
    let acts = world.people.reduce(0) { $0 + $1.acts.count }
    return (
      options.excerpt.faults ?? Array(world.plan.faults.indices),
      options.excerpt.acts ?? Array(0..<acts)
    )
  }

  private func list(_ places: [Int]) -> String {
    places.isEmpty ? "none" : places.map(String.init).joined(separator: ",")
  }
}
