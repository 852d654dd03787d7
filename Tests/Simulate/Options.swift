import AppLaws
import Glibc
import Simulator

/// Command-line options.
struct Options {
  enum Task {
    case help
    case profiles
    case run
    /// One seed, with its story.
    case seed(UInt64)
    case hunts([Breakage])
    /// A part of a run, in a process of its own.
    case slice(Slice)
    /// Histories of each merge rule.
    case rules(UInt64)
    /// Events that the profiles must cause.
    case occurrences
  }

  static let seedsUsual: UInt64 = 1_000

  var task = Task.run
  var first: UInt64 = 1
  var seeds = Options.seedsUsual
  /// Profile named on the command line; nil: `trial`, or the one that exposes the breakage.
  var profileNamed: WorldProfile?
  /// True if the seeds are played in every profile, one after the other.
  var isOfAllProfiles = false
  var breakage: Breakage?
  var jobs = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
  var isTwice = false
  var isJSON = false
  var excerpt = Excerpt()
  /// Rules whose histories are played.
  var subjects = RuleHistory.Subject.all

  var profile: WorldProfile { profileNamed ?? breakage?.profile ?? .trial }

  /// Returns the command that plays a seed of this run again.
  func replay(_ seed: UInt64) -> String {
    let name = profileNamed ?? (breakage == nil ? WorldProfile.trial : nil)
    let kind = name.map { " --profile " + $0.name.split(separator: " ").joined(separator: "-") }
    let broken = breakage.map { " --break \($0.rawValue)" }
    return "scripts/simulate --seed \(seed)" + (kind ?? "") + (broken ?? "")
  }

  static let help = """
    Runs simulations of a relay, devices and users in virtual time, one per seed, with faults that
    follow from the seed, and checks the guarantees of Lockstep.

      scripts/simulate [SEEDS]            this many seeds (default \(seedsUsual)), starting at 1
      scripts/simulate --seed N           one seed, with its traffic log
      scripts/simulate --break NAME       inject a bug, and check that it is detected; 'all': each
      scripts/simulate --rules [N]        N random histories of each merge rule (default
                                          \(RuleRun.historiesUsual)), in every order of arrival
      scripts/simulate --occurrences      check that profiles often cause what they are named for

      --first N        first seed (default 1)
      --profile NAME   profile of the simulations (default 'trial'); --profiles lists them; 'all':
                       this many seeds of each
      --jobs N         number of processes (default: one per core)
      --twice          run each seed in two processes; both results must be identical
      --faults LIST, --acts LIST
                       with --seed: apply only these of its faults, and of its user actions
      --rule NAME      with --rules: only this rule
      --json           print the findings as one line of JSON

    A seed that fails is printed with its violations, its traffic log, and the smallest part of its
    plan that still fails. The exit code is 0 if all seeds passed (or all injected bugs were
    detected), 1 if there is a finding (or a bug was not detected), 2 if the command line is wrong.
    """

  init(_ arguments: [String]) throws(UsageFault) {
    var rest = arguments[...]
    var hasSeeds = false
    while let word = rest.popFirst() {
      switch word {
      case "--help", "-h":
        task = .help
        return
      case "--profiles": task = .profiles
      case "--occurrences": task = .occurrences
      case "--twice": isTwice = true
      case "--json": isJSON = true
      case "--first": first = try Options.number(word, rest.popFirst(), least: 0)
      case "--jobs": jobs = Int(try Options.number(word, rest.popFirst(), least: 1, most: 256))
      case "--seed": task = .seed(try Options.number(word, rest.popFirst(), least: 0))
      case "--profile": try setProfile(try Options.value(word, rest.popFirst()))
      case "--break": try setBreakage(try Options.value(word, rest.popFirst()))
      case "--rules":
        let next = rest.first.flatMap { UInt64($0) }
        task = .rules(
          next == nil
            ? RuleRun.historiesUsual : try Options.number(word, rest.popFirst(), least: 1))
      case "--rule": subjects = [try Options.subject(try Options.value(word, rest.popFirst()))]
      case "--faults": excerpt.faults = try Options.places(word, rest.popFirst())
      case "--acts": excerpt.acts = try Options.places(word, rest.popFirst())
      case "--slice":
        let count = try Options.number(word, rest.popFirst(), least: 1)
        task = .slice(Slice(first: first, count: count))
      default:
        guard !word.hasPrefix("-"), !hasSeeds else {
          throw UsageFault(reason: "'\(word)' is not an option of simulate")
        }
        seeds = try Options.number("SEEDS", word, least: 1)
        hasSeeds = true
      }
    }
    guard first.addingReportingOverflow(seeds).overflow == false else {
      throw UsageFault(reason: "--first and SEEDS together are too large")
    }
    if case .run = task { return }
    guard !isOfAllProfiles else {
      throw UsageFault(reason: "--profile all is for a run of many seeds; name one profile here")
    }
  }

  /// Sets the bug to inject. One seed, or a part of a run, is played with it; a whole run searches
  /// for it.
  private mutating func setBreakage(_ name: String) throws(UsageFault) {
    if name == "all" {
      task = .hunts(Breakage.allCases)
      return
    }
    guard let breakage = Breakage(rawValue: name) else {
      let names = Breakage.allCases.map(\.rawValue).joined(separator: ", ")
      throw UsageFault(reason: "there is no bug '\(name)'; there are \(names)")
    }
    self.breakage = breakage
    if case .run = task { task = .hunts([breakage]) }
  }

  private mutating func setProfile(_ name: String) throws(UsageFault) {
    isOfAllProfiles = name == "all"
    profileNamed = isOfAllProfiles ? nil : try Options.profile(name)
  }

  private static func profile(_ name: String) throws(UsageFault) -> WorldProfile {
    let plain = name.split(separator: "-").joined(separator: " ")
    guard let profile = WorldProfile.all.first(where: { $0.name == plain }) else {
      throw UsageFault(reason: "there is no profile '\(name)'; --profiles lists them")
    }
    return profile
  }

  private static func subject(_ name: String) throws(UsageFault) -> RuleHistory.Subject {
    guard let subject = RuleHistory.Subject(name: name) else {
      let names = RuleHistory.Subject.all.map(\.name).joined(separator: ", ")
      throw UsageFault(reason: "there is no rule '\(name)'; there are \(names)")
    }
    return subject
  }

  private static func value(_ option: String, _ value: String?) throws(UsageFault) -> String {
    guard let value else { throw UsageFault(reason: "\(option) needs a value") }
    return value
  }

  private static func number(
    _ option: String, _ word: String?, least: UInt64, most: UInt64 = 1 << 53
  ) throws(UsageFault) -> UInt64 {
    guard let number = UInt64(try value(option, word)), least...most ~= number else {
      throw UsageFault(reason: "\(option) needs a whole number from \(least) to \(most)")
    }
    return number
  }

  /// Parses indices in a list: `3,7,9`, or `none`.
  private static func places(_ option: String, _ word: String?) throws(UsageFault) -> [Int] {
    let text = try value(option, word)
    if text == "none" { return [] }
    let numbers = text.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) }
    guard numbers.allSatisfy({ ($0 ?? -1) >= 0 }) else {
      throw UsageFault(reason: "\(option) needs numbers with commas between, or 'none'")
    }
    return numbers.compactMap { $0 }
  }
}
