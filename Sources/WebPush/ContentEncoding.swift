import LockstepCrypto

/// Encrypted content encoding `aes128gcm` (RFC 8188).
///
///     16 bytes   salt
///      4 bytes   record size, big-endian
///      1 byte    length of the key id
///      n bytes   key id
///     records, all but the last of the record size:
///        n bytes   content
///        1 byte    delimiter: 1, in the last record 2
///        n bytes   padding, zeros
///       16 bytes   authentication tag
package struct ContentEncoding: Hashable, Sendable {
  package static let saltBytes = 16
  /// Bytes of a record besides content and padding.
  package static let recordOverhead = 1 + AES128GCM.overhead

  /// Random for each message, because the key is derived from it.
  package let salt: [UInt8]
  /// At least 18: a record of content has one byte of it.
  package let recordSize: Int
  /// At most 255 bytes.
  package let keyID: [UInt8]

  package init(salt: [UInt8], recordSize: Int, keyID: [UInt8] = []) {
    precondition(salt.count == ContentEncoding.saltBytes, "a salt has 16 bytes")
    precondition(
      recordSize > ContentEncoding.recordOverhead && recordSize <= Int(UInt32.max),
      "a record has 18 bytes or more")
    precondition(keyID.count <= 255, "a key id has up to 255 bytes")
    self.salt = salt
    self.recordSize = recordSize
    self.keyID = keyID
  }

  /// Reads the header of an encrypted message; nil if there is none.
  package init?(headerOf message: [UInt8]) {
    guard message.count > 20, message.count > 20 + Int(message[20]) else { return nil }
    let size = message[16..<20].reduce(0) { $0 << 8 | Int($1) }
    guard size > ContentEncoding.recordOverhead else { return nil }
    self.init(
      salt: Array(message[..<16]), recordSize: size,
      keyID: Array(message[21..<21 + Int(message[20])]))
  }

  package var headerCount: Int { 21 + keyID.count }

  /// Returns the whole message. `secret`: known to both sides, with the entropy of a key.
  /// `padding`: a number of bytes; they are in the first records, together with a byte of content
  /// each.
  package func encrypt(_ content: [UInt8], padding: Int, secret: [UInt8]) -> [UInt8] {
    precondition(padding >= 0, "padding has no negative length")
    let cipher = RecordCipher(self, secret: secret)
    var message = header
    var content = content[...]
    var padding = padding
    var number: UInt64 = 0
    repeat {
      let room = recordSize - ContentEncoding.recordOverhead
      let zeros = min(padding, content.isEmpty ? room : room - 1)
      let part = content.prefix(room - zeros)
      content = content.dropFirst(part.count)
      padding -= zeros
      let isLast = content.isEmpty && padding == 0
      let record =
        part + [isLast ? 2 : 1] + [UInt8](repeating: 0, count: zeros)
      message += cipher.sealed(Array(record), number)
      number += 1
    } while !content.isEmpty || padding > 0
    return message
  }

  /// Returns the content of a message with this header; nil if it was not encrypted with this
  /// secret, was changed or shortened.
  package func decrypt(_ message: [UInt8], secret: [UInt8]) -> [UInt8]? {
    guard message.count > headerCount else { return nil }
    let cipher = RecordCipher(self, secret: secret)
    var content: [UInt8] = []
    var rest = message[headerCount...]
    var number: UInt64 = 0
    while !rest.isEmpty {
      let sealed = rest.prefix(recordSize)
      rest = rest.dropFirst(sealed.count)
      guard let record = cipher.opened(Array(sealed), number),
        let end = record.lastIndex(where: { $0 != 0 }), record[end] == (rest.isEmpty ? 2 : 1)
      else { return nil }
      content += record[..<end]
      number += 1
    }
    return content
  }

  private var header: [UInt8] {
    let size = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: recordSize >> $0) }
    return salt + size + [UInt8(keyID.count)] + keyID
  }
}

/// Cipher of the records of one message (RFC 8188 sections 2.2 and 2.3).
private struct RecordCipher {
  private let cipher: AES128GCM
  private let nonce: [UInt8]

  init(_ encoding: ContentEncoding, secret: [UInt8]) {
    func derived(_ purpose: StaticString, _ count: Int) -> [UInt8] {
      HKDF.derive(
        secret, salt: encoding.salt, info: Array("Content-Encoding: \(purpose)\0".utf8),
        count: count)
    }
    cipher = AES128GCM(key: derived("aes128gcm", AES128GCM.keyBytes))
    nonce = derived("nonce", AES128GCM.nonceBytes)
  }

  func sealed(_ record: [UInt8], _ number: UInt64) -> [UInt8] {
    cipher.sealed(record, nonce: nonce(of: number))
  }

  func opened(_ record: [UInt8], _ number: UInt64) -> [UInt8]? {
    cipher.opened(record, nonce: nonce(of: number))
  }

  private func nonce(of number: UInt64) -> [UInt8] {
    var nonce = nonce
    for index in 0..<8 {
      nonce[nonce.count - 1 - index] ^= UInt8(truncatingIfNeeded: number >> UInt64(8 * index))
    }
    return nonce
  }
}
