import COpenSSL

/// Certificates with which a server answers the validations of its names by an authority (RFC
/// 8737). Such a client offers the protocol `acme-tls/1` alone, reads the certificate, and closes.
final class NameValidations: Sendable {
  /// Certificate and its key. Never changed, so that all threads may use it.
  private final class Entry: @unchecked Sendable {
    let name: String
    let certificate: OpaquePointer
    let key: OpaquePointer

    init(name: String, text: [UInt8]) throws(CertificateFault) {
      ERR_clear_error()
      guard let file = BIO_new_mem_buf(text, Int32(clamping: text.count)) else {
        throw .library(SecureConnection.lastError())
      }
      defer { BIO_free(file) }
      guard let key = PEM_read_bio_PrivateKey(file, nil, openssl_no_passphrase, nil) else {
        throw .library(SecureConnection.lastError())
      }
      guard let certificate = PEM_read_bio_X509(file, nil, openssl_no_passphrase, nil) else {
        EVP_PKEY_free(key)
        throw .library(SecureConnection.lastError())
      }
      self.name = name
      self.key = key
      self.certificate = certificate
    }

    deinit {
      X509_free(certificate)
      EVP_PKEY_free(key)
    }
  }

  private let entries = Locked<[Entry]>([])

  /// Replaces all certificates.
  func set(_ certificates: [(name: String, text: [UInt8])]) throws(CertificateFault) {
    var fresh: [Entry] = []
    for (name, text) in certificates { fresh.append(try Entry(name: name, text: text)) }
    entries.withLock { [fresh] in $0 = fresh }
  }

  // MARK: OpenSSL

  /// Lets the context answer validations, and keeps the certificates alive with it.
  func install(in context: OpaquePointer) -> Bool {
    let validations = Unmanaged.passRetained(self)
    guard NameValidations.index >= 0,
      SSL_CTX_set_ex_data(context, NameValidations.index, validations.toOpaque()) == 1
    else {
      validations.release()
      return false
    }
    SSL_CTX_set_client_hello_cb(context, { ssl, _, _ in NameValidations.answer(ssl) }, nil)
    return true
  }

  /// Index of the context's extra data that holds the certificates.
  private static let index = CRYPTO_get_ex_new_index(
    CRYPTO_EX_INDEX_SSL_CTX, 0, nil, nil, nil
  ) { _, validations, _, _, _, _ in
    if let validations { Unmanaged<NameValidations>.fromOpaque(validations).release() }
  }

  /// Implements SSL_CTX_set_client_hello_cb(3). Without a certificate for the name, the handshake
  /// goes on, and fails for want of a common protocol.
  private static func answer(_ ssl: OpaquePointer?) -> Int32 {
    guard let ssl, offersValidation(ssl) else { return SSL_CLIENT_HELLO_SUCCESS }
    guard let held = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), index), let name = serverName(ssl)
    else { return SSL_CLIENT_HELLO_SUCCESS }
    let validations = Unmanaged<NameValidations>.fromOpaque(held).takeUnretainedValue()
    let entry = validations.entries.withLock { entries in entries.first { $0.name == name } }
    guard let entry else { return SSL_CLIENT_HELLO_SUCCESS }
    return openssl_validate(ssl, entry.certificate, entry.key) == 1
      ? SSL_CLIENT_HELLO_SUCCESS : SSL_CLIENT_HELLO_ERROR
  }

  private static let offer = [0, 11, 10] + Array("acme-tls/1".utf8)

  private static func offersValidation(_ ssl: OpaquePointer) -> Bool {
    field(ssl, TLSEXT_TYPE_application_layer_protocol_negotiation) == offer
  }

  /// Returns the host name that the client asks for, in lower case; nil unless it is the only one
  /// (RFC 6066 section 3).
  private static func serverName(_ ssl: OpaquePointer) -> String? {
    guard let bytes = field(ssl, TLSEXT_TYPE_server_name), bytes.count > 5,
      Int(bytes[0]) << 8 | Int(bytes[1]) == bytes.count - 2, bytes[2] == 0,
      Int(bytes[3]) << 8 | Int(bytes[4]) == bytes.count - 5
    else { return nil }
    return String(decoding: bytes[5...], as: UTF8.self).lowercased()
  }

  /// Returns the content of an extension of the client's first message; nil if it has none.
  private static func field(_ ssl: OpaquePointer, _ kind: Int32) -> [UInt8]? {
    var start: UnsafePointer<UInt8>?
    var count = 0
    guard SSL_client_hello_get0_ext(ssl, UInt32(kind), &start, &count) == 1, let start else {
      return nil
    }
    return Array(UnsafeBufferPointer(start: start, count: count))
  }
}
