import LockstepModel

/// Notice of a relay to the other relays of a store: the accounts with new tokens, and the accounts
/// whose devices, plan or subscriptions changed. Split into as many texts as needed.
///
///     1 <relay> #<number> <account>=<token> <account>! <account>=<token>! …
///     1 <relay> ~<number>
///
/// `1` is the format version; `relay`, `number` and `account` have sixteen hexadecimal digits; `!`
/// marks a membership change. A relay numbers its notices from 1 on, without a gap. The second
/// form, a beat, has no changes: `number` is that of the last notice before it, 0 if there was none
/// (`PeerLines`). Relays of 0.2 send no numbers, and ignore words that they do not know.
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

  /// Place of a notice in the line of its sender.
  package enum Place: Hashable, Sendable {
    /// The sender does not number its notices.
    case unknown
    case notice(UInt64)
    /// The sender's last notice.
    case beat(UInt64)
  }

  /// Sender; a relay ignores the changes of its own notices.
  package var relay: UInt64
  package var place = Place.unknown
  package var changes: [Change]

  /// A beat of a relay that has sent this number of notices.
  package init(relay: UInt64, beatAfter number: UInt64) {
    self.relay = relay
    place = .beat(number)
    changes = []
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
    place = words.dropFirst(2).first.map(BusPayload.place) ?? .unknown
    changes = words.dropFirst(2).compactMap(BusPayload.change)
  }

  /// Returns the text of a beat of a relay that has sent this number of notices.
  package static func beatText(of relay: UInt64, after number: UInt64) -> String {
    "\(form) \(HexText.text(relay)) ~\(HexText.text(number))"
  }

  /// Returns texts of at most `Limits.noticeBytes` each; empty if there are no changes. `sent`:
  /// number of notices that the relay has sent before.
  package func texts(after sent: UInt64) -> [String] {
    var number = sent
    func head() -> String {
      number &+= 1
      return "\(BusPayload.form) \(HexText.text(relay)) #\(HexText.text(number))"
    }
    guard !changes.isEmpty else { return [] }
    var texts: [String] = []
    var text = head()
    for change in changes {
      let word = BusPayload.word(change)
      if text.utf8.count + 1 + word.utf8.count > Limits.noticeBytes {
        texts.append(text)
        text = head()
      }
      text += " " + word
    }
    return texts + [text]
  }

  private static let form = "1"

  private static func place(_ word: Substring) -> Place {
    guard word.utf8.count == 17, let number = HexText.parse(String(word.dropFirst())) else {
      return .unknown
    }
    return switch word.first {
    case "#": .notice(number)
    case "~": .beat(number)
    default: .unknown
    }
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

/// Event of the bus for a relay.
package enum BusEvent: Hashable, Sendable {
  /// A notice, or a beat, of any relay, also of this one.
  case received(BusPayload)
  /// The connection is lost; nothing arrives until `back`.
  case lost
  /// The connection is restored; notices in between were missed.
  case back
}
