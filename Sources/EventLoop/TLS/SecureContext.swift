import COpenSSL
import Glibc

/// Context that TLS connections of one kind share (OpenSSL's SSL_CTX). Written during setup and
/// only read afterwards. Connections keep it alive.
final class SecureContext: @unchecked Sendable {
  // Sendable according to OpenSSL: many threads may create connections from a context that no
  // thread changes.
  let rawValue: OpaquePointer

  private init(_ method: OpaquePointer?) throws(CertificateFault) {
    ERR_clear_error()
    guard let context = SSL_CTX_new(method) else { throw .library(SecureConnection.lastError()) }
    rawValue = context
    guard openssl_restrict(context) == 1 else {
      throw .library(SecureConnection.lastError())
    }
  }

  deinit { SSL_CTX_free(rawValue) }

  // MARK: Server

  /// `certificate`: path of a PEM file with the server's certificate, followed by the chain to an
  /// authority. `key`: path of a PEM file with its private key. `validations`: certificates for
  /// validations of names, if there may be any.
  static func server(
    certificate: String, key: String, validations: NameValidations? = nil
  ) throws(CertificateFault) -> SecureContext {
    let made = try server(validations)
    let context = made.rawValue
    try checkReadable(certificate)
    try checkReadable(key)
    guard SSL_CTX_use_certificate_chain_file(context, certificate) == 1 else {
      throw wasPEM
        ? .rejected(certificate, SecureConnection.lastError()) : .noCertificate(certificate)
    }
    guard SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1 else {
      let isMismatch = ERR_GET_LIB(ERR_peek_last_error()) == ERR_LIB_X509
      throw isMismatch ? .otherKey(certificate: certificate, key: key) : .noKey(key)
    }
    guard SSL_CTX_check_private_key(context) == 1 else {
      throw .otherKey(certificate: certificate, key: key)
    }
    return made
  }

  /// Makes a context without a certificate: it only answers validations of names, and other
  /// handshakes fail.
  static func server(_ validations: NameValidations?) throws(CertificateFault) -> SecureContext {
    let made = try SecureContext(TLS_server_method())
    guard openssl_serve_http(made.rawValue) == 1, TicketKeys.install(in: made.rawValue),
      validations?.install(in: made.rawValue) ?? true
    else { throw .library(SecureConnection.lastError()) }
    return made
  }

  /// Validity of the certificate at the current time (RFC 5280 section 4.1.2.5).
  var validity: CertificateValidity {
    guard let certificate = SSL_CTX_get0_certificate(rawValue) else { return .valid }
    if X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0 { return .expired }
    return X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0 ? .notYetValid : .valid
  }

  /// End of the certificate's validity, in milliseconds since the Unix epoch; nil without one.
  var end: Int64? { SSL_CTX_get0_certificate(rawValue).flatMap(CertificateEnd.milliseconds) }

  /// Names that the certificate was issued for, verbatim.
  var names: [String] {
    guard let certificate = SSL_CTX_get0_certificate(rawValue) else { return [] }
    var names: [String] = []
    withUnsafeMutablePointer(to: &names) { names in
      openssl_each_name(certificate, names) { context, name, length in
        let bytes = UnsafeRawBufferPointer(start: name, count: Int(length))
        context.assumingMemoryBound(to: [String].self).pointee.append(
          String(decoding: bytes, as: UTF8.self))
      }
    }
    return names
  }

  private static func checkReadable(_ path: String) throws(CertificateFault) {
    do throws(SystemFault) {
      _ = try Syscall.open(path, O_RDONLY)
    } catch {
      throw .unreadable(path, error)
    }
  }

  /// True if the file contained PEM data, so that a later step failed.
  private static var wasPEM: Bool { ERR_GET_LIB(ERR_peek_error()) != ERR_LIB_PEM }

  // MARK: Client

