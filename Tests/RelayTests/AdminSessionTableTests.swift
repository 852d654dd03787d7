import LockstepModel
import LockstepRuntime
import Testing

@testable import LockstepRelay

struct AdminSessionTableTests {
  private var table = AdminSessionTable()
  private let now = Instant(nanoseconds: 5_000_000_000)

  private func hash(_ text: String) -> TokenHash { TokenHash(DeviceToken.hash(text)) }

  private func later(_ milliseconds: Int64) -> Instant {
    now.advanced(milliseconds: milliseconds)
  }

  @Test mutating func aCodeOpensOneSession() {
    table.addCode(hash("code"), at: now)
    #expect(!table.hasSession(hash("token"), at: now))
    let isBegun = table.beginSession(hash("token"), byCode: hash("code"), at: now)
    #expect(isBegun && table.hasSession(hash("token"), at: now))
    let isBegunAgain = table.beginSession(hash("other"), byCode: hash("code"), at: now)
    #expect(!isBegunAgain && !table.hasSession(hash("other"), at: now))
    #expect(table.hasSession(hash("token"), at: now))
  }

  @Test mutating func neitherAnotherCodeNorATokenIsOne() {
    table.addCode(hash("code"), at: now)
    for wrong in ["", "cod", "code ", "Code"] {
      let isBegun = table.beginSession(hash("token"), byCode: hash(wrong), at: now)
      #expect(!isBegun, "\(wrong)")
    }
    _ = table.beginSession(hash("token"), byCode: hash("code"), at: now)
    let isBegun = table.beginSession(hash("next"), byCode: hash("token"), at: now)
    #expect(!isBegun)
    #expect(!table.hasSession(hash("code"), at: now))
  }

  @Test mutating func bothEndInTime() {
    table.addCode(hash("late"), at: now)
    let isLate = table.beginSession(
      hash("token"), byCode: hash("late"), at: later(Limits.adminCodeMilliseconds))
    #expect(!isLate)
    table.addCode(hash("code"), at: now)
    let last = later(Limits.adminCodeMilliseconds - 1)
    let isBegun = table.beginSession(hash("token"), byCode: hash("code"), at: last)
    #expect(isBegun)
    let end = last.advanced(milliseconds: Limits.adminSessionMilliseconds)
    let before = last.advanced(milliseconds: Limits.adminSessionMilliseconds - 1)
    #expect(table.hasSession(hash("token"), at: before))
    #expect(!table.hasSession(hash("token"), at: end))
  }

  @Test mutating func aSessionEndsAlone() {
    for name in ["a", "b"] {
      table.addCode(hash("code" + name), at: now)
      _ = table.beginSession(hash(name), byCode: hash("code" + name), at: now)
    }
    table.endSession(hash("a"))
    table.endSession(hash("unknown"))
    #expect(!table.hasSession(hash("a"), at: now))
    #expect(table.hasSession(hash("b"), at: now))
  }

  @Test mutating func theOldestGivesWay() {
    for number in 0...Limits.adminCodes { table.addCode(hash("code \(number)"), at: now) }
    let isFirst = table.beginSession(hash("token"), byCode: hash("code 0"), at: now)
    let isSecond = table.beginSession(hash("token"), byCode: hash("code 1"), at: now)
    #expect(!isFirst && isSecond)
    for number in 0..<Limits.adminSessions {
      table.addCode(hash("next"), at: now)
      _ = table.beginSession(hash("token \(number)"), byCode: hash("next"), at: now)
    }
    #expect(!table.hasSession(hash("token"), at: now))
    for number in 0..<Limits.adminSessions {
      #expect(table.hasSession(hash("token \(number)"), at: now))
    }
  }
}
