#if canImport(COpenSSL)
  private import COpenSSL

  /// Request for a certificate (CSR, RFC 2986) for host names, signed with the key that the
  /// certificate will be for.
  package enum CertificateRequest {
    /// Returns the request in DER form. `names`: host names, at least one, as `CertificateName`
    /// accepts them. Returns nil for other names.
    package static func make(names: [String], key: P256PrivateKey) -> [UInt8]? {
      guard !names.isEmpty, names.allSatisfy(CertificateName.isValid) else { return nil }
      let list = names.map { "DNS:" + $0 }.joined(separator: ",")
      return OpenSSLKey.with(key) { key in
        OpenSSLFile.bytes { openssl_certificate_request(list, key, $0, $1) == 1 }
      }
    }
  }

  /// Host names that a certificate can be for.
  package enum CertificateName {
    package static let bytesMax = 253

    /// True for a name of labels of lower-case letters, digits and hyphens (RFC 5890), each of 1 to
    /// 63 characters. Neither an address nor a wildcard is one.
    package static func isValid(_ name: String) -> Bool {
      guard name.utf8.count <= bytesMax else { return false }
      let labels = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
      guard let last = labels.last, labels.allSatisfy({ isLabel($0) }) else { return false }
      return !last.allSatisfy(isDigit)
    }

    private static func isLabel(_ label: Substring.UTF8View) -> Bool {
      let hyphen = UInt8(ascii: "-")
      return (1...63).contains(label.count) && label.first != hyphen && label.last != hyphen
        && label.allSatisfy { byte in
          isDigit(byte) || byte == hyphen
            || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
      (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
  }

  /// Certificate that proves to an authority that a server answers for a host name (RFC 8737).
  package enum ValidationCertificate {
    /// Returns certificate and key as one PEM text; nil if the name is none, or OpenSSL fails.
    /// `digest`: SHA-256 of the key authorization. `wall`: the time, milliseconds since the Unix
    /// epoch.
    package static func make(
      name: String, digest: [UInt8], key: P256PrivateKey, at wall: Int64
    ) -> [UInt8]? {
      guard CertificateName.isValid(name), digest.count == 32 else { return nil }
      return OpenSSLKey.with(key) { pair in
        let certificate = OpenSSLFile.bytes {
          openssl_validation_certificate("DNS:" + name, digest, pair, wall / 1_000, $0, $1) == 1
        }
        guard let certificate, let text = OpenSSLFile.bytes({ openssl_key_text(pair, $0, $1) == 1 })
        else { return nil }
        return text + certificate
      }
    }
  }

  /// Certificate of a server and the chain to its authority, as an authority gives them.
  package struct CertificateChain: Sendable, Hashable {
    /// PEM text of the certificates, made anew: nothing else that the authority sent is in it.
    package let text: [UInt8]
    /// Host names of the first certificate, verbatim.
    package let names: [String]
    /// First and last moment of the validity of the first certificate, in milliseconds since the
    /// Unix epoch.
    package let start: Int64
    package let end: Int64
    /// Identifier of the first certificate for renewal information (RFC 9773 section 4.1); nil if
    /// it names no key of its authority.
    package let renewalID: String?

    package static let countMax = 10

    /// Reads certificates in PEM form. Returns nil if there are none or more than `countMax`, or
    /// if the first is not for `key`.
    package init?(_ pem: [UInt8], key: P256PrivateKey) {
      guard pem.count < Int(Int32.max), let file = BIO_new_mem_buf(pem, Int32(pem.count)) else {
        return nil
      }
      defer {
        BIO_free(file)
        // Reading ends with an error; TLS on this thread would take it for its own.
        ERR_clear_error()
      }
      var text: [UInt8] = []
      var first: Leaf?
      var count = 0
      while let certificate = PEM_read_bio_X509(file, nil, { _, _, _, _ in -1 }, nil) {
        defer { X509_free(certificate) }
        count += 1
        guard count <= CertificateChain.countMax,
          let part = OpenSSLFile.bytes({ openssl_certificate_text(certificate, $0, $1) == 1 })
        else { return nil }
        text += part
        if first == nil {
          guard let leaf = Leaf(certificate, key: key) else { return nil }
          first = leaf
        }
      }
      guard let first else { return nil }
      self.text = text
      names = first.names
      start = first.start
      end = first.end
      renewalID = first.renewalID
    }

    /// Reads a file with the key and the certificates, as `file` writes it.
    package init?(file: [UInt8]) {
      guard file.count < Int(Int32.max),
        let memory = BIO_new_mem_buf(file, Int32(file.count))
      else { return nil }
      defer {
        BIO_free(memory)
        ERR_clear_error()
      }
      guard let pair = PEM_read_bio_PrivateKey(memory, nil, { _, _, _, _ in -1 }, nil) else {
        return nil
      }
      defer { EVP_PKEY_free(pair) }
      var number = BN_new()
      defer { BN_clear_free(number) }
      var scalar = [UInt8](repeating: 0, count: P256PrivateKey.byteCount)
      guard EVP_PKEY_get_bn_param(pair, OSSL_PKEY_PARAM_PRIV_KEY, &number) == 1,
        BN_bn2binpad(number, &scalar, Int32(scalar.count)) == scalar.count,
        let key = P256PrivateKey(scalar)
      else { return nil }
      self.init(file, key: key)
    }

    /// Returns the text of a file with the key and the certificates.
    package func file(with key: P256PrivateKey) -> [UInt8]? {
      let text = OpenSSLKey.with(key) { pair in
        OpenSSLFile.bytes { openssl_key_text(pair, $0, $1) == 1 }
      }
      return text.map { $0 + self.text }
    }

    private struct Leaf {
      var names: [String] = []
      var start: Int64
      var end: Int64
      var renewalID: String?

      init?(_ certificate: OpaquePointer, key: P256PrivateKey) {
        let isPair = OpenSSLKey.with(key) { X509_check_private_key(certificate, $0) == 1 }
        guard isPair == true,
          let start = Leaf.milliseconds(X509_get0_notBefore(certificate)),
          let end = Leaf.milliseconds(X509_get0_notAfter(certificate))
        else { return nil }
        self.start = start
        self.end = end
        withUnsafeMutablePointer(to: &names) { names in
          openssl_each_name(certificate, names) { context, name, length in
            let bytes = UnsafeRawBufferPointer(start: name, count: Int(length))
            context.assumingMemoryBound(to: [String].self).pointee.append(
              String(decoding: bytes, as: UTF8.self))
          }
        }
        renewalID = Leaf.renewalID(of: certificate)
      }

      private static func milliseconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        // Seconds since the epoch as two numbers, which cannot overflow.
        guard let epoch = ASN1_TIME_set(nil, 0) else { return nil }
        defer { ASN1_TIME_free(epoch) }
        var days: Int32 = 0
        var seconds: Int32 = 0
        guard ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else { return nil }
        return (Int64(days) * 86_400 + Int64(seconds)) * 1_000
      }

      private static func renewalID(of certificate: OpaquePointer) -> String? {
        guard let authority = X509_get0_authority_key_id(certificate),
          let data = ASN1_STRING_get0_data(authority)
        else { return nil }
        let count = Int(ASN1_STRING_length(authority))
        let serial = OpenSSLFile.bytes { openssl_serial_number(certificate, $0, $1) == 1 }
        guard (1...64).contains(count), let serial else { return nil }
        let identifier = Array(UnsafeBufferPointer(start: data, count: count))
        return Base64.encodeURL(identifier) + "." + Base64.encodeURL(serial)
      }
    }
  }

  /// A private key as OpenSSL has it.
  private enum OpenSSLKey {
    static func with<Result>(
      _ key: P256PrivateKey, _ body: (OpaquePointer) -> Result?
    ) -> Result? {
      var scalar = key.scalar
      defer { OPENSSL_cleanse(&scalar, scalar.count) }
      guard let pair = openssl_p256_key(scalar, key.publicKey.bytes) else {
        ERR_clear_error()
        return nil
      }
      defer { EVP_PKEY_free(pair) }
      let result = body(pair)
      ERR_clear_error()
      return result
    }
  }

  /// Bytes that a function of OpenSSL writes to a file in memory.
  private enum OpenSSLFile {
    typealias Take = @convention(c) (UnsafeMutableRawPointer, UnsafeRawPointer, Int) -> Void

    /// Returns nil if `write` returns false.
    static func bytes(_ write: (UnsafeMutableRawPointer, Take) -> Bool) -> [UInt8]? {
      var bytes: [UInt8] = []
      let isDone = withUnsafeMutablePointer(to: &bytes) { bytes in
        write(bytes) { context, part, count in
          context.assumingMemoryBound(to: [UInt8].self).pointee =
            Array(UnsafeRawBufferPointer(start: part, count: count))
        }
      }
      return isDone ? bytes : nil
    }
  }
#endif
