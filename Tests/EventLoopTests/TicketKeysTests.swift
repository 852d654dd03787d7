import LockstepModel
import Testing

@testable import LockstepEventLoop

struct TicketKeysTests {
  private let start = Instant(nanoseconds: 0)

  @Test func aKeySealsForAWhileThenOpensAndThenIsGone() {
    let keys = TicketKeys(at: start)
    let first = keys.sealing(at: start)
    let late = start.advanced(milliseconds: Limits.ticketKeyMilliseconds - 1)
    #expect(keys.sealing(at: late).name == first.name)
    let second = keys.sealing(at: late.advanced(milliseconds: 1))
    #expect(second.name != first.name)
    #expect(second.cipherKey != first.cipherKey && second.hashKey != first.hashKey)
    let former = keys.opening(first.name, at: late.advanced(milliseconds: 1))
    #expect(former?.key.cipherKey == first.cipherKey)
    #expect(former?.isNewest == false)
    #expect(keys.opening(second.name, at: late.advanced(milliseconds: 1))?.isNewest == true)
    let end = start.advanced(milliseconds: 2 * Limits.ticketKeyMilliseconds)
    #expect(keys.opening(first.name, at: end) == nil)
    #expect(keys.opening(second.name, at: end)?.isNewest == false)
  }

  @Test func afterALongPauseNoKeyOfBeforeOpensAnything() {
    let keys = TicketKeys(at: start)
    let first = keys.sealing(at: start)
    let later = start.advanced(milliseconds: 2 * Limits.ticketKeyMilliseconds)
    #expect(keys.opening(first.name, at: later) == nil)
  }

  @Test func aNameThatNobodyGaveOpensNothing() {
    let keys = TicketKeys(at: start)
    #expect(keys.opening(Array(repeating: 0, count: 16), at: start) == nil)
  }
}
