import Glibc
import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepModel
import LockstepRelayService
import LockstepRuntime

/// Decisions for a relay: those of the command line, then those of a person, then what the file of
/// settings has, then the usual ones.
struct SetupDialog {
  private let arguments: Arguments
  /// Settings of the file, by their names.
  private let known: [String: String]
  private let isAsked: Bool
  private let questions = SetupQuestions()

  init(_ arguments: Arguments, _ known: [String: String], isAsked: Bool) {
    self.arguments = arguments
    self.known = known
    self.isAsked = isAsked
  }

  func greet(_ path: String, isNew: Bool) {
    TerminalOutput.writeToStandardError(
      """
      This sets up a relay. An empty line takes the answer in brackets. Ctrl-C ends
      it, and nothing is changed then. The settings \(isNew ? "go into" : "are in")
      \(path).

      """)
  }

  func plan() throws(CommandFailure) -> SetupPlan {
    let address = try address()
    let certificate = try certificate(for: address)
    let proxyNetwork = certificate == .proxy ? try proxyNetwork() : nil
    var plan = SetupPlan(
      address: address, certificate: certificate,
      listen: arguments[SetupCommand.listen] ?? ownListen, proxies: known["trust-proxy"],
      isOpen: try isOpen(), store: arguments[SetupCommand.store], hasIPv6: NetworkAddress.hasIPv6)
    plan.proxyNetwork = proxyNetwork
    switch certificate {
    case .acme: plan.email = try consent()
    case .files: plan.files = try files()
    case .proxy, .none: break
    }
    if arguments[SetupCommand.proxyNetwork] != nil, certificate != .proxy {
      throw CommandFailure("--proxy-network needs --tls proxy", exitCode: .usage)
    }
    plan.adminListen = adminListen(beside: plan.listening)
    if let fault = plan.fault { throw CommandFailure(fault, exitCode: .usage) }
    return plan
  }

  /// Returns the address for the owner in the file, otherwise the usual one, unless another program
  /// or the relay itself listens there. `listening`: the address for devices.
  private func adminListen(beside listening: PeerAddress) -> PeerAddress? {
    if let known = parsed("admin-listen", ValueKind<PeerAddress>.listener) { return known }
    let usual = SetupPlan.usualAdminListen
    if case .host(_, SetupPlan.usualAdminPort) = listening { return nil }
    do throws(ListenFault) {
      // It is closed at once.
      _ = try Listener.open(usual, listenerKind: .admin)
      return usual
    } catch {
      return nil
    }
  }

  /// The address in the file to listen on, unless it follows from the other settings there: then it
  /// follows from the new ones.
  private var ownListen: PeerAddress? {
    guard let listen = parsed("listen", ValueKind<PeerAddress>.listener) else { return nil }
    guard let address = known["public-url"].flatMap({ RelayAddress(url: $0) }) else {
      return listen
    }
    let former = [true, false].map { hasIPv6 in
      SetupPlan(
        address: address, certificate: address.isSecure ? usualCertificate : .none, isOpen: false,
        hasIPv6: hasIPv6
      ).listening
    }
    return former.contains(listen) ? nil : listen
  }

  /// Returns a value of the file; nil if it has none.
  private func parsed<Value>(_ key: String, _ kind: ValueKind<Value>) -> Value? {
    guard let text = known[key] else { return nil }
    do throws(ValueFault) {
      return try kind.parse(text)
    } catch {
      return nil
    }
  }

  /// True if the file turns a flag on.
  private func isOn(_ flag: CommandOption<Bool>) -> Bool {
    known[flag.entry.name].map { flag.value(of: [$0]) } ?? false
  }

  func people() throws(CommandFailure) -> [String] {
    let given = arguments[SetupCommand.people]
    if !given.isEmpty || !isAsked { return try Self.names(given) }
    return try questions.ask(
      "Names of the people, separated by commas",
      explanation: """
        Each person who uses the relay has an account of their own, with all of
        their devices.
        """, default: ""
    ) { text throws(ValueFault) in
      do throws(CommandFailure) {
        return try Self.names(text.split(separator: ",").map(String.init))
      } catch {
        throw ValueFault(error.message ?? "these are no names")
      }
    }
  }

  /// Returns the names without white space around them, each once.
  private static func names(_ texts: [String]) throws(CommandFailure) -> [String] {
    var names: [String] = []
    for text in texts {
      let name = text.split(separator: " ").joined(separator: " ")
      if name.isEmpty || names.contains(name) { continue }
      guard Name.isValid(name) else {
        throw CommandFailure(
          "a name has at most \(Limits.nameBytes) bytes, and no control characters",
          exitCode: .usage)
      }
      names.append(name)
    }
    return names
  }

