import LockstepCommandLine
import LockstepEventLoop
import LockstepGateway
import LockstepModel
import LockstepRelayService
import LockstepRuntime
import LockstepWebPush

/// `lockstep gateway`: pushes of relays for native apps on Apple's systems.
enum GatewayCommand {
  static let listen = CommandOption.defaulted(
    "listen", .listener, default: "127.0.0.1:5626",
    "Address and port for devices and relays; port 0 selects a free one.")
  static let adminListen = CommandOption.optional(
    "admin-listen", ValueKind.listener,
    "Address and port for metrics and health; none if not given.")
  static let certificate = CommandOption.optional(
    "tls-cert", ValueKind.file,
    "PEM file with the TLS certificate and its chain; plain HTTP, for a proxy, if not given.")
  static let key = CommandOption.optional(
    "tls-key", ValueKind.file, "PEM file with the certificate's private key.")
  static let trustProxy = CommandOption.defaulted(
    "trust-proxy", .networks, default: "none",
    "Proxies whose X-Forwarded-For or Forwarded fields are trusted.")
  static let publicURL = CommandOption.required(
    "public-url", ValueKind<PushEndpoint>.publicURL,
    "The gateway's https:// URL as devices and relays reach it, without a path.")
  static let data = CommandOption.required(
    "data", .folder,
    "Folder for the key of the endpoints, which is made at the first start; keep it.")
  static let apnsKey = CommandOption.required(
    "apns-key", .file, "Apple's file AuthKey_….p8 with your key for APNs.")
  static let keyID = CommandOption.required(
    "key-id", ValueKind<String>.appleID, "Id of that key, ten letters and digits.")
  static let team = CommandOption.required(
    "team", ValueKind<String>.appleID, "Id of your team at Apple, ten letters and digits.")
  static let topics = CommandOption<[[String]]>.repeatable(
    "topic", ValueKind<[String]>.topics,
    "Bundle id of an app that the gateway pushes for; several by commas or by several options.")
  static let apnsHost = CommandOption.optional(
    "apns-host", ValueKind<PeerAddress>.apnsHost,
    "A server that takes the place of both of Apple's."
  ).forTests
  static let apnsAuthority = CommandOption.optional(
    "apns-ca", ValueKind.file,
    "PEM file with the only authorities that are trusted for the server of APNs."
  ).forTests
  static let logLevel = CommandOption.defaulted(
    "log-level", ValueKind<Log.Level>.choice, default: "info",
    "Minimum level of log messages on standard error.")
  static let logFormat = CommandOption.defaulted(
    "log-format", ValueKind<LogLine.Format>.choice, default: "plain",
    "Format of the log: plain for people, logfmt or json for programs.")

  static let command = Command(
    name: "gateway",
    summary: "Wakes apps on Apple's systems: takes Web Push of relays, and sends to APNs.",
    discussion: """
      The maker of an app runs the gateway with his key for APNs. The app on a device asks it for \
      an endpoint and gives that to its relay, which then pushes to it as to any other push \
      service. Gateway and Apple cannot read the pushes.
      """,
    subcommands: [run])

  static let run = Command(
    name: "run",
    summary: "Runs the gateway.",
    discussion: """
      It runs until SIGTERM or SIGINT; then it takes no further requests, answers the pending \
      ones, and ends. A second signal ends it at once. SIGHUP reloads the certificate.

      Every option can also be set in a file (--config), as key = value. The command line takes \
      precedence over the environment, the environment over the file.
      """,
    options: [
      listen.entry, adminListen.entry, publicURL.entry, certificate.entry, key.entry,
      trustProxy.entry, data.entry, apnsKey.entry, keyID.entry, team.entry, topics.entry,
      apnsHost.entry, apnsAuthority.entry, logLevel.entry, logFormat.entry,
      ConfigFile.option.entry,
    ]
  ) { arguments throws(CommandFailure) in
    let log = Log(
      "lockstep gateway", level: arguments[logLevel], format: arguments[logFormat])
    let apps = Set(arguments[topics].flatMap(\.self))
    guard !apps.isEmpty else {
      throw CommandFailure("name the bundle id of your app with --topic", exitCode: .usage)
    }
    guard apps.count <= GatewayLimits.topics else {
      throw CommandFailure(
        "a gateway has at most \(GatewayLimits.topics) apps; run another one", exitCode: .usage)
    }
    let sealingKey = try GatewayFolder.sealingKey(in: arguments[data])
    let apnsKey = try GatewayFolder.apnsKey(arguments[apnsKey], log)
    guard
      let team = APNsTeam(key: apnsKey, keyID: arguments[keyID], team: arguments[team]),
      var configuration = GatewayConfiguration(
        publicURL: arguments[publicURL], topics: apps, sealingKey: sealingKey, team: team)
    else { throw CommandFailure("the options are not valid; see --help", exitCode: .usage) }
    if case .host(let host, let port) = arguments[apnsHost] {
      configuration.host = APNsHost(host: host, port: port)
    }
    configuration.trustedProxies = arguments[trustProxy]
    configuration.version = LockstepVersion.current
    try GatewayService(
      listen: arguments[listen], adminListen: arguments[adminListen],
      certificate: try RelayCertificate.named(arguments[certificate], key: arguments[key]),
      configuration: configuration, trust: try GatewayFolder.trust(arguments[apnsAuthority]),
      log: log
    ).run()
    return .success
  }
}

extension ValueKind where Value == PushEndpoint {
  /// An `https` URL without a path.
  static var publicURL: ValueKind {
    ValueKind("URL") { text throws(ValueFault) in
      let url: PushEndpoint
      do throws(PushEndpointFault) {
        url = try PushEndpoint(text)
      } catch {
        throw ValueFault("\"\(text)\" is no https:// URL, such as https://push.example")
      }
      guard url.target == "/" else {
        throw ValueFault("\"\(text)\" has a path; give the gateway a host name of its own")
      }
      return url
    }
  }
}

extension ValueKind where Value == String {
  /// Id of a key or a team at Apple.
  static var appleID: ValueKind {
    ValueKind("ID") { text throws(ValueFault) in
      guard APNsTeam.isID(text) else {
        throw ValueFault("\"\(text)\" is not ten capital letters and digits, such as A1B2C3D4E5")
      }
      return text
    }
  }
}

extension ValueKind where Value == [String] {
  /// Bundle ids, separated by commas.
  static var topics: ValueKind {
    ValueKind("LIST") { text throws(ValueFault) in
      let topics = text.split(separator: ",", omittingEmptySubsequences: false).map { part in
        String(part.filter { $0 != " " })
      }
      if let wrong = topics.first(where: { !APNsTarget.isTopic($0) }) {
        throw ValueFault("\"\(wrong)\" is no bundle id, such as com.example.app")
      }
      return topics
    }
  }
}

extension ValueKind where Value == PeerAddress {
  /// Host and port of a server.
  static var apnsHost: ValueKind {
    ValueKind("HOST:PORT") { text throws(ValueFault) in
      let address = try ValueKind<PeerAddress>.listener.parse(text)
      guard case .host(_, let port) = address, port > 0 else {
        throw ValueFault("\"\(text)\" has no port, such as 127.0.0.1:2197")
      }
      return address
    }
  }
}
