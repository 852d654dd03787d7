#if canImport(CommonCrypto)
  private import CommonCrypto

  /// Authenticated encryption without a nonce: AES-256-SIV (RFC 5297). The same bytes under the
  /// same key and the same associated data give the same result; nothing more is revealed.
  ///
  ///     16 bytes   the synthetic nonce, which is also the authentication tag
  ///      n bytes   as long as the plaintext
  package struct SIV: Sendable {
    /// Bytes of a key.
    package static let keyBytes = 64
    /// Bytes by which the sealed form is longer.
    package static let overhead = 16

    private let key: [UInt8]

    package init(key: [UInt8]) {
      precondition(key.count == SIV.keyBytes, "AES-256-SIV takes a key of 64 bytes")
      self.key = key
    }

    /// Encrypts `bytes`, at least one. `data` is authenticated but not contained in the result:
    /// opening needs the same `data`.
    package func sealed(_ bytes: [UInt8], data: [UInt8]) -> [UInt8] {
      precondition(!bytes.isEmpty, "the plaintext is empty")
      return PortableSIV<SystemCipher>(key: key).sealed(bytes, data: data)
    }

    /// Returns nil if it was not sealed with this key and this data, bit for bit.
    package func opened(_ sealed: [UInt8], data: [UInt8]) -> [UInt8]? {
      guard sealed.count > SIV.overhead else { return nil }
      return PortableSIV<SystemCipher>(key: key).opened(sealed, data: data)
    }
  }

  /// AES of the system.
  private struct SystemCipher: BlockCipher {
    private let key: [UInt8]

    init(key: [UInt8]) { self.key = key }

    func encryptBlocks(_ blocks: [UInt8]) -> [UInt8] {
      encrypt(blocks, CCOptions(kCCOptionECBMode))
    }

    /// Without an option CommonCrypto chains the blocks, and without an IV it begins with zeros.
    func encryptChain(_ blocks: [UInt8]) -> [UInt8] { encrypt(blocks, 0) }

    private func encrypt(_ blocks: [UInt8], _ options: CCOptions) -> [UInt8] {
      [UInt8](unsafeUninitializedCapacity: blocks.count) { result, count in
        let status = CCCrypt(
          CCOperation(kCCEncrypt), CCAlgorithm(kCCAlgorithmAES), options, key, key.count, nil,
          blocks, blocks.count, result.baseAddress, result.count, &count)
        precondition(
          status == CCCryptorStatus(kCCSuccess) && count == blocks.count, "AES failed")
      }
    }
  }
#endif
