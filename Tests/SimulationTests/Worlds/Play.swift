import Simulator
import Testing

/// Plays one seed and records its violations, with everything that is needed to debug them.
@discardableResult
func play(
  _ seed: UInt64, _ profile: WorldProfile, sourceLocation: SourceLocation = #_sourceLocation
) throws -> Verdict {
  let verdict = try World(seed: seed, profile: profile).run()
  if !verdict.faults.isEmpty {
    let story = try World(seed: seed, profile: profile, logsTraffic: true).run().story
    Issue.record(
      "\(verdict.faults.joined(separator: "\n"))\n\(story)", sourceLocation: sourceLocation)
  }
  return verdict
}
