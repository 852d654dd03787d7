/// Files for browsers, embedded in the program by the build.
package enum PageBundle {
  package struct File: Hashable {
    /// Path in `Sources/WebClient`.
    package var path: String
    package var bytes: [UInt8]
    /// True if the bytes are in the coding gzip.
    package var isGzipped: Bool
    /// True if the path contains a hash of the content.
    package var isImmutable: Bool
  }

  /// Files of `Sources/WebClient` as they are; texts in the coding gzip.
  package static var sources: [File] { embeddedFiles.map(file) }

  /// The account's page as browsers load it: `index.html`, one script and one style sheet, which
  /// are made of `sources`.
  package static var page: [File] { embeddedBundle.map(file) }

  /// `docs/openapi.json` in the coding gzip, with a server URL that fits every relay.
  package static var document: [UInt8] { bytes(embeddedDocument) }

  /// The package for web pages (`lockstep.js` with all that it imports) as one module.
  package static var module: [UInt8] { embeddedModule.withUTF8Buffer { Array($0) } }

  private static func file(
    _ row: (path: String, isGzipped: Bool, isImmutable: Bool, base64: StaticString)
  ) -> File {
    File(
      path: row.path, bytes: bytes(row.base64), isGzipped: row.isGzipped,
      isImmutable: row.isImmutable)
  }

  /// Returns the bytes of a text that the build has made: padded Base64 of the standard alphabet.
  /// Reads four digits at once, because a relay's start waits for it.
  private static func bytes(_ base64: StaticString) -> [UInt8] {
    base64.withUTF8Buffer { digits in
      let padding = digits.suffix(2).count { $0 == UInt8(ascii: "=") }
      let count = digits.count / 4 * 3
      var bytes = [UInt8](unsafeUninitializedCapacity: count) { output, written in
        for group in 0..<digits.count / 4 {
          let first = values[Int(digits[group * 4])] << 18
          let second = values[Int(digits[group * 4 + 1])] << 12
          let third = values[Int(digits[group * 4 + 2])] << 6
          let bits = first | second | third | values[Int(digits[group * 4 + 3])]
          output[group * 3] = UInt8(truncatingIfNeeded: bits >> 16)
          output[group * 3 + 1] = UInt8(truncatingIfNeeded: bits >> 8)
          output[group * 3 + 2] = UInt8(truncatingIfNeeded: bits)
        }
        written = count
      }
      bytes.removeLast(padding)
      return bytes
    }
  }

  /// Values of all bytes as digits of Base64; 0 for those that are none.
  private static let values: [UInt32] = {
    var values = [UInt32](repeating: 0, count: 256)
    let alphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    alphabet.withUTF8Buffer { digits in
      for (value, digit) in digits.enumerated() { values[Int(digit)] = UInt32(value) }
    }
    return values
  }()
}
