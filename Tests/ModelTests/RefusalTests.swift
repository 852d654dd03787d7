import Testing

@testable import LockstepModel

@Suite struct RefusalTests {
  @Test func statusesAreErrors() {
    for code in RefusalCode.allCases {
      #expect((400...599).contains(code.status))
      #expect(!code.title.isEmpty)
      #expect(code.title.last != ".")
    }
  }

  @Test func adviceFollowsTheCloseCode() {
    for code in RefusalCode.allCases {
      guard let close = code.closeCode else { continue }
      #expect((1000...1014).contains(close) || (4000...4999).contains(close))
      // 4500 and above: nothing works until a person acts.
      #expect((close >= 4500) == (code.advice == .askPerson))
    }
  }

  @Test func whatTheRelayCouldNotDoIsTriedAgain() {
    // Features that the relay does not have are not retried.
    let exceptions: [RefusalCode] = [.unsupportedTransferCoding, .unsupportedVersion]
    for code in RefusalCode.allCases where code.status >= 500 && !exceptions.contains(code) {
      #expect(code.advice == .retry)
    }
    #expect(RefusalCode.tooManyRequests.advice == .retry)
  }
}
