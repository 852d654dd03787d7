import LockstepCrypto
import LockstepModel

/// Times at which a certificate is renewed. All times are milliseconds since the Unix epoch.
package struct RenewalPlan: Sendable {
  /// Validities up to this one count as short, in milliseconds: half of one must be left for
  /// repairs, of a longer one a third.
  private static let shortMilliseconds: Int64 = 10 * 86_400_000
  private static let validityMax: Int64 = 400 * 86_400_000

  /// Time without a wish of the authority.
  package let usualTime: Int64
  /// Latest time, whatever the authority wishes.
  package let latestTime: Int64
  /// Time within the window that the authority proposes (RFC 9773 section 4.2).
  package private(set) var proposedTime: Int64?

  /// `random`: spreads the times of many relays over a fiftieth of the validity.
  package init(start: Int64, end: Int64, random: inout SeededRandom) {
    let validity = min(max(0, end - start), RenewalPlan.validityMax)
    let share = validity <= RenewalPlan.shortMilliseconds ? validity / 2 : validity / 3
    let spread = validity / 50
    usualTime = end - share - (spread > 0 ? Int64.random(in: 0..<spread, using: &random) : 0)
    latestTime = end - validity / 10
  }

  /// Accepts the window that the authority proposes; nil: none.
  package mutating func propose(_ window: ClosedRange<Int64>?, random: inout SeededRandom) {
    proposedTime = window.map { Int64.random(in: $0, using: &random) }
  }

  package var renewalTime: Int64 { min(proposedTime ?? usualTime, latestTime) }
}
