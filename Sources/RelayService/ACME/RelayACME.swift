import LockstepACME
import LockstepClient
import LockstepCommandLine
import LockstepCrypto
import LockstepEventLoop
import LockstepModel
import LockstepRuntime
import LockstepWebPush

/// The owner's settings for a certificate that the relay itself gets from an authority.
package struct RelayACME: Sendable {
  static let isOn = CommandOption.flag(
    "acme",
    "Get and renew a TLS certificate from an authority such as Let's Encrypt; docs/relay/acme.md.")
  static let agrees = CommandOption.flag(
    "acme-agree",
    "Agree to the terms of service of the authority; with --acme, needed once and for all.")
  static let domain = CommandOption.optional(
    "acme-domain", ValueKind<[String]>.domains,
    "With --acme: names of the certificate; that of --public-url if not given.")
  static let email = CommandOption.optional(
    "acme-email", ValueKind<String>.email,
    "With --acme: address at which the authority may reach you; none if not given.")
  static let directory = CommandOption.defaulted(
    "acme-directory", ValueKind<PushEndpoint>.authority, default: letsEncrypt,
    "With --acme: URL of the authority's directory.")
  static let root = CommandOption.optional(
    "acme-root", ValueKind.file,
    "With --acme: PEM file with the only authorities that are trusted for --acme-directory; the "
      + "system's if not given.")
  static let folder = CommandOption.optional(
    "acme-folder", ValueKind<String>.folder,
    "With --acme: folder for account, certificate and key; acme in the store if not given.")
  static let plainListen = CommandOption.optional(
    "http-listen", ValueKind.listener,
    "With --acme: address and port, usually 0.0.0.0:80, of a listener without TLS that lets the "
      + "authority validate the names (http-01) and redirects all else to https.")
  static let letsEncrypt = "https://acme-v02.api.letsencrypt.org/directory"

  static var options: [CommandOptionEntry] {
    [
      isOn.entry, agrees.entry, domain.entry, email.entry, plainListen.entry,
      directory.entry, root.entry, folder.entry,
    ]
  }

  var configuration: ACMEConfiguration
  var trust: Trust
  /// Folder of all authorities.
  var folder: String
  var plainListen: PeerAddress?

  /// Maximum number of files that are open for it.
  var descriptors: Int { (plainListen == nil ? 0 : ACMELimits.plainConnections) + 16 }

  /// Returns the settings; nil without `--acme`. Creates nothing.
  init?(_ arguments: Arguments, store: StoreLocation) throws(CommandFailure) {
    let plain = arguments[RelayACME.plainListen]
    guard arguments[RelayACME.isOn] else {
      if plain != nil {
        throw CommandFailure("--http-listen needs --acme; add it", exitCode: .usage)
      }
      return nil
    }
    if arguments[RelayCommand.certificate] != nil || arguments[RelayCommand.key] != nil {
      throw CommandFailure(
        "--acme gets a certificate, and --tls-cert names one; leave one of them out",
        exitCode: .usage)
    }
    let address = arguments[RelayCommand.publicURL]
    let names = try RelayACME.names(arguments[RelayACME.domain], address)
    let directory = arguments[RelayACME.directory]
    if directory.hostText.hasSuffix("letsencrypt.org"),
      let name = names.first(where: { !PublicName.isPossible($0) })
    {
      throw CommandFailure(
        "no public authority gives a certificate for \(name), which is not a name in the public "
          + "DNS; name a domain of your own, or use scripts/test-certificate with --tls-cert",
        exitCode: .usage)
    }
    guard arguments[RelayACME.agrees] else {
      throw CommandFailure(
        "--acme makes an account at \(directory.hostText), which has terms of service"
          + (directory.url == RelayACME.letsEncrypt
            ? " (https://letsencrypt.org/repository/)" : "")
          + "; read them, and add --acme-agree if you agree",
        exitCode: .usage)
    }
    configuration = ACMEConfiguration(
      directory: directory, names: names, contact: arguments[RelayACME.email],
      kinds: plain == nil ? [.tlsALPN01] : [.http01, .tlsALPN01],
      version: LockstepVersion.current)
    configuration.redirectPort = address?.port ?? RelayAddress.usualSecurePort
    plainListen = plain
    trust = try RelayACME.trust(arguments[RelayACME.root])
    folder = try RelayACME.folder(arguments[RelayACME.folder], store)
  }

  private static func names(
    _ domain: [String]?, _ address: RelayAddress?
  ) throws(CommandFailure) -> [String] {
    if let domain { return domain }
    guard let address else {
      throw CommandFailure(
        "--acme needs the relay's name; add --public-url https://sync.example.org, with a domain "
          + "of your own",
        exitCode: .usage)
    }
    let host = address.host.lowercased()
    guard address.isSecure, CertificateName.isValid(host) else {
      throw CommandFailure(
        "--acme needs a --public-url with https:// and a host name, such as "
          + "https://sync.example.org",
        exitCode: .usage)
    }
    return [host]
  }

  private static func folder(
    _ folder: String?, _ store: StoreLocation
  ) throws(CommandFailure) -> String {
    if let folder { return folder }
    guard case .folder(let path) = store else {
      throw CommandFailure(
        "--acme needs a folder for account, certificate and key, as the store is a database; add "
          + "--acme-folder /var/lib/lockstep/acme",
        exitCode: .usage)
    }
    return path + "/acme"
  }

  /// Bytes of a file with roots; those of systems have a quarter of it.
  private static let rootBytes = 1 << 20

  private static func trust(_ path: String?) throws(CommandFailure) -> Trust {
    guard let path else { return .system }
    guard let bytes = try RelayACMEFolder.contents(of: path, atMost: rootBytes) else {
      throw CommandFailure("\(path) does not exist; name a PEM file with certificates")
    }
    return try CommandFailure.wrap { () throws(CertificateFault) in
      try Trust(authorities: bytes)
    }
  }
}

