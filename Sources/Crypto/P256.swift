#if canImport(COpenSSL)
  private import COpenSSL

  /// Public key on the curve P-256 (FIPS 186-5): a point of the curve, and not the point at
  /// infinity.
  ///
  ///      1 byte    4: both coordinates follow
  ///     32 bytes   x
  ///     32 bytes   y
  package struct P256PublicKey: Hashable, Sendable {
    package static let byteCount = 65

    package let bytes: [UInt8]

    /// Returns nil for a point beside the curve, another length or the compressed form.
    package init?(_ bytes: [UInt8]) {
      guard bytes.count == P256PublicKey.byteCount, bytes[0] == 4,
        let point = P256Curve.point(bytes)
      else { return nil }
      EC_POINT_free(point)
      self.bytes = bytes
    }

    /// True if `signature`, as `P256PrivateKey` makes it, is one of `message` with this key.
    package func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
      guard signature.count == P256PrivateKey.signatureBytes else { return false }
      let isValid = openssl_p256_verify(bytes, SHA256.hash(message), signature) == 1
      if !isValid { ERR_clear_error() }
      return isValid
    }
  }

  /// Private key on the curve P-256, for ECDH and for ECDSA with SHA-256. The memory that holds it
  /// is zeroed at its end, and so are the copies that its own methods make: not the caller's
  /// arrays, nor what is derived from a shared secret.
  package final class P256PrivateKey: Sendable {
    package static let byteCount = 32
    /// Bytes of a signature: r and s, big-endian, as in JWS (RFC 7518 section 3.4).
    package static let signatureBytes = 64

    package let publicKey: P256PublicKey
    /// Written only before it is shared, so all threads may read it.
    private nonisolated(unsafe) let memory: UnsafeMutableRawBufferPointer

    /// `scalar`: big-endian. Returns nil for another length, for zero, and for the order of the
    /// curve and above.
    package init?(_ scalar: [UInt8]) {
      guard P256Curve.isScalar(scalar),
        let point = scalar.withUnsafeBytes({ P256Curve.publicPoint(of: $0) }),
        let publicKey = P256PublicKey(point)
      else { return nil }
      self.publicKey = publicKey
      memory = .allocate(byteCount: P256PrivateKey.byteCount, alignment: 1)
      memory.copyBytes(from: scalar)
    }

    deinit {
      OPENSSL_cleanse(memory.baseAddress, memory.count)
      memory.deallocate()
    }

    /// The secret itself, to be stored. The caller's copy is not zeroed.
    package var scalar: [UInt8] { withExtendedLifetime(self) { Array(memory) } }

    /// Returns the x coordinate of the point that both sides compute (ECDH, SP 800-56A), 32 bytes.
    /// It is not uniformly random: derive keys from it with `HKDF`.
    package func sharedSecret(with other: P256PublicKey) -> [UInt8] {
      let secret = withExtendedLifetime(self) {
        P256Curve.coordinate(of: other.bytes, times: UnsafeRawBufferPointer(memory))
      }
      guard let secret else { preconditionFailure("P-256 failed") }
      return secret
    }

    /// Returns the signature of `message` by ECDSA with SHA-256. It depends on nothing else: its
    /// nonce is derived from key and message (RFC 6979).
    package func signature(of message: [UInt8]) -> [UInt8] {
      withExtendedLifetime(self) { sign(SHA256.hash(message)) }
    }

    private func sign(_ digest: [UInt8]) -> [UInt8] {
      var signature = [UInt8](repeating: 0, count: P256PrivateKey.signatureBytes)
      let secret = UnsafeRawBufferPointer(memory)
      guard let scalar = secret.assumingMemoryBound(to: UInt8.self).baseAddress else {
        preconditionFailure("a key has memory")
      }
      var nonces = NonceSequence(secret, digest: digest)
      defer { nonces.erase() }
      for _ in 0..<NonceSequence.attemptsMax {
        if P256Curve.isScalar(nonces.nonce),
          openssl_p256_sign(scalar, digest, nonces.nonce, &signature) == 1
        {
          return signature
        }
        nonces.advance()
      }
      preconditionFailure("ECDSA failed")
    }
  }

  /// Nonces of deterministic ECDSA (RFC 6979 section 3.2), in the order in which they are tried. A
  /// nonce reveals the private key to anyone who has its signature.
  private struct NonceSequence {
    /// Each is out of range with a chance of 2⁻³².
    static let attemptsMax = 16

    private(set) var nonce = [UInt8](repeating: 1, count: 32)
    private var key = [UInt8](repeating: 0, count: 32)

    init(_ scalar: UnsafeRawBufferPointer, digest: [UInt8]) {
      // At most the order is subtracted once, since the digest is as long as the order.
      let reduced = P256Curve.isBelowOrder(digest) ? digest : P256Curve.subtractingOrder(digest)
      for separator: UInt8 in [0, 1] {
        var input: [UInt8] = []
        input.reserveCapacity(nonce.count + 1 + scalar.count + reduced.count)
        input.append(contentsOf: nonce)
        input.append(separator)
        input.append(contentsOf: scalar)
        input.append(contentsOf: reduced)
        key = HMACSHA256.code(of: input, key: key)
        nonce = HMACSHA256.code(of: nonce, key: key)
        OPENSSL_cleanse(&input, input.count)
      }
      nonce = HMACSHA256.code(of: nonce, key: key)
    }

    mutating func advance() {
      key = HMACSHA256.code(of: nonce + [0], key: key)
      nonce = HMACSHA256.code(of: nonce, key: key)
      nonce = HMACSHA256.code(of: nonce, key: key)
    }

    mutating func erase() {
      OPENSSL_cleanse(&nonce, nonce.count)
      OPENSSL_cleanse(&key, key.count)
    }
  }

  private enum P256Curve {
    /// Made once and never changed, so all threads may use it.
    private nonisolated(unsafe) static let group: OpaquePointer = {
      guard let group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1) else {
        preconditionFailure("P-256 is not available")
      }
      return group
    }()

    /// Number of points, a prime.
    private static let order: [UInt8] = [
      0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
      0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25,
      0x51,
    ]

    /// Returns nil if it is not on the curve. The caller frees the point.
    static func point(_ bytes: [UInt8]) -> OpaquePointer? {
      guard let point = EC_POINT_new(group) else { preconditionFailure("P-256 failed") }
      if EC_POINT_oct2point(group, point, bytes, bytes.count, nil) == 1 { return point }
      EC_POINT_free(point)
      // TLS on the same thread would take what remains in OpenSSL's queue for its own error.
      ERR_clear_error()
      return nil
    }

    /// Returns the public key of a private one; nil if OpenSSL fails.
    static func publicPoint(of scalar: UnsafeRawBufferPointer) -> [UInt8]? {
      multiplied(by: scalar, nil) { result, context in
        var bytes = [UInt8](repeating: 0, count: P256PublicKey.byteCount)
        let count = EC_POINT_point2oct(
          group, result, POINT_CONVERSION_UNCOMPRESSED, &bytes, bytes.count, context)
        return count == bytes.count ? bytes : nil
      }
    }

    /// Returns the x coordinate of a product; nil if OpenSSL fails.
    static func coordinate(
      of bytes: [UInt8], times scalar: UnsafeRawBufferPointer
    ) -> [UInt8]? {
      guard let point = point(bytes) else { return nil }
      defer { EC_POINT_free(point) }
      return multiplied(by: scalar, point) { result, context in
        guard let x = BN_new() else { return nil }
        defer { BN_clear_free(x) }
        var bytes = [UInt8](repeating: 0, count: 32)
        guard EC_POINT_get_affine_coordinates(group, result, x, nil, context) == 1,
          BN_bn2binpad(x, &bytes, Int32(bytes.count)) == bytes.count
        else { return nil }
        return bytes
      }
    }

    /// Multiplies a point, or the generator if it is nil. OpenSSL's time does not depend on the
    /// scalar.
    private static func multiplied(
      by scalar: UnsafeRawBufferPointer, _ point: OpaquePointer?,
      _ read: (OpaquePointer, OpaquePointer) -> [UInt8]?
    ) -> [UInt8]? {
      guard let context = BN_CTX_new() else { return nil }
      defer { BN_CTX_free(context) }
      let bytes = scalar.assumingMemoryBound(to: UInt8.self)
      guard let factor = BN_bin2bn(bytes.baseAddress, Int32(bytes.count), nil) else { return nil }
      defer { BN_clear_free(factor) }
      BN_set_flags(factor, BN_FLG_CONSTTIME)
      guard let result = EC_POINT_new(group) else { return nil }
      defer { EC_POINT_clear_free(result) }
      let isDone =
        point == nil
        ? EC_POINT_mul(group, result, factor, nil, nil, context)
        : EC_POINT_mul(group, result, nil, point, factor, context)
      return isDone == 1 ? read(result, context) : nil
    }

    /// True for 32 bytes, from 1 to the order less 1.
    static func isScalar(_ bytes: [UInt8]) -> Bool {
      bytes.count == order.count && bytes.reduce(0, |) != 0 && isBelowOrder(bytes)
    }

    /// The loop has no branch that depends on the bytes, 32 of them.
    static func isBelowOrder(_ bytes: [UInt8]) -> Bool {
      var borrow: UInt16 = 0
      for index in order.indices.reversed() {
        borrow = (UInt16(bytes[index]) &- UInt16(order[index]) &- borrow) >> 15
      }
      return borrow == 1
    }

    /// `bytes`: 32 of them, at least the order.
    static func subtractingOrder(_ bytes: [UInt8]) -> [UInt8] {
      var result = bytes
      var borrow: UInt16 = 0
      for index in order.indices.reversed() {
        let difference = UInt16(bytes[index]) &- UInt16(order[index]) &- borrow
        result[index] = UInt8(truncatingIfNeeded: difference)
        borrow = difference >> 15
      }
      return result
    }
  }
#endif
