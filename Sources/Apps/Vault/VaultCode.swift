import LockstepCrypto
import LockstepModel

/// What a person types on a new device: the relay's pairing code, and behind it, where the vault's
/// key comes along, a secret that the relay never gets. Both are twelve letters of one alphabet.
///
///     7Q2M-0XKD-9RTA-C4VH-1EZB-83NW
///     └ relay part ┘ └ the secret ┘
package struct VaultCode: Hashable, Sendable {
  /// What the relay is told.
  package let relayPart: String
  package let secret: VaultSecret?

  /// nil where `offer`, the relay's pairing code, is none of twelve letters.
  package init?(offer: String, secret: VaultSecret) {
    guard let letters = VaultSecret.letters(offer), letters.count == CodeLetters.count else {
      return nil
    }
    relayPart = CodeLetters.grouped(letters)
    self.secret = secret
  }

  /// What is no longer than the relay's part is for the relay to judge, as it was typed. nil for
  /// what is longer, and not both parts: nothing of that may be sent, for who knows which part the
  /// slip is in.
  package init?(typed: String) {
    let count = typed.unicodeScalars.count { $0 != "-" && !$0.properties.isWhitespace }
    guard count > CodeLetters.count else {
      relayPart = typed
      secret = nil
      return
    }
    guard let letters = VaultSecret.letters(typed), letters.count == 2 * CodeLetters.count,
      let secret = VaultSecret(letters: Array(letters[CodeLetters.count...]))
    else { return nil }
    relayPart = CodeLetters.grouped(Array(letters[..<CodeLetters.count]))
    self.secret = secret
  }

  /// All of it, in groups of four.
  package var text: String { secret.map { relayPart + "-" + $0.text } ?? relayPart }

  /// The record in which the key waits for whoever has this code; nil where the code has one part.
  /// It follows from the relay's part alone, which the relay knows.
  package var recordName: Name? {
    guard secret != nil, let letters = VaultSecret.letters(relayPart) else { return nil }
    let hash = SHA256.hash(letters).prefix(16)
    return Name(trusted: VaultCode.recordPrefix + HexText.text(of: Array(hash)))
  }

  package static let recordPrefix = "code/"
}

/// Sixty random bits that one device shows and another is told by a person: twelve letters of
/// Crockford's base 32, in which I and L count as 1 and O as 0.
package struct VaultSecret: Hashable, Sendable {
  let letters: [UInt8]

  /// `word`: random bits, of which 60 are used.
  package init(word: UInt64) {
    letters = CodeLetters.draw(word)
  }

  init?(letters: [UInt8]) {
    guard letters.count == CodeLetters.count,
      letters.allSatisfy({ CodeLetters.meant($0) == $0 })
    else { return nil }
    self.letters = letters
  }

  var text: String { CodeLetters.grouped(letters) }

  /// What somebody typed, as it was meant, without what stands between; nil where a letter is not
  /// of the alphabet.
  static func letters(_ typed: String) -> [UInt8]? {
    var letters: [UInt8] = []
    for scalar in typed.unicodeScalars {
      if scalar == "-" || scalar.properties.isWhitespace { continue }
      guard let byte = UInt8(exactly: scalar.value), let letter = CodeLetters.meant(byte) else {
        return nil
      }
      letters.append(letter)
    }
    return letters
  }
}

extension VaultSecret: CustomStringConvertible, CustomReflectable {
  /// So that no log tells it.
  package var description: String { "a secret" }

  package var customMirror: Mirror { Mirror(self, children: []) }
}
