import LockstepModel

/// What a commit tells the other relays of the database: which accounts moved, and how far, and of
/// which ones devices, plan or subscriptions changed. In as many notices as it takes.
///
///     1 <relay> <account>=<token> <account>! <account>=<token>! …
///
/// `1` is the form; `relay` and `account` have sixteen hexadecimal digits; `!` marks changed
/// affairs. A notice of another form says nothing, and of one that was cut what is whole counts: a
/// push is a hint, and who missed one asks for movements.
package struct BusPayload: Hashable, Sendable {
  package struct Movement: Hashable, Sendable {
    package var account: AccountID
    /// nil where it did not move.
    package var token: ChangeToken?
    package var hasNewAffairs: Bool
  }

  /// Who sends it: a relay passes over its own.
  package var relay: UInt64
  package var movements: [Movement]

  /// `moved` and `affairs`: each account once, in order.
  package init(
    relay: UInt64, moved: [(account: AccountID, token: ChangeToken)], affairs: [AccountID]
  ) {
    self.relay = relay
    let changed = Set(affairs)
    let known = Set(moved.map(\.account))
    movements =
      moved.map {
        Movement(account: $0.account, token: $0.token, hasNewAffairs: changed.contains($0.account))
      }
      + affairs.filter { !known.contains($0) }.map {
        Movement(account: $0, token: nil, hasNewAffairs: true)
      }
  }

  /// nil where the text is no notice of ours.
  package init?(text: String) {
    let words = text.split(separator: " ")
    guard words.count >= 2, words[0] == BusPayload.form, let relay = HexText.parse(String(words[1]))
    else { return nil }
    self.relay = relay
    movements = words.dropFirst(2).compactMap(BusPayload.movement)
  }

  /// Of at most `Limits.noticeBytes` each; none where there is nothing to tell.
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

  /// Relays of one database with tables in several schemas do not hear one another. A channel's
  /// name has at most 63 bytes.
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