  /// `authorities`: certificates as PEM; nil: those that the system trusts.
  static func client(authorities: [UInt8]?) throws(CertificateFault) -> SecureContext {
    let made = try SecureContext(TLS_client_method())
    guard openssl_ask_http(made.rawValue) == 1 else {
      throw .library(SecureConnection.lastError())
    }
    if let authorities {
      try made.addTrusted(authorities)
    } else {
      try made.addSystemsTrusted()
    }
    return made
  }

  /// Authorities that a system trusts, in files of Debian and Arch, Fedora, openSUSE, and others.
  private static let bundles = [
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
  ]

  /// An OpenSSL that is linked in looks where the system has its authorities on which the program
  /// was built. If there is neither file nor folder, it takes the usual files of other systems.
  private func addSystemsTrusted() throws(CertificateFault) {
    guard SSL_CTX_set_default_verify_paths(rawValue) == 1 else {
      throw .library(SecureConnection.lastError())
    }
    let named = [X509_get_default_cert_file_env(), X509_get_default_cert_dir_env()]
    let places = [X509_get_default_cert_file(), X509_get_default_cert_dir()]
    guard !named.contains(where: { $0.map { getenv($0) != nil } ?? false }),
      !places.contains(where: { $0.map { access($0, R_OK) == 0 } ?? false }),
      let bundle = Self.bundles.first(where: { access($0, R_OK) == 0 })
    else { return }
    guard SSL_CTX_load_verify_locations(rawValue, bundle, nil) == 1 else {
      throw .library(SecureConnection.lastError())
    }
  }

  private func addTrusted(_ authorities: [UInt8]) throws(CertificateFault) {
    guard let text = BIO_new_mem_buf(authorities, Int32(authorities.count)),
      let store = SSL_CTX_get_cert_store(rawValue)
    else { throw .library(SecureConnection.lastError()) }
    defer { BIO_free(text) }
    var count = 0
    while let certificate = PEM_read_bio_X509(text, nil, openssl_no_passphrase, nil) {
      defer { X509_free(certificate) }
      guard X509_STORE_add_cert(store, certificate) == 1 else {
        throw .library(SecureConnection.lastError())
      }
      count += 1
    }
    // The loop ends with the error that there is no further certificate.
    ERR_clear_error()
    guard count > 0 else { throw .noAuthority }
  }
}

/// Certificate of a server and its key, in two files. They can be reloaded while connections are
/// open; those keep the certificate that they started with.
@usableFromInline
package final class ServerCertificate: Sendable {
  private let certificate: String
  private let key: String
  private let validations: NameValidations?
  private let context: Locked<SecureContext>

  /// Paths of PEM files: the certificate with its chain, and the private key.
  @usableFromInline
  package init(certificate: String, key: String) throws(CertificateFault) {
    self.certificate = certificate
    self.key = key
    validations = nil
    context = Locked(try SecureContext.server(certificate: certificate, key: key))
  }

  /// Path of a PEM file with the private key and the certificate with its chain, which this program
  /// itself writes. `isMissing`: there is none yet. Until `reload`, handshakes then fail, except
  /// those of `validate`.
  package init(managed path: String, isMissing: Bool) throws(CertificateFault) {
    certificate = path
    key = path
    let validations = NameValidations()
    self.validations = validations
    context = Locked(
      isMissing
        ? try SecureContext.server(validations)
        : try SecureContext.server(certificate: path, key: path, validations: validations))
  }

  /// Answers validations of host names (RFC 8737) from now on with these certificates, and with no
  /// others. `certificates`: by host name, PEM texts with the key and the certificate. Only for a
  /// managed certificate.
  package func validate(
    with certificates: [(name: String, text: [UInt8])]
  ) throws(CertificateFault) {
    precondition(validations != nil, "not a managed certificate")
    try validations?.set(certificates)
  }

  /// Throws if a PEM file with key and certificate cannot be used.
  package static func check(managed path: String) throws(CertificateFault) {
    _ = try SecureContext.server(certificate: path, key: path)
  }

  /// Writes a new key, and a certificate that it signs itself and that is valid for a week: for
  /// tests and benches, whose clients are told to trust it.
  ///
  /// - Parameters:
  ///   - names: Names of the server in OpenSSL's form (x509v3_config(5)), such as `IP:127.0.0.1`.
  ///   - certificate: Path of the PEM file to be written for the certificate.
  ///   - key: Path of the one for the key.
  package static func writeSelfSigned(
    names: String, certificate: String, key: String
  ) throws(CertificateFault) {
    ERR_clear_error()
    guard openssl_write_self_signed(names, certificate, key) == 1 else {
      throw .library(SecureConnection.lastError())
    }
  }

  /// Reloads the files. Safe to call from any thread. Later handshakes use the new content; if it
  /// cannot be used, they continue with the old one.
  @usableFromInline
  package func reload() throws(CertificateFault) {
    let fresh = try SecureContext.server(
      certificate: certificate, key: key, validations: validations)
    context.withLock { $0 = fresh }
  }

  @usableFromInline package var validity: CertificateValidity { current.validity }

  /// End of the certificate's validity, in milliseconds since the Unix epoch; nil while a managed
  /// certificate is missing. Safe to call from any thread.
  package var end: Int64? { current.end }

  /// Names that the certificate was issued for, verbatim, including wildcards such as
  /// `*.example.org`.
  @usableFromInline package var names: [String] { current.names }

  var current: SecureContext { context.withLock { $0 } }
}

