import Changes
import Digest

/// What a person types on a new device: the relay's pairing code, and behind it, where the vault's
/// key comes along, a secret that the relay never gets. Both are twelve letters of one alphabet.
///
///     7Q2M-0XKD-9RTA-C4VH-1EZB-83NW
///     └ relay part ┘ └ the secret ┘
package struct VaultCode: Hashable, Sendable {
  /// What the relay is told.
  package let relayPart: String
  package let secret: VaultSecret?

  private static let letterCount = 12

  /// nil where `offer`, the relay's pairing code, is none of twelve letters.
  package init?(offer: String, secret: VaultSecret) {
    guard let letters = VaultSecret.letters(offer), letters.count == VaultCode.letterCount else {
      return nil
    }
    relayPart = VaultSecret.grouped(letters)
    self.secret = secret
  }

  /// What is no longer than the relay's part is for the relay to judge, as it was typed. nil for
  /// what is longer, and not both parts: nothing of that may be sent, for who knows which part the
  /// slip is in.
  package init?(typed: String) {
    let count = typed.unicodeScalars.count { $0 != "-" && !$0.properties.isWhitespace }
    guard count > VaultCode.letterCount else {
      relayPart = typed
      secret = nil
      return
    }
    guard let letters = VaultSecret.letters(typed), letters.count == 2 * VaultCode.letterCount,
      let secret = VaultSecret(letters: Array(letters[VaultCode.letterCount...]))
    else { return nil }
    relayPart = VaultSecret.grouped(Array(letters[..<VaultCode.letterCount]))
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
  private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

  let letters: [UInt8]

  /// `word`: random bits, of which 60 are used.
  package init(word: UInt64) {
    letters = (0..<12).map { VaultSecret.alphabet[Int(word >> UInt64(5 * $0) & 31)] }
  }

  init?(letters: [UInt8]) {
    guard letters.count == 12, letters.allSatisfy(VaultSecret.alphabet.contains) else {
      return nil
    }
    self.letters = letters
  }

  var text: String { VaultSecret.grouped(letters) }

  static func grouped(_ letters: [UInt8]) -> String {
    stride(from: 0, to: letters.count, by: 4).map { start in
      String(decoding: letters[start..<min(start + 4, letters.count)], as: UTF8.self)
    }.joined(separator: "-")
  }

  /// What somebody typed, as it was meant, without what stands between; nil where a letter is not
  /// of the alphabet.
  static func letters(_ typed: String) -> [UInt8]? {
    var letters: [UInt8] = []
    for scalar in typed.unicodeScalars {
      if scalar == "-" || scalar.properties.isWhitespace { continue }
      guard scalar.isASCII else { return nil }
      var letter = UInt8(truncatingIfNeeded: scalar.value)
      if (UInt8(ascii: "a")...UInt8(ascii: "z")) ~= letter { letter &= ~0x20 }
      if letter == UInt8(ascii: "O") { letter = UInt8(ascii: "0") }
      if letter == UInt8(ascii: "I") || letter == UInt8(ascii: "L") { letter = UInt8(ascii: "1") }
      guard alphabet.contains(letter) else { return nil }
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
