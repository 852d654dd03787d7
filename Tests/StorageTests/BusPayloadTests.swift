import LockstepModel
import LockstepStorage
import Testing

struct BusPayloadTests {
  private func account(_ number: UInt64) -> AccountID { AccountID(rawValue: number) }

  private func token(_ sequence: Int64) -> ChangeToken {
    ChangeToken(generation: 0xF00D, sequence: sequence)
  }

  @Test func aNoticeNamesNewTokensAndMembershipChanges() {
    let payload = BusPayload(
      relay: 7, moved: [(account(1), token(5)), (account(2), token(6))],
      membershipChanges: [account(2), account(3)])
    #expect(
      payload.texts(after: 11) == [
        "1 0000000000000007 #000000000000000c "
          + "0000000000000001=f00d.5 0000000000000002=f00d.6! 0000000000000003!"
      ])
    var received = payload
    received.place = .notice(12)
    #expect(payload.texts(after: 11).compactMap(BusPayload.init) == [received])
  }

  @Test func aBeatTellsTheNumberOfTheLastNotice() {
    let beat = BusPayload(relay: 7, beatAfter: 255)
    let text = BusPayload.beatText(of: 7, after: 255)
    #expect(text == "1 0000000000000007 ~00000000000000ff")
    #expect(BusPayload(text: text) == beat)
  }

  @Test func aRelayOfAnOlderVersionHasNoNumber() throws {
    let payload = try #require(BusPayload(text: "1 0000000000000007 0000000000000001!"))
    #expect(payload.place == .unknown && payload.changes.count == 1)
    for word in ["#12", "#000000000000000g", "#00000000000000012", "~", "?000000000000000c"] {
      #expect(BusPayload(text: "1 0000000000000007 \(word)")?.place == .unknown, "\(word)")
    }
  }

  @Test func noChangesMakeNoNotice() {
    #expect(BusPayload(relay: 7, moved: [], membershipChanges: []).texts(after: 0).isEmpty)
  }

  @Test(arguments: [1, 200, 201, 512, 5_000]) func manyAreSplitAndNoneIsLost(count: Int) {
    let moved = (0..<count).map { index in
      (account(UInt64.max - UInt64(index)), token(Limits.sequenceLimit - 1 - Int64(index)))
    }
    let payload = BusPayload(relay: .max, moved: moved, membershipChanges: moved.map(\.0))
    let texts = payload.texts(after: 0)
    #expect(
      texts.compactMap(BusPayload.init).map(\.place)
        == (1...UInt64(texts.count)).map { .notice($0) })
    #expect(texts.allSatisfy { $0.utf8.count <= Limits.noticeBytes })
    #expect(texts.compactMap(BusPayload.init).flatMap(\.changes) == payload.changes)
    #expect(texts.count <= 1 + count * 50 / (Limits.noticeBytes - 120))
  }

  @Test(arguments: [
    "", "1", "2 0000000000000007 0000000000000001!", "1 seven", "hello world",
    "1  0000000000000001=f00d.5",
  ]) func anotherFormSaysNothing(text: String) {
    #expect(BusPayload(text: text) == nil)
  }

  @Test func completeWordsOfATruncatedNoticeCount() throws {
    let text = BusPayload(
      relay: 7, moved: [(account(1), token(5))], membershipChanges: [account(3)]
    ).texts(after: 0)[0]
    for length in 18...text.utf8.count {
      let cut = try #require(BusPayload(text: String(text.prefix(length))))
      #expect(cut.relay == 7 && cut.changes.count <= 2)
    }
    let strange = "1 0000000000000007 x! 0000000000000001 0000000000000001=? 0000000000000003!"
    #expect(BusPayload(text: strange)?.changes.map(\.account) == [account(3)])
  }
}
