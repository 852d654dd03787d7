import LockstepModel
import Testing

@testable import LockstepEventLoop

struct TicketKeysTests {
  private let start = Instant(nanoseconds: 0)

  @Test func aKeySealsForAWhileThenOpensAndThenIsGone() {
    let keys = TicketKeys(at: start)
    let first = keys.encryptionKey(at: start)
    let late = start.advanced(milliseconds: Limits.ticketKeyMilliseconds - 1)
    #expect(keys.encryptionKey(at: late).name == first.name)
    let second = keys.encryptionKey(at: late.advanced(milliseconds: 1))
    #expect(second.name != first.name)
    #expect(second.cipherKey != first.cipherKey && second.hashKey != first.hashKey)
    let previous = keys.decryptionKey(first.name, at: late.advanced(milliseconds: 1))
    #expect(previous?.key.cipherKey == first.cipherKey)
    #expect(previous?.isNewest == false)
    #expect(keys.decryptionKey(second.name, at: late.advanced(milliseconds: 1))?.isNewest == true)
    let end = start.advanced(milliseconds: 2 * Limits.ticketKeyMilliseconds)
    #expect(keys.decryptionKey(first.name, at: end) == nil)
    #expect(keys.decryptionKey(second.name, at: end)?.isNewest == false)
  }

  @Test func afterALongPauseNoKeyOfBeforeOpensAnything() {
    let keys = TicketKeys(at: start)
    let first = keys.encryptionKey(at: start)
    let later = start.advanced(milliseconds: 2 * Limits.ticketKeyMilliseconds)
    #expect(keys.decryptionKey(first.name, at: later) == nil)
  }

  @Test func anUnknownKeyNameDecryptsNothing() {
    let keys = TicketKeys(at: start)
    #expect(keys.decryptionKey(Array(repeating: 0, count: 16), at: start) == nil)
  }
}
