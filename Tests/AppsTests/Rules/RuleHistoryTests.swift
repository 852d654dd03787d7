import AppLaws
import LockstepModel
import Testing
import WireLaws

struct RuleHistoryTests {
  /// A few, since this build is slow; `scripts/simulate --rules` plays as many as one likes.
  @Test(arguments: RuleHistory.Subject.all)
  func everyFieldEndsAsTheWholeHistoryDemands(_ subject: RuleHistory.Subject) throws {
    for seed in UInt64(1)...25 { try RuleHistory.play(seed: seed, subject) }
  }

  /// Rules that know no base: what a person has raised or taken out comes back.
  private struct BaselessRules: Resolver {
    let rules: MergeRules
    func resolve(_ conflict: Conflict) -> Resolution {
      RuleResolver(rules).resolve(
        Conflict(base: nil, local: conflict.local, server: conflict.server))
    }
  }

  /// Rules that keep nothing but the newer version.
  private struct NewerVersion: Resolver {
    func resolve(_ conflict: Conflict) -> Resolution {
      .merged(fields: conflict.sides.newer.fields, copies: [])
    }
  }

  private func isFound(_ subject: RuleHistory.Subject, _ resolver: any Resolver) -> Bool {
    (UInt64(1)...300).contains { seed in
      do throws(BrokenLaw) {
        try RuleHistory.play(seed: seed, subject, by: resolver)
        return false
      } catch {
        return true
      }
    }
  }

  @Test(arguments: [FieldRule.least, .greatest, .or, .and])
  func rulesWithoutABaseAreFound(_ rule: FieldRule) {
    let subject = RuleHistory.Subject.field(rule)
    #expect(isFound(subject, BaselessRules(rules: subject.rules)))
  }

  @Test(arguments: RuleHistory.Subject.all)
  func theNewerVersionAloneIsFoundForEveryRule(_ subject: RuleHistory.Subject) {
    // It is what this rule demands of a record with one field.
    if subject == .deletion(.newest) { return }
    #expect(isFound(subject, NewerVersion()))
  }
}
