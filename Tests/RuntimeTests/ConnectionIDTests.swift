import LockstepRuntime
import Testing

@Suite struct ConnectionIDTests {
  @Test func whatANodeOpensNeverClashesWithWhatCameIn() {
    for number in [0, 1, 77, UInt64.max >> 1] {
      #expect(ConnectionID.outgoing(number).isOutgoing)
      #expect(!ConnectionID(rawValue: number).isOutgoing)
      #expect(ConnectionID.outgoing(number) != ConnectionID(rawValue: number))
    }
  }
}
