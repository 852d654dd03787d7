import LockstepJSON
import LockstepModel
import LockstepRuntime

/// Problem document of an authority (RFC 7807, RFC 8555 section 6.7). All texts are shortened and
/// have no control characters, so that they can be logged.
package struct ACMEProblem: Sendable, Hashable {
  /// Type without the prefix that all types of ACME have, such as `rateLimited`.
  package var type: String
  package var detail: String

  package init(type: String, detail: String) {
    self.type = ACMEProblem.printable(ACMEProblem.withoutPrefix(type))
    self.detail = ACMEProblem.printable(detail)
  }

  /// Reads a problem document. Returns nil if it is none.
  package init?(_ value: JSONValue?) {
    guard let value, value.members != nil else { return nil }
    let type = value["type"]?.string ?? "about:blank"
    var details = [value["detail"]?.string ?? value["title"]?.string].compactMap(\.self)
    for part in (value["subproblems"]?.array ?? []).prefix(ACMELimits.subproblems) {
      guard let detail = part["detail"]?.string else { continue }
      let name = part["identifier"]?["value"]?.string
      details.append(name.map { $0 + ": " + detail } ?? detail)
    }
    self.init(type: type, detail: details.joined(separator: "; "))
  }

  package static func printable(_ text: String) -> String {
    let shown = text.unicodeScalars.prefix(ACMELimits.textCharacters).map { scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator: Character(" ")
      default: Character(scalar)
      }
    }
    return String(shown)
  }

  private static func withoutPrefix(_ type: String) -> String {
    let prefix = "urn:ietf:params:acme:error:"
    return type.hasPrefix(prefix) ? String(type.dropFirst(prefix.count)) : type
  }
}

