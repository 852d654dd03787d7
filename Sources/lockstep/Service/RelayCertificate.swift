import LockstepEventLoop

/// The certificate that a relay shows: where it comes from, and what its owner is told of it.
enum RelayCertificate {
  /// Both files, or neither.
  static func named(_ certificate: String?, key: String?) throws(CommandFailure)
    -> ServerCertificate?
  {
    switch (certificate, key) {
    case (nil, nil): return nil
    case (.some, nil):
      throw CommandFailure("--tls-cert needs --tls-key, the file of its key", exitCode: .usage)
    case (nil, .some):
      throw CommandFailure(
        "--tls-key needs --tls-cert, the file of its certificate", exitCode: .usage)
    case (let certificate?, let key?):
      do throws(CertificateFault) {
        return try ServerCertificate(certificate: certificate, key: key)
      } catch {
        throw CommandFailure("\(error)")
      }
    }
  }

  /// A relay with a certificate that nobody takes runs all the same: it may have been started by
  /// what renews it.
  static func warn(of certificate: ServerCertificate, _ log: Log) {
    switch certificate.validity {
    case .valid: break
    case .expired:
      log.warning("the certificate has expired, and no device takes it; renew it, then send SIGHUP")
    case .notYetValid:
      log.warning("the certificate is not valid yet; look whether this machine's clock is right")
    }
  }

  /// Reads its files anew.
  static func reload(_ certificate: ServerCertificate, _ log: Log) {
    do throws(CertificateFault) {
      try certificate.reload()
      log.info("the certificate was read anew")
      warn(of: certificate, log)
    } catch {
      log.error(
        "\(error); then send SIGHUP again. New connections go on with the certificate of before")
    }
  }
}
