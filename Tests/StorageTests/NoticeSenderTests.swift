import LockstepModel
import LockstepStorage
import Testing

/// A relay tells each other relay of the accounts that it listens to, and no other.
struct NoticeSenderTests {
  private static let own: UInt64 = 1
  private static let (laptops, phones): (UInt64, UInt64) = (2, 3)
  private var sender = NoticeSender(relay: own)

  private func commit(
    _ account: UInt64, _ sequence: Int64, to listeners: [UInt64]?
  ) -> CommitNotice {
    CommitNotice(
      BusPayload.Change(
        account: AccountID(rawValue: account),
        token: ChangeToken(generation: 1, sequence: sequence), hasMembershipChange: false),
      listeners: listeners)
  }

  private func membership(_ account: UInt64, to listeners: [UInt64]?) -> CommitNotice {
    CommitNotice(
      BusPayload.Change(
        account: AccountID(rawValue: account), token: nil, hasMembershipChange: true),
      listeners: listeners)
  }

  private func beat(of relay: UInt64) -> BusPayload {
    BusPayload(relay: relay, BusPayload.Beat(last: 0))
  }

  @Test mutating func eachRelayGetsItsAccountsOnly() {
    let messages = sender.messages(of: [
      commit(5, 1, to: [Self.phones]), commit(6, 1, to: [Self.phones, Self.laptops]),
      commit(7, 1, to: []), commit(8, 1, to: [Self.own]),
    ])
    #expect(
      messages == [
        BusMessage(
          to: .relay(Self.phones),
          "1 0000000000000001 >0000000000000001 0000000000000005=1.1 0000000000000006=1.1"),
        BusMessage(
          to: .relay(Self.laptops),
          // A line begins at the number of all notices so far.
          "1 0000000000000001 >0000000000000002 0000000000000006=1.1"),
      ])
  }

  @Test mutating func theNewestOfEachAccountIsToldOnce() {
    let messages = sender.messages(of: [
      commit(5, 1, to: [Self.phones]), membership(6, to: [Self.phones]),
      commit(5, 2, to: [Self.phones]), membership(5, to: [Self.phones]),
    ])
    #expect(
      messages.map(\.text) == [
        "1 0000000000000001 >0000000000000001 0000000000000005=1.2! 0000000000000006!"
      ])
  }

  @Test mutating func withoutKnownListenersAllAreTold() {
    let start = "1 0000000000000001 #000000000000000"
    let unknown = sender.messages(of: [commit(5, 1, to: nil)])
    #expect(unknown == [BusMessage(to: .all, start + "1 0000000000000005=1.1")])
    let beside = sender.messages(of: [commit(5, 2, to: [Self.phones])], tellsAll: true)
    #expect(beside == [BusMessage(to: .all, start + "2 0000000000000005=1.2")])
  }

  @Test mutating func aBeatTellsEachLinesNumber() {
    #expect(sender.beats() == [BusMessage(to: .all, "1 0000000000000001 ~0000000000000000 >")])
    sender.note(beat(of: Self.phones))
    sender.note(beat(of: Self.own))
    sender.note(BusPayload(relay: 9, BusPayload.Beat(last: 0, isListener: false)))
    _ = sender.messages(of: [commit(5, 1, to: [Self.phones])])
    sender.skip()
    #expect(
      sender.beats() == [
        BusMessage(
          to: .all,
          "1 0000000000000001 ~0000000000000001 > >0000000000000003:0000000000000001")
      ])
  }

  /// The other end notices each lost message, and none that was not lost.
  @Test(arguments: 0..<40) mutating func whatIsLostIsMissed(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var lines = PeerLines(relay: Self.phones)
    let at = Instant(nanoseconds: 1)
    func handle(_ message: BusMessage) -> [PeerLines.Event] {
      BusPayload(text: message.text).map { lines.handle(.received($0), at: at) } ?? []
    }
    sender.note(beat(of: Self.phones))
    for message in sender.beats() { _ = handle(message) }
    var lost: Set<BusMessage.Receiver> = []
    for sequence in 1..<200 {
      var notices: [CommitNotice] = []
      for account in 0..<(random.next() % 3) {
        let choices: [[UInt64]?] = [
          [Self.phones], [Self.laptops], [Self.phones, Self.laptops], nil,
        ]
        let listeners = choices[Int(random.next() % 4)]
        notices.append(commit(account, Int64(sequence), to: listeners))
      }
      for message in sender.messages(of: notices)
      where message.receiver != .relay(Self.laptops) {
        if random.next() % 8 == 0 {
          lost.insert(message.receiver)
        } else {
          #expect(handle(message).contains(.missed) == (lost.remove(message.receiver) != nil))
        }
      }
      if random.next() % 4 == 0 {
        #expect(sender.beats().map(handle).contains { $0.contains(.missed) } == !lost.isEmpty)
        lost = []
      }
    }
  }

  @Test mutating func strangersDoNotFillTheMemory() {
    for relay in 10..<UInt64(20 + Limits.lines) { sender.note(beat(of: relay)) }
    let texts = sender.beats().map(\.text).joined(separator: " ")
    #expect(texts.split(separator: " ").count { $0.contains(":") } == Limits.lines)
    #expect(!texts.contains(">000000000000000a:"), "the first made room")
  }
}
