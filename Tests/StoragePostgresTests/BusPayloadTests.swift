import LockstepModel
import Testing

@testable import LockstepStoragePostgres

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
      payload.texts == [
        "1 0000000000000007 0000000000000001=f00d.5 0000000000000002=f00d.6! 0000000000000003!"
      ])
    #expect(payload.texts.compactMap(BusPayload.init) == [payload])
  }

  @Test func noChangesMakeNoNotice() {
    #expect(BusPayload(relay: 7, moved: [], membershipChanges: []).texts.isEmpty)
  }

  @Test(arguments: [1, 200, 201, 512, 5_000]) func manyAreSplitAndNoneIsLost(count: Int) {
    let moved = (0..<count).map { index in
      (account(UInt64.max - UInt64(index)), token(Limits.sequenceLimit - 1 - Int64(index)))
    }
    let payload = BusPayload(relay: .max, moved: moved, membershipChanges: moved.map(\.0))
    let texts = payload.texts
    #expect(texts.allSatisfy { $0.utf8.count <= Limits.noticeBytes })
    #expect(texts.compactMap(BusPayload.init).flatMap(\.changes) == payload.changes)
    #expect(texts.count <= 1 + count * 50 / (Limits.noticeBytes - 100))
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
    ).texts[0]
    for length in 18...text.utf8.count {
      let cut = try #require(BusPayload(text: String(text.prefix(length))))
      #expect(cut.relay == 7 && cut.changes.count <= 2)
    }
    let strange = "1 0000000000000007 x! 0000000000000001 0000000000000001=? 0000000000000003!"
    #expect(BusPayload(text: strange)?.changes.map(\.account) == [account(3)])
  }

  @Test func aChannelsNameFits() {
    #expect(BusPayload.channel(of: "public") == "lockstep_public")
    let long = String(repeating: "s", count: 63)
    #expect(BusPayload.channel(of: long).utf8.count == 25)
    #expect(BusPayload.channel(of: long) != BusPayload.channel(of: long + "t"))
  }
}
