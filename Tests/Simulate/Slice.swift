import LockstepStorage
import Simulator

/// A part of a run: consecutive seeds in a process of their own, each reported on a line.
struct Slice: Hashable {
  var first: UInt64
  var count: UInt64

  var end: UInt64 { first + count }

  func play(_ options: Options) throws(StorageError) {
    for seed in first..<end {
      Output.writeResult(PlayedSeed.begins(seed))
      let world = try World(seed: seed, profile: options.profile, breakage: options.breakage)
      Output.writeResult(PlayedSeed(world.run()).line)
    }
  }

  /// Returns the arguments of a process that plays the slice.
  func arguments(_ options: Options) -> [String] {
    ["--first", "\(first)", "--slice", "\(count)"]
      + (options.profileNamed.map { ["--profile", $0.name] } ?? [])
      + (options.breakage.map { ["--break", $0.rawValue] } ?? [])
  }

  /// Splits a run into slices, each for one process: small enough that all processes end at about
  /// the same time, and that a memory leak cannot fill a machine.
  static func portions(first: UInt64, seeds: UInt64, jobs: Int) -> [Slice] {
    let size = max(1, min(200, seeds / UInt64(8 * jobs)))
    return stride(from: first, to: first + seeds, by: Int(size)).map { start in
      Slice(first: start, count: min(size, first + seeds - start))
    }
  }
}