/// Names for which a public authority may give certificates.
enum PublicName {
  /// Top-level domains that are not in the public DNS (RFC 6761, RFC 6762, RFC 8375, and those in
  /// use in private networks).
  private static let special: Set<String> = [
    "local", "localhost", "internal", "intranet", "private", "corp", "home", "lan", "test",
    "example", "invalid", "onion", "arpa",
  ]

  static func isPossible(_ name: String) -> Bool {
    let labels = name.split(separator: ".")
    guard labels.count >= 2, let last = labels.last else { return false }
    return !special.contains(String(last))
  }
}

extension ValueKind where Value == [String] {
  /// Host names, separated by commas.
  static var domains: ValueKind {
    ValueKind("NAMES") { text throws(ValueFault) in
      let names = text.split(separator: ",", omittingEmptySubsequences: false).map { part in
        part.filter { $0 != " " }.lowercased()
      }
      if let wildcard = names.first(where: { $0.hasPrefix("*") }) {
        throw ValueFault(
          "\"\(wildcard)\" is a wildcard, which an authority validates by DNS alone; list the names"
        )
      }
      if let wrong = names.first(where: { !CertificateName.isValid($0) }) {
        throw ValueFault(
          "\"\(wrong)\" is not a host name, such as sync.example.org without a port")
      }
      guard names.count <= ACMELimits.names, Set(names).count == names.count else {
        throw ValueFault("give at most \(ACMELimits.names) names, and each once")
      }
      return names
    }
  }
}

extension ValueKind where Value == String {
  /// A mail address, without a display name.
  static var email: ValueKind {
    ValueKind("ADDRESS") { text throws(ValueFault) in
      let parts = text.split(separator: "@", omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[0].isEmpty, CertificateName.isValid(parts[1].lowercased()),
        text.utf8.count <= 254,
        text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
        !text.contains(where: { "?#%,;:<>\"\\".contains($0) })
      else { throw ValueFault("\"\(text)\" is not a mail address, such as me@example.org") }
      return text
    }
  }
}

extension ValueKind where Value == PushEndpoint {
  /// An `https` URL.
  static var authority: ValueKind {
    ValueKind("URL") { text throws(ValueFault) in
      do throws(PushEndpointFault) {
        return try PushEndpoint(text)
      } catch {
        throw ValueFault(
          "\"\(text)\" is no https:// URL of a directory, such as \(RelayACME.letsEncrypt)")
      }
    }
  }
}
