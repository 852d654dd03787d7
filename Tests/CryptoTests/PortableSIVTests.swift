import COpenSSL
import Testing

@testable import LockstepCrypto

/// AES-SIV made of the block cipher, as on systems without OpenSSL; here with OpenSSL's cipher.
struct PortableSIVTests {
  private static let key = (0..<64).map { UInt8($0) }

  /// Lengths around those of a block, and of two.
  @Test(arguments: [1, 2, 15, 16, 17, 31, 32, 33, 100, 4_096, 100_000])
  func sealsAreThoseOfOpenSSL(count: Int) {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7) }
    for data in [Array("x".utf8), Array("sixteen letters.".utf8), Array("more than a block".utf8)] {
      let sealed = PortableSIV<AES>(key: Self.key).sealed(bytes, data: data)
      #expect(sealed == SIV(key: Self.key).sealed(bytes, data: data))
      #expect(PortableSIV<AES>(key: Self.key).opened(sealed, data: data) == bytes)
    }
  }

  @Test func everyFlippedBitIsRefused() {
    let siv = PortableSIV<AES>(key: Self.key)
    let sealed = siv.sealed(Array("seventeen letters".utf8), data: [1, 2])
    for index in sealed.indices {
      var broken = sealed
      broken[index] ^= 1 << UInt8(index % 8)
      #expect(siv.opened(broken, data: [1, 2]) == nil)
    }
    #expect(siv.opened(sealed, data: [1, 3]) == nil)
  }
}

private struct AES: BlockCipher {
  private let key: [UInt8]

  init(key: [UInt8]) { self.key = key }

  func encryptBlocks(_ blocks: [UInt8]) -> [UInt8] { encrypt(blocks, EVP_aes_256_ecb()) }

  func encryptChain(_ blocks: [UInt8]) -> [UInt8] { encrypt(blocks, EVP_aes_256_cbc()) }

  private func encrypt(_ blocks: [UInt8], _ cipher: OpaquePointer?) -> [UInt8] {
    let context = EVP_CIPHER_CTX_new()
    defer { EVP_CIPHER_CTX_free(context) }
    let zeros = [UInt8](repeating: 0, count: 16)
    return [UInt8](unsafeUninitializedCapacity: blocks.count + 16) { result, filled in
      var count: Int32 = 0
      #expect(EVP_EncryptInit_ex(context, cipher, nil, key, zeros) == 1)
      #expect(EVP_CIPHER_CTX_set_padding(context, 0) == 1)
      #expect(
        EVP_EncryptUpdate(context, result.baseAddress, &count, blocks, Int32(blocks.count)) == 1)
      filled = Int(count)
    }
  }
}