/// Reason for which an authority has given no certificate. Each description ends with a next step.
package enum ACMEFault: Error, Sendable, Hashable, CustomStringConvertible {
  /// The authority cannot be reached; the system's text.
  case unreachable(String)
  case notTrusted(SecurityFault)
  /// An answer, or the whole attempt, took too long.
  case timedOut
  /// An answer cannot be read; the part of it that is wrong.
  case malformed(String)
  /// A URL of the authority is on another host than its directory.
  case otherOrigin(String)
  /// A refusal without a problem document.
  case status(Int)
  case refused(ACMEProblem)
  /// The authority could not validate a name.
  case notValidated(name: String, ACMEChallengeKind, ACMEProblem?)
  case orderInvalid(ACMEProblem?)
  /// The authority makes no accounts by itself.
  case externalAccountRequired
  /// None of the challenges that the authority offers for a name can be answered.
  case noChallenge(name: String, offered: [String])
  /// The certificate is not for the key or the names, or has expired.
  case unusableCertificate(String)
  /// The authority asks for ever more requests.
  case tooManyRequests
  /// A file cannot be written; the reason.
  case storage(String)

  /// True if the order may still lead to a certificate, so that a later attempt continues with it.
  package var keepsOrder: Bool {
    switch self {
    case .unreachable, .notTrusted, .timedOut, .storage: true
    case .status(let status): status >= 500 || status == 429
    case .refused(let problem):
      ["rateLimited", "serverInternal", "badNonce"].contains(problem.type)
    case .malformed, .otherOrigin, .notValidated, .orderInvalid, .externalAccountRequired,
      .noChallenge, .unusableCertificate, .tooManyRequests:
      false
    }
  }

  package var description: String {
    switch self {
    case .unreachable(let reason):
      "the authority cannot be reached (\(reason)); check this machine's network and "
        + "--acme-directory"
    case .notTrusted(let fault): ACMEFault.text(of: fault)
    case .timedOut: "the authority takes too long; nothing needs to be done"
    case .malformed(let part):
      "the authority's answer is malformed (\(part)); check that --acme-directory is the URL of an "
        + "ACME directory (RFC 8555)"
    case .otherOrigin(let part):
      "the authority names a URL on another host than its directory (\(part)); only authorities "
        + "with one host can be used"
    case .status(429): "the authority has had too many requests; nothing needs to be done"
    case .status(let status) where status >= 500:
      "the authority is out of order (status \(status)); nothing needs to be done"
    case .status(let status):
      "the authority refuses a request with status \(status); check that --acme-directory is the "
        + "URL of an ACME directory (RFC 8555)"
    case .refused(let problem): ACMEFault.text(of: problem)
    case .notValidated(let name, let kind, let problem):
      "the authority could not validate \(name)"
        + (problem.map { " (\($0.detail))" } ?? "") + "; " + kind.advice(for: name)
    case .orderInvalid(let problem):
      "the authority gives no certificate for this order"
        + (problem.map { " (\($0.detail))" } ?? "") + "; the next attempt makes a new order"
    case .externalAccountRequired:
      "the authority needs an account that is made on its web site (external account binding), "
        + "which is not supported; choose another authority with --acme-directory"
    case .noChallenge(let name, let offered):
      "the authority offers no challenge for \(name) that can be answered "
        + "(\(offered.joined(separator: ", "))); add --http-listen 0.0.0.0:80 for http-01, or "
        + "choose another authority with --acme-directory"
    case .unusableCertificate(let reason):
      "the authority's certificate cannot be used (\(reason)); report it to the authority"
    case .tooManyRequests:
      "the authority does not come to an end; check --acme-directory, or report it to the authority"
    case .storage(let reason): "\(reason); make the folder writable for the relay's user"
    }
  }

  private static func text(of fault: SecurityFault) -> String {
    let reason =
      switch fault {
      case .unknownAuthority:
        "no root that is trusted here has signed it; install the package ca-certificates, or name "
          + "a file with roots with --acme-root"
      case .otherName: "it is for another name; check --acme-directory"
      case .expired: "it has expired; check this machine's clock"
      case .notYetValid: "it is not valid yet; check this machine's clock"
      case .notSecure, .otherProtocol: "the port does not speak HTTPS; check --acme-directory"
      case .other(let text): "\(text); check --acme-directory"
      }
    return "the authority's own certificate is not trusted: \(reason)"
  }

  private static func text(of problem: ACMEProblem) -> String {
    let reason = problem.detail.isEmpty ? problem.type : "\(problem.detail) (\(problem.type))"
    return switch problem.type {
    case "rateLimited":
      "the authority has had too many requests for these names: \(reason); nothing needs to be "
        + "done, but try settings with --acme-directory "
        + "https://acme-staging-v02.api.letsencrypt.org/directory"
    case "invalidContact", "unsupportedContact":
      "the authority does not accept the address: \(reason); change --acme-email, or leave it out"
    case "rejectedIdentifier", "unsupportedIdentifier":
      "the authority gives no certificate for this name: \(reason); the name must be public, "
        + "check --acme-domain"
    case "caa":
      "the DNS zone of the name allows other authorities only: \(reason); change its CAA record"
    case "dns":
      "the authority does not find the name in DNS: \(reason); add an A or AAAA record for it"
    case "userActionRequired":
      "the authority asks for an action: \(reason); follow its text, then send SIGHUP"
    default: "the authority refuses a request: \(reason); check --acme-domain and --acme-directory"
    }
  }
}

/// Proof that a server answers for a host name (RFC 8555 section 8).
package enum ACMEChallengeKind: String, Sendable, Hashable, CaseIterable {
  /// A file at port 80.
  case http01 = "http-01"
  /// A certificate at port 443 (RFC 8737).
  case tlsALPN01 = "tls-alpn-01"

  fileprivate func advice(for name: String) -> String {
    switch self {
    case .http01:
      "check that \(name) has this machine's public address in DNS, and that port 80 of it reaches "
        + "--http-listen from the internet (router, firewall)"
    case .tlsALPN01:
      "check that \(name) has this machine's public address in DNS, and that port 443 of it "
        + "reaches --listen from the internet (router, firewall) and no proxy ends TLS; or add "
        + "--http-listen 0.0.0.0:80"
    }
  }
}
