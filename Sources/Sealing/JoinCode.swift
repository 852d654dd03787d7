import LockstepModel

/// Code that a person types on a new device: the relay's pairing code, and after it, if keys come
/// with it, a secret that the relay never receives. Each part has twelve letters of one alphabet.
///
///     7Q2M-0XKD-9RTA-C4VH-1EZB-83NW
///     └ relay part ┘ └ the secret ┘
///
/// A link that a browser opens has the relay's part alone, and a mark if there is a secret:
///
///     7Q2M-0XKD-9RTA&keys
package struct JoinCode: Hashable, Sendable {
  /// Part that is sent to the relay.
  package let relayPart: String
  package let secret: JoinSecret?
  /// True if the code has a secret, which need not be known here.
  package let carriesKeys: Bool

  private static let keysMark = "&keys"

  /// Returns nil if `offer`, the relay's pairing code, does not have twelve letters.
  package init?(offer: String, secret: JoinSecret) {
    guard let letters = JoinSecret.letters(offer), letters.count == CodeLetters.count else {
      return nil
    }
    self.init(CodeLetters.grouped(letters), secret)
  }

  /// Input up to the length of the relay part is kept as typed: the relay validates it. Returns nil
  /// if the input is longer but does not have both parts: none of it may be sent, because the
  /// typing error may be in either part.
  package init?(typed text: String) {
    let isMarked = text.hasSuffix(Self.keysMark)
    let typed = isMarked ? String(text.dropLast(Self.keysMark.count)) : text
    let count = typed.unicodeScalars.count { $0 != "-" && !$0.properties.isWhitespace }
    guard count > CodeLetters.count else {
      self.init(typed, nil, carriesKeys: isMarked)
      return
    }
    guard let letters = JoinSecret.letters(typed), letters.count == 2 * CodeLetters.count,
      let secret = JoinSecret(letters: Array(letters[CodeLetters.count...]))
    else { return nil }
    self.init(CodeLetters.grouped(Array(letters[..<CodeLetters.count])), secret)
  }

  /// Returns this code with another second half.
  package func with(secret: JoinSecret) -> JoinCode { JoinCode(relayPart, secret) }

  private init(_ relayPart: String, _ secret: JoinSecret?, carriesKeys: Bool = true) {
    self.relayPart = relayPart
    self.secret = secret
    self.carriesKeys = carriesKeys
  }

  /// The whole code, in groups of four letters.
  package var text: String { secret.map { relayPart + "-" + $0.text } ?? relayPart }

  /// Returns what a link for browsers contains: the relay's part, and the mark if `carriesKeys`.
  package static func linked(_ relayPart: String, carriesKeys: Bool) -> String {
    carriesKeys ? relayPart + keysMark : relayPart
  }
}

/// Sixty random bits that one device shows and a person types on another: twelve letters of
/// Crockford's base 32, in which I and L count as 1 and O as 0.
package struct JoinSecret: Hashable, Sendable {
  package let letters: [UInt8]

  /// `word`: random bits, of which 60 are used.
  package init(word: UInt64) {
    letters = CodeLetters.symbols(from: word)
  }

  /// Returns nil if these are not twelve letters as a person types them. Separators have no effect.
  package init?(typed: String) {
    guard let letters = JoinSecret.letters(typed) else { return nil }
    self.init(letters: letters)
  }

  package init?(letters: [UInt8]) {
    guard letters.count == CodeLetters.count,
      letters.allSatisfy({ CodeLetters.symbol(for: $0) == $0 })
    else { return nil }
    self.letters = letters
  }

  package var text: String { CodeLetters.grouped(letters) }

  /// Normalises typed letters and removes separators. Returns nil if a letter is not in the
  /// alphabet.
  package static func letters(_ typed: String) -> [UInt8]? {
    var letters: [UInt8] = []
    for scalar in typed.unicodeScalars {
      if scalar == "-" || scalar.properties.isWhitespace { continue }
      guard let byte = UInt8(exactly: scalar.value), let letter = CodeLetters.symbol(for: byte)
      else {
        return nil
      }
      letters.append(letter)
    }
    return letters
  }
}

extension JoinSecret: CustomStringConvertible, CustomReflectable {
  /// Hides the secret in logs.
  package var description: String { "a secret" }

  package var customMirror: Mirror { Mirror(self, children: []) }
}