/// Reads the end of a certificate's validity.
enum CertificateEnd {
  /// Returns milliseconds since the Unix epoch; nil if OpenSSL cannot read the time.
  static func milliseconds(_ certificate: OpaquePointer) -> Int64? {
    var end = tm()
    guard ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) == 1 else { return nil }
    return Int64(timegm(&end)) * 1_000
  }
}

/// Validity of a certificate at the current time.
@usableFromInline
package enum CertificateValidity: Hashable, Sendable {
  case valid
  case expired
  case notYetValid
}

/// Authorities that a client trusts for a server's certificate.
@usableFromInline
package struct Trust: Sendable {
  /// Certificates as PEM; nil: the system's.
  let authorities: [UInt8]?

  /// Authorities that the system trusts.
  @usableFromInline package static let system = Trust(checked: nil)

  /// Trusts only these authorities. `pem`: one or more certificates; throws if there are none.
  @usableFromInline
  package init(authorities pem: [UInt8]) throws(CertificateFault) {
    _ = try SecureContext.client(authorities: pem)
    self.init(checked: pem)
  }

  private init(checked authorities: [UInt8]?) { self.authorities = authorities }
}

/// Error of a certificate that cannot be used. Each description names the next step.
@usableFromInline
package enum CertificateFault: Error, Hashable, Sendable, CustomStringConvertible {
  case unreadable(String, SystemFault)
  case noCertificate(String)
  /// The certificate was rejected, with OpenSSL's text: the key is too short, for example.
  case rejected(String, String)
  case noKey(String)
  case otherKey(certificate: String, key: String)
  /// The authorities' file or text contains no certificate.
  case noAuthority
  /// OpenSSL itself fails.
  case library(String)

  @usableFromInline
  package var description: String {
    switch self {
    case .unreadable(let path, let fault):
      "\(path) cannot be read (\(fault.text)); check the path and the file's permissions"
    case .noCertificate(let path):
      "\(path) holds no certificate in PEM form (-----BEGIN CERTIFICATE-----); name the file with "
        + "the certificate and its chain"
    case .rejected(let path, let reason):
      "the certificate in \(path) cannot be used (\(reason)); request a new one"
    case .noKey(let path):
      "\(path) holds no private key in PEM form, or one with a passphrase; name a file with only "
        + "the key, without a passphrase"
    case .otherKey(let certificate, let key):
      "the key in \(key) is not that of the certificate in \(certificate); name two that belong "
        + "together"
    case .noAuthority:
      "it holds no certificate in PEM form (-----BEGIN CERTIFICATE-----); name the file of the "
        + "authority that signed the certificate"
    case .library(let reason):
      "OpenSSL cannot be used (\(reason)); install version 3"
    }
  }
}
