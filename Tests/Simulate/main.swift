import Simulator

// simulate FIRST COUNT PROFILE
let arguments = CommandLine.arguments.dropFirst()
let numbers = arguments.compactMap { UInt64($0) }
let first = numbers.first ?? 1
let count = numbers.dropFirst().first ?? 100
let profile =
  WorldProfile.all.first { profile in arguments.contains(profile.name) } ?? .everything
var faulty = 0
for seed in first..<(first + count) {
  let verdict = try World(seed: seed, profile: profile).run()
  guard !verdict.faults.isEmpty else { continue }
  faulty += 1
  print("\(verdict.faults.joined(separator: "\n"))\n\(verdict.story)")
}
print("\(count) seeds, \(faulty) with faults")
