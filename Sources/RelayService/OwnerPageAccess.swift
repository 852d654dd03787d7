import LockstepCommandLine
import LockstepRuntime

/// Rule for the owner's page at the public address: nobody on the path may read its sessions.
enum OwnerPageAccess {
  /// Returns a fault, with its next step, if the page would be served by plain HTTP beyond this
  /// machine. A proxy that is trusted, or a public URL with https://, counts as TLS before the
  /// relay; the relay cannot see if that is so.
  static func fault(of arguments: Arguments) -> String? {
    guard arguments[RelayCommand.hasAdminPage] else { return nil }
    let hasCertificate =
      arguments[RelayCommand.certificate] != nil || arguments[RelayCommand.acme]
    let url = arguments[RelayCommand.publicURL]
    if let url, !url.isSecure, !PlainAddress.isLoopback(url.host) {
      return "--admin-page would send the owner's sessions over plain HTTP, as --public-url says;"
        + "\nuse an https:// address, or --admin-listen 127.0.0.1:5626 and ssh -L instead"
    }
    let isBehindProxy = !arguments[RelayCommand.trustProxy].isEmpty || url?.isSecure == true
    guard !hasCertificate, !isBehindProxy, case .host(let host, _) = arguments[RelayCommand.listen],
      !PlainAddress.isLoopback(host)
    else { return nil }
    return "--admin-page would send the owner's sessions over plain HTTP; use TLS (--acme, "
      + "--tls-cert), or a proxy\nthat has it (--trust-proxy), or --admin-listen "
      + "127.0.0.1:5626 and ssh -L instead"
  }
}
