import AppLaws
import Testing

struct RuleHistoryTests {
  /// `scripts/simulate --rules` plays as many as one likes.
  @Test func everyFieldEndsAsTheWholeHistoryDemands() throws {
    for seed in UInt64(1)...1_500 { try RuleHistory.play(seed: seed) }
  }
}
