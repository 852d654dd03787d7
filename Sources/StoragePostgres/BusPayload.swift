import LockstepModel

/// Notice from a commit to the other relays of the database: the accounts with new tokens, and the
/// accounts whose devices, plan or subscriptions changed. Split into as many notices as needed.
///
///     1 <relay> <account>=<token> <account>! <account>=<token>! …
///
/// `1` is the format version; `relay` and `account` have sixteen hexadecimal digits; `!` marks
/// changed affairs. A notice of another version is ignored, and of a truncated notice the complete
/// words count: a push is a hint, and a relay that missed a notice requests the movements.
package struct BusPayload: Hashable, Sendable {
  package struct Movement: Hashable, Sendable {
    package var account: AccountID
    /// New token; nil if the account's token did not change.
    package var token: ChangeToken?
    package var hasNewAffairs: Bool
  }

  /// Sender; a relay ignores its own notices.
  package var relay: UInt64
  package var movements: [Movement]

  /// `moved` and `membershipVersion`: each account once, in order.
  package init(
    relay: UInt64, moved: [(account: AccountID, token: ChangeToken)], membershipVersion: [AccountID]
  ) {
    self.relay = relay
    let changed = Set(membershipVersion)
    let known = Set(moved.map(\.account))
    movements =
      moved.map {
        Movement(account: $0.account, token: $0.token, hasNewAffairs: changed.contains($0.account))
      }
      + membershipVersion.filter { !known.contains($0) }.map {
        Movement(account: $0, token: nil, hasNewAffairs: true)
      }
  }

  /// Returns nil if the text is not a valid notice.
  package init?(text: String) {
    let words = text.split(separator: " ")
    guard words.count >= 2, words[0] == BusPayload.form, let relay = HexText.parse(String(words[1]))
    else { return nil }
    self.relay = relay
    movements = words.dropFirst(2).compactMap(BusPayload.movement)
  }

  /// Texts of at most `Limits.noticeBytes` each; empty if there are no movements.
  package var texts: [String] {
    let head = "\(BusPayload.form) \(HexText.text(relay))"
    var texts: [String] = []
    var text = head
    for movement in movements {
      let word = BusPayload.word(movement)
      if text.utf8.count + 1 + word.utf8.count > Limits.noticeBytes {
        texts.append(text)
        text = head
      }
      text += " " + word
    }
    return movements.isEmpty ? [] : texts + [text]
  }

  /// Returns the channel's name, at most 63 bytes. Relays whose tables are in different schemas of
  /// one database use different channels.
  static func channel(of schema: String) -> String {
    let plain = "lockstep_" + schema
    if plain.utf8.count <= 63 { return plain }
    return "lockstep_"
      + HexText.text(
        schema.utf8.reduce(0xCBF2_9CE4_8422_2325) {
          ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3
        })
  }

  private static let form = "1"

  private static func word(_ movement: Movement) -> String {
    movement.account.text + (movement.token.map { "=" + $0.text } ?? "")
      + (movement.hasNewAffairs ? "!" : "")
  }

  private static func movement(_ word: Substring) -> Movement? {
    let hasNewAffairs = word.last == "!"
    let rest = hasNewAffairs ? word.dropLast() : word
    let sides = rest.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard let account = AccountID(text: String(sides[0])) else { return nil }
    var movement = Movement(account: account, token: nil, hasNewAffairs: hasNewAffairs)
    if sides.count == 2 {
      guard let token = ChangeToken(text: String(sides[1])) else { return nil }
      movement.token = token
    }
    guard movement.token != nil || hasNewAffairs else { return nil }
    return movement
  }
}
