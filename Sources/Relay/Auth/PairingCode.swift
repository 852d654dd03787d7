import LockstepCrypto
import LockstepModel
import LockstepStorage
import LockstepWire

/// The code that adds one device to an account: 60 random bits, shown as three groups that can be
/// read aloud and typed.
///
/// The alphabet is Crockford's base 32: no I, L, O or U. Letters that people type in their place
/// are mapped to the intended symbols.
struct PairingCode: Hashable, Sendable {
  private let symbols: [UInt8]

  init(from secrets: SecretSource) { symbols = CodeLetters.symbols(from: secrets.word()) }

  /// Returns nil if `typed` is not a valid code.
  init?(typed: String) {
    var symbols: [UInt8] = []
    for byte in typed.utf8 where byte != UInt8(ascii: "-") && byte != UInt8(ascii: " ") {
      guard let letter = CodeLetters.symbol(for: byte), symbols.count < CodeLetters.count else {
        return nil
      }
      symbols.append(letter)
    }
    guard symbols.count == CodeLetters.count else { return nil }
    self.symbols = symbols
  }

  /// Creates a code: the form for the store and the form for a person. `wall` is relay time.
  /// `seconds`: time for which it is valid, at most `longest` milliseconds; nil:
  /// `Limits.pairingMilliseconds`.
  static func issue(
    from secrets: SecretSource, wall: Int64, seconds: Int64? = nil,
    longest: Int64 = Limits.pairingMilliseconds
  ) -> (NewPairing, PairingOffer) {
    let code = PairingCode(from: secrets)
    let expiresAt =
      wall + (seconds.map { min($0, longest / 1_000) * 1_000 } ?? Limits.pairingMilliseconds)
    return (
      NewPairing(codeHash: code.hash, expiresAt: expiresAt),
      PairingOffer(code: code.text, expiresAt: expiresAt)
    )
  }

  /// The code as `XXXX-XXXX-XXXX`.
  var text: String { CodeLetters.grouped(symbols) }

  /// The hash that the store keeps.
  var hash: [UInt8] { SHA256.hash(symbols) }
}

/// The secret that authenticates a device: 32 random bytes, encoded as text that needs no escaping
/// in a header. Only its hash is stored, and only its hash is kept in memory.
enum DeviceToken {
  static func make(from secrets: SecretSource) -> String { Base64.encodeURL(secrets.bytes(32)) }

  static func hash(_ text: String) -> [UInt8] { hash(Array(text.utf8)[...]) }

  static func hash(_ text: ArraySlice<UInt8>) -> [UInt8] { SHA256.hash(text) }
}
