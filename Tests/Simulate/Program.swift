import LockstepStorage
import Simulator

/// The program: dispatch of the task, and exit codes.
enum Program {
  static let passed: Int32 = 0
  static let found: Int32 = 1
  static let misused: Int32 = 2

  static func run(_ arguments: [String]) -> Int32 {
    do {
      return try run(Options(arguments))
    } catch let fault as UsageFault {
      Output.writeDiagnostic("simulate: \(fault.reason)\nTry scripts/simulate --help.")
      return misused
    } catch {
      Output.writeDiagnostic("simulate: \(error)")
      return found
    }
  }

  private static func run(_ options: Options) throws -> Int32 {
    switch options.task {
    case .help:
      Output.writeResult(Options.help)
      return passed
    case .profiles:
      for profile in WorldProfile.all { Output.writeResult(profile.name) }
      return passed
    case .slice(let slice):
      try slice.play(options)
      return passed
    case .seed(let seed): return try Story(seed: seed, options: options).writeReport()
    case .hunts(let breakages): return try Hunt(options: options).run(breakages)
    case .rules(let histories):
      return try RuleRun(options: options, histories: histories, subjects: options.subjects).run()
    case .occurrences: return try playOccurrences()
    case .run where options.isOfAllProfiles: return try runAllProfiles(options)
    case .run:
      var run = GreatRun(options: options)
      return try run.run()
    }
  }

  private static func playOccurrences() throws -> Int32 {
    var end = passed
    for occurrences in ProfileOccurrences.all {
      let findings = try occurrences.play()
      Output.writeResult("\(occurrences.profile.name): \(findings.isEmpty ? "passed" : "FAILED")")
      findings.forEach(Output.writeResult)
      if !findings.isEmpty { end = found }
    }
    return end
  }

  /// Plays all profiles, and then returns `found` if there is a finding in any of them.
  private static func runAllProfiles(_ options: Options) throws -> Int32 {
    var end = passed
    for profile in WorldProfile.all {
      var one = options
      one.isOfAllProfiles = false
      one.profileNamed = profile
      if !options.isJSON { Output.writeResult("\(profile.name):") }
      end = max(end, try run(one))
    }
    return end
  }
}

struct UsageFault: Error {
  var reason: String
}
