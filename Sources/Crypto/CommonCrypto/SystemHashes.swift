#if canImport(CommonCrypto)
  private import CommonCrypto

  /// SHA-256 (FIPS 180-4): of bytes at once, or incremental.
  ///
  /// An incremental hash belongs to one owner: it accepts bytes until `finish`, and none after
  /// that.
  package final class SHA256 {
    private let context = UnsafeMutableRawPointer.allocate(
      byteCount: MemoryLayout<CC_SHA256_CTX>.size, alignment: 16)
    private var isFinished = false

    package init() {
      let state = context.bindMemory(to: CC_SHA256_CTX.self, capacity: 1)
      state.initialize(to: CC_SHA256_CTX())
      CC_SHA256_Init(state)
    }

    deinit { context.deallocate() }

    private func withState(_ body: (UnsafeMutablePointer<CC_SHA256_CTX>) -> Void) {
      body(context.assumingMemoryBound(to: CC_SHA256_CTX.self))
    }

    package func update(_ bytes: RawSpan) {
      precondition(!isFinished, "`update` after `finish`")
      bytes.withUnsafeBytes { bytes in
        withState { _ = CC_SHA256_Update($0, bytes.baseAddress, CC_LONG(bytes.count)) }
      }
    }

    package func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0.bytes) } }

    /// Returns the 32 bytes of the hash of all bytes so far, in order.
    package func finish() -> [UInt8] {
      precondition(!isFinished, "`finish` may be called only once")
      isFinished = true
      return [UInt8](unsafeUninitializedCapacity: 32) { digest, count in
        withState { _ = CC_SHA256_Final(digest.baseAddress, $0) }
        count = 32
      }
    }

    /// Returns the 32 bytes of the hash.
    package static func hash(_ bytes: [UInt8]) -> [UInt8] { hash(bytes[...]) }

    package static func hash(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
      [UInt8](unsafeUninitializedCapacity: 32) { digest, count in
        _ = bytes.withUnsafeBytes {
          CC_SHA256($0.baseAddress, CC_LONG($0.count), digest.baseAddress)
        }
        count = 32
      }
    }
  }

  /// SHA-1 (FIPS 180-4), for the WebSocket handshake only. It protects nothing.
  package enum SHA1 {
    /// Returns the 20 bytes of the hash.
    package static func hash(_ bytes: [UInt8]) -> [UInt8] {
      [UInt8](unsafeUninitializedCapacity: 20) { digest, count in
        _ = CC_SHA1(bytes, CC_LONG(bytes.count), digest.baseAddress)
        count = 20
      }
    }
  }

  /// Message authentication codes: HMAC with SHA-256 (RFC 2104, FIPS 198-1).
  package enum HMACSHA256 {
    /// Returns the 32 bytes of the code of `bytes`, which cannot be made without the key.
    package static func code(of bytes: [UInt8], key: [UInt8]) -> [UInt8] {
      [UInt8](unsafeUninitializedCapacity: 32) { code, count in
        CCHmac(
          CCHmacAlgorithm(kCCHmacAlgSHA256), key, key.count, bytes, bytes.count, code.baseAddress)
        count = 32
      }
    }
  }
#endif
