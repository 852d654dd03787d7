import LockstepModel

/// Notice of a relay to other relays of a store: the accounts with new tokens, and the accounts
/// whose devices, plan or subscriptions changed. Split into as many texts as needed.
///
///     1 <relay> ><number> <account>=<token> <account>! <account>=<token>! …    to one relay
///     1 <relay> #<number> <account>=<token> …                                  to all relays
///     1 <relay> ~<number> > ><receiver>:<number> …                             beat, to all
///     1 <relay> ~<number> > . ><receiver>:<number> …                           last beat
///
/// `1` is the format version; `relay`, `receiver`, `number` and `account` have sixteen hexadecimal
/// digits; `!` marks a membership change. A relay numbers its notices to all, and those to each
/// relay, without a gap. A beat has no changes: its numbers are those of the last notices before it
/// (`PeerLines`). `>` alone says that the sender registers as a listener of its devices' accounts,
/// so that it needs only notices of these.
///
/// Relays of older versions send no numbers, or beats without `>`. They receive only notices to
/// all, and ignore words that they do not know.
///
/// A notice of another version is ignored, and of a truncated notice the complete words count: a
/// notice is a hint, and a relay that missed one queries the versions.
package struct BusPayload: Hashable, Sendable {
  package struct Change: Hashable, Sendable {
    package var account: AccountID
    /// New token; nil if the account's token did not change.
    package var token: ChangeToken?
    package var hasMembershipChange: Bool

    package init(account: AccountID, token: ChangeToken?, hasMembershipChange: Bool) {
      self.account = account
      self.token = token
      self.hasMembershipChange = hasMembershipChange
    }
  }

  /// Place of a notice among those of its sender.
  package enum Place: Hashable, Sendable {
    /// The sender does not number its notices.
    case unknown
    /// Number among the notices to all relays.
    case notice(UInt64)
    /// Number among the notices to the receiver.
    case directed(UInt64)
    case beat(Beat)
  }

  /// Numbers of the notices that a relay has sent.
  package struct Beat: Hashable, Sendable {
    /// Number of the last notice to all relays, 0 if there was none.
    package var last: UInt64
    /// True if the sender registers as a listener.
    package var isListener: Bool
    /// True if the sender ends, and has announced all its commits.
    package var isLast: Bool
    /// Number of the last notice to each of these relays, sorted by relay.
    package var directed: [Line]

    package struct Line: Hashable, Sendable {
      package var receiver: UInt64
      package var last: UInt64

      package init(receiver: UInt64, last: UInt64) {
        self.receiver = receiver
        self.last = last
      }
    }

    package init(
      last: UInt64, isListener: Bool = true, isLast: Bool = false, directed: [Line] = []
    ) {
      self.last = last
      self.isListener = isListener
      self.isLast = isLast
      self.directed = directed
    }
  }

  /// Sender; a relay ignores the changes of its own notices.
  package var relay: UInt64
  package var place = Place.unknown
  package var changes: [Change]

  package init(relay: UInt64, _ beat: Beat) {
    self.relay = relay
    place = .beat(beat)
    changes = []
  }

  package init(relay: UInt64, _ changes: [Change]) {
    self.relay = relay
    self.changes = changes
  }

  /// `moved` and `membershipChanges`: each account once, in order.
  package init(
    relay: UInt64, moved: [(account: AccountID, token: ChangeToken)], membershipChanges: [AccountID]
  ) {
    self.relay = relay
    let changedMemberships = Set(membershipChanges)
    let known = Set(moved.map(\.account))
    changes =
      moved.map {
        Change(
          account: $0.account, token: $0.token,
          hasMembershipChange: changedMemberships.contains($0.account))
      }
      + membershipChanges.filter { !known.contains($0) }.map {
        Change(account: $0, token: nil, hasMembershipChange: true)
      }
  }

  /// Returns nil if the text is not a valid notice.
  package init?(text: String) {
    let words = text.split(separator: " ")
    guard words.count >= 2, words[0] == BusPayload.form, let relay = HexText.parse(String(words[1]))
    else { return nil }
    self.relay = relay
    place = BusPayload.place(words.dropFirst(2))
    changes = words.dropFirst(2).compactMap(BusPayload.change)
  }

  /// Returns the texts of a beat, of at most `Limits.noticeBytes` each: one, unless there are
  /// hundreds of relays.
  package static func texts(of beat: Beat, from relay: UInt64) -> [String] {
    let head =
      "\(form) \(HexText.text(relay)) ~\(HexText.text(beat.last))"
      + (beat.isListener ? " >" : "") + (beat.isLast ? " ." : "")
    let words = beat.directed.map { ">\(HexText.text($0.receiver)):\(HexText.text($0.last))" }
    return texts(of: words) { head } + (words.isEmpty ? [head] : [])
  }

  /// Returns the texts of a notice to all relays, of at most `Limits.noticeBytes` each; none if
  /// there are no changes. `sent`: number of such notices that the relay has sent before.
  package func texts(after sent: UInt64) -> [String] { texts("#", after: sent) }

  /// Does the same for a notice to one relay.
  package func directedTexts(after sent: UInt64) -> [String] { texts(">", after: sent) }

  private func texts(_ sign: Character, after sent: UInt64) -> [String] {
    var number = sent
    return BusPayload.texts(of: changes.map(BusPayload.word)) {
      number &+= 1
      return "\(BusPayload.form) \(HexText.text(relay)) \(sign)\(HexText.text(number))"
    }
  }

  private static func texts(of words: [String], head: () -> String) -> [String] {
    guard !words.isEmpty else { return [] }
    var texts: [String] = []
    var text = head()
    for word in words {
      if text.utf8.count + 1 + word.utf8.count > Limits.noticeBytes {
        texts.append(text)
        text = head()
      }
      text += " " + word
    }
    return texts + [text]
  }

  private static let form = "1"

  private static func place(_ words: ArraySlice<Substring>) -> Place {
    guard let word = words.first, word.utf8.count == 17,
      let number = HexText.parse(String(word.dropFirst()))
    else { return .unknown }
    switch word.first {
    case "#": return .notice(number)
    case ">": return .directed(number)
    case "~":
      let rest = words.dropFirst()
      return .beat(
        Beat(
          last: number, isListener: rest.contains(">"), isLast: rest.contains("."),
          directed: rest.compactMap(line)))
    default: return .unknown
    }
  }

  private static func line(_ word: Substring) -> Beat.Line? {
    let sides = word.dropFirst().split(separator: ":", omittingEmptySubsequences: false)
    guard word.first == ">", sides.count == 2, let receiver = HexText.parse(String(sides[0])),
      let last = HexText.parse(String(sides[1]))
    else { return nil }
    return Beat.Line(receiver: receiver, last: last)
  }

  private static func word(_ change: Change) -> String {
    change.account.text + (change.token.map { "=" + $0.text } ?? "")
      + (change.hasMembershipChange ? "!" : "")
  }

  private static func change(_ word: Substring) -> Change? {
    let hasMembershipChange = word.last == "!"
    let rest = hasMembershipChange ? word.dropLast() : word
    let sides = rest.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard let account = AccountID(text: String(sides[0])) else { return nil }
    var change = Change(account: account, token: nil, hasMembershipChange: hasMembershipChange)
    if sides.count == 2 {
      guard let token = ChangeToken(text: String(sides[1])) else { return nil }
      change.token = token
    }
    guard change.token != nil || hasMembershipChange else { return nil }
    return change
  }
}
