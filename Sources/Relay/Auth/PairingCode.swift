import LockstepCrypto
import LockstepModel
import LockstepStorage
import LockstepWire

/// The code that lets one device into an account: 60 random bits, shown as three groups that can be
/// read aloud and typed.
///
/// The alphabet is Crockford's base 32: no I, L, O or U, and what people type for them counts as
/// what was meant.
struct PairingCode: Hashable, Sendable {
  private let symbols: [UInt8]

  init(from secrets: SecretSource) { symbols = CodeLetters.draw(secrets.word()) }

  /// nil where `typed` cannot be a code.
  init?(typed: String) {
    var symbols: [UInt8] = []
    for byte in typed.utf8 where byte != UInt8(ascii: "-") && byte != UInt8(ascii: " ") {
      guard let letter = CodeLetters.meant(byte), symbols.count < CodeLetters.count else {
        return nil
      }
      symbols.append(letter)
    }
    guard symbols.count == CodeLetters.count else { return nil }
    self.symbols = symbols
  }

  /// A new code, as the store keeps it and as a person gets it. `wall` is relay time.
  static func issue(from secrets: SecretSource, wall: Int64) -> (NewPairing, PairingOffer) {
    let code = PairingCode(from: secrets)
    let expiresAt = wall + Limits.pairingMilliseconds
    return (
      NewPairing(codeHash: code.hash, expiresAt: expiresAt),
      PairingOffer(code: code.text, expiresAt: expiresAt)
    )
  }

  /// `XXXX-XXXX-XXXX`.
  var text: String { CodeLetters.grouped(symbols) }

  /// What the store keeps of it.
  var hash: [UInt8] { SHA256.hash(symbols) }
}
