import Changes
import Digest
import Link
import Storage

/// The code that lets one device into an account: 60 random bits, shown as three groups that can be
/// read aloud and typed.
///
/// The alphabet is Crockford's base 32: no I, L, O or U, and what people type for them counts as
/// what was meant.
struct PairingCode: Hashable, Sendable {
  private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
  private static let symbolCount = 12

  /// Twelve letters of the alphabet.
  private let symbols: [UInt8]

  init(from secrets: SecretSource) {
    let word = secrets.word()
    symbols = (0..<PairingCode.symbolCount).map { index in
      PairingCode.alphabet[Int(word >> UInt64(5 * index) & 31)]
    }
  }

  /// nil where `typed` cannot be a code.
  init?(typed: String) {
    var symbols: [UInt8] = []
    for byte in typed.utf8 {
      switch byte {
      case UInt8(ascii: "-"), UInt8(ascii: " "): continue
      case UInt8(ascii: "o"), UInt8(ascii: "O"): symbols.append(UInt8(ascii: "0"))
      case UInt8(ascii: "i"), UInt8(ascii: "I"), UInt8(ascii: "l"), UInt8(ascii: "L"):
        symbols.append(UInt8(ascii: "1"))
      case UInt8(ascii: "a")...UInt8(ascii: "z"): symbols.append(byte & ~0x20)
      default: symbols.append(byte)
      }
      guard symbols.count <= PairingCode.symbolCount else { return nil }
    }
    guard symbols.count == PairingCode.symbolCount,
      symbols.allSatisfy(PairingCode.alphabet.contains)
    else { return nil }
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
  var text: String {
    let groups = [0..<4, 4..<8, 8..<12].map { String(decoding: symbols[$0], as: UTF8.self) }
    return groups.joined(separator: "-")
  }

  /// What the store keeps of it.
  var hash: [UInt8] { SHA256.hash(symbols) }
}