  private func address() throws(CommandFailure) -> RelayAddress {
    if let given = arguments[RelayCommand.publicURL] { return given }
    let host = NetworkAddress.ofThisMachine() ?? "127.0.0.1"
    let local = RelayAddress(host: host, port: RelayAddress.usualPort)
    let usual = known["public-url"].flatMap { RelayAddress(url: $0) } ?? local
    guard isAsked else { return usual }
    let reach = PlainAddress.isLoopback(host) ? "on this machine" : "in this network"
    return try questions.ask(
      "Address",
      explanation: """
        By which address do phones and computers reach this relay?
          from anywhere: a name of your own, such as https://sync.example.org
          \(reach) alone: \(local.link)
        """, default: usual.link, ValueKind<RelayAddress>.relay.parse)
  }

  private func certificate(
    for address: RelayAddress
  ) throws(CommandFailure) -> SetupPlan.Certificate {
    if let given = arguments[SetupCommand.certificate] { return given }
    if arguments[RelayCommand.certificate] != nil { return .files }
    guard address.isSecure else { return .none }
    let usual = usualCertificate
    guard isAsked else { return usual }
    return try questions.ask(
      "Certificate: acme, proxy or files",
      explanation: """
        https:// needs a certificate.
          acme   the relay gets it by itself, from Let's Encrypt, and renews it; port
                 443 of \(address.host) must reach this machine
          proxy  a proxy on this machine has it: Caddy, nginx, Traefik, a tunnel
          files  another program keeps it in two files
        """, default: usual.rawValue
    ) { text throws(ValueFault) in
      let choice = try ValueKind<SetupPlan.Certificate>.choice.parse(text.lowercased())
      guard choice != .none else { throw ValueFault("https:// needs a certificate") }
      return choice
    }
  }

  private var usualCertificate: SetupPlan.Certificate {
    if known["tls-cert"] != nil { return .files }
    if known["trust-proxy"] != nil, !isOn(RelayCommand.acme) { return .proxy }
    return .acme
  }

  /// Returns the addresses and networks of the proxy; nil if they stay as they are.
  private func proxyNetwork() throws(CommandFailure) -> String? {
    if let given = arguments[SetupCommand.proxyNetwork] { return given }
    guard isAsked else { return nil }
    let usual = known["trust-proxy"] ?? SetupPlan.usualProxies
    let answer = try questions.ask(
      "Addresses or networks of the proxy",
      explanation: """
        The relay believes only this proxy who its clients are.
          on this machine       \(SetupPlan.usualProxies)
          in another container  the network of both, such as 172.16.0.0/12
        """, default: usual, ValueKind<String>.networkList.parse)
    return answer == usual ? nil : answer
  }

  /// Returns the address for the authority; nil if none is given. Throws without consent.
  private func consent() throws(CommandFailure) -> String? {
    let email = arguments[SetupCommand.email] ?? known["acme-email"]
    let hasAgreed = arguments[SetupCommand.agrees] || isOn(RelayCommand.acmeAgrees)
    guard isAsked, !arguments[SetupCommand.agrees] else {
      guard hasAgreed else { throw Self.refusal }
      return email
    }
    let agrees = try questions.confirm(
      "Do you agree",
      explanation: "Let's Encrypt has terms of service: https://letsencrypt.org/repository/",
      default: hasAgreed)
    guard agrees else { throw Self.refusal }
    guard arguments[SetupCommand.email] == nil else { return email }
    let answer = try questions.ask("Your mail address, for notices of theirs", default: email ?? "")
    { text throws(ValueFault) in text }
    return answer.isEmpty ? nil : answer
  }

  private static var refusal: CommandFailure {
    CommandFailure(
      "nothing was set up: --tls acme needs your consent to the terms of service of Let's Encrypt "
        + "(https://letsencrypt.org/repository/): add --acme-agree, or choose --tls proxy or files",
      exitCode: .usage)
  }

  private func files() throws(CommandFailure) -> (certificate: String, key: String) {
    let certificate = arguments[RelayCommand.certificate] ?? known["tls-cert"]
    let key = arguments[RelayCommand.key] ?? known["tls-key"]
    if !isAsked || (arguments[RelayCommand.certificate] != nil && key != nil) {
      guard let certificate, let key else {
        throw CommandFailure(
          "--tls files needs --tls-cert FILE and --tls-key FILE", exitCode: .usage)
      }
      return (certificate, key)
    }
    let parse = { @Sendable (text: String) throws(ValueFault) -> String in
      guard access(text, F_OK) == 0 else { throw ValueFault("\(text) does not exist") }
      return text
    }
    return (
      certificate: try questions.ask(
        "PEM file with the certificate and its chain",
        default: certificate, parse),
      key: try questions.ask("PEM file with its key", default: key, parse)
    )
  }

  private func isOpen() throws(CommandFailure) -> Bool {
    if arguments[RelayCommand.isOpen] { return true }
    let usual = isOn(RelayCommand.isOpen)
    guard isAsked else { return usual }
    return try questions.confirm(
      "May whoever reaches it make an account",
      explanation: """
        Usually only you make accounts (lockstep account create NAME).
        """, default: usual)
  }
}
