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

  @Test func aNoticeToOneRelayHasANumberOfItsOwn() {
    let payload = BusPayload(relay: 7, moved: [(account(1), token(5))], membershipChanges: [])
    #expect(
      payload.directedTexts(after: 2) == [
        "1 0000000000000007 >0000000000000003 0000000000000001=f00d.5"
      ])
    var received = payload
    received.place = .directed(3)
    #expect(payload.directedTexts(after: 2).compactMap(BusPayload.init) == [received])
  }

  @Test func aBeatTellsTheNumbersOfTheLastNotices() {
    let lines = [
      BusPayload.Beat.Line(receiver: 8, last: 3), BusPayload.Beat.Line(receiver: 9, last: 0),
    ]
    let beat = BusPayload.Beat(last: 255, directed: lines)
    let text =
      "1 0000000000000007 ~00000000000000ff > >0000000000000008:0000000000000003 "
      + ">0000000000000009:0000000000000000"
    #expect(BusPayload.texts(of: beat, from: 7) == [text])
    #expect(BusPayload(text: text) == BusPayload(relay: 7, beat))
    let lone = "1 0000000000000007 ~00000000000000ff >"
    #expect(BusPayload.texts(of: BusPayload.Beat(last: 255), from: 7) == [lone])
    #expect(BusPayload(text: lone) == BusPayload(relay: 7, BusPayload.Beat(last: 255)))
    let cut = "1 0000000000000007 ~00000000000000ff > >0000000000000008:000000000 >x: > :"
    #expect(BusPayload(text: cut) == BusPayload(relay: 7, BusPayload.Beat(last: 255)))
  }

  @Test func theLastBeatIsMarked() {
    let beat = BusPayload.Beat(last: 1, isLast: true)
    let text = "1 0000000000000007 ~0000000000000001 > ."
    #expect(BusPayload.texts(of: beat, from: 7) == [text])
    #expect(BusPayload(text: text) == BusPayload(relay: 7, beat))
  }

  @Test func aBeatToManyRelaysIsSplit() {
    let lines = (0..<1_000).map { BusPayload.Beat.Line(receiver: $0, last: .max) }
    let texts = BusPayload.texts(of: BusPayload.Beat(last: 4, directed: lines), from: .max)
    #expect(texts.count == 5 && texts.allSatisfy { $0.utf8.count <= Limits.noticeBytes })
    let beats = texts.compactMap(BusPayload.init).compactMap { payload in
      if case .beat(let beat) = payload.place { beat } else { nil }
    }
    #expect(beats.flatMap(\.directed) == lines)
    #expect(beats.allSatisfy { $0.last == 4 && $0.isListener })
  }

  @Test func aBeatOfAnOlderVersionIsNoListeners() {
    let beat = BusPayload.Beat(last: 255, isListener: false)
    #expect(BusPayload(text: "1 0000000000000007 ~00000000000000ff") == BusPayload(relay: 7, beat))
  }

  @Test func aRelayOfAnOlderVersionHasNoNumber() throws {
    let payload = try #require(BusPayload(text: "1 0000000000000007 0000000000000001!"))
    #expect(payload.place == .unknown && payload.changes.count == 1)
    for word in ["#12", "#000000000000000g", "#00000000000000012", "~", ">", "?000000000000000c"] {
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
