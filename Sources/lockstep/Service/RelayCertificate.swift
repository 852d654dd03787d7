import LockstepEventLoop

/// Certificate of a relay: its files, and warnings to the owner.
enum RelayCertificate {
  /// Loads the certificate if both files are named; returns nil if neither is.
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

  /// Warns if the certificate is not valid now. The relay runs all the same, because the program
  /// that renews the certificate may have started it.
  static func warn(of certificate: ServerCertificate, _ log: Log) {
    switch certificate.validity {
    case .valid: break
    case .expired:
      log.warning("the certificate has expired, and no device takes it; renew it, then send SIGHUP")
    case .notYetValid:
      log.warning("the certificate is not valid yet; look whether this machine's clock is right")
    }
  }

  /// Reads the certificate's files again.
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
