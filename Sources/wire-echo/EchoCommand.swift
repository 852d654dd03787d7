/// Parsed command line of `wire-echo`.
enum EchoCommand: Hashable {
  case help
  case serve(port: UInt16, deflates: Bool)
  case connect(SuiteAddress, deflates: Bool)

  struct Fault: Error, Hashable {
    var reason: String
  }

  static let helpText = """
    wire-echo: a WebSocket echo with Lockstep's protocol code, for conformance suites.

    usage: wire-echo serve PORT [--deflate]
           wire-echo connect ws://HOST[:PORT] [--deflate]

      serve      listens on 127.0.0.1 and returns every text and binary message unchanged; port 0
                 selects a free port
      connect    requests the cases of a suite's server and runs them one by one, as the client
                 under test; then makes the server write the reports
      --deflate  accepts permessage-deflate (RFC 7692) as a server, or offers it as a client

    Messages have up to 16 MiB, in any number of fragments. A connection may be idle for any time.
    Exit codes: 0 done, 1 failed, 2 invalid command line.

    """

  init(_ words: [String]) throws(Fault) {
    if words.isEmpty { throw Fault(reason: "name a command, serve or connect") }
    if words.contains(where: { ["-h", "--help", "help"].contains($0) }) {
      self = .help
      return
    }
    let deflates = words.contains("--deflate")
    let plain = words.filter { $0 != "--deflate" }
    if let option = plain.first(where: { $0.hasPrefix("-") }) {
      throw Fault(reason: "unknown option \(option)")
    }
    switch (plain.first, plain.count) {
    case ("serve", 2):
      guard let port = UInt16(plain[1]) else {
        throw Fault(reason: "\(plain[1]) is not a port; give a number from 0 to 65535")
      }
      self = .serve(port: port, deflates: deflates)
    case ("connect", 2):
      guard let suite = SuiteAddress(plain[1]) else {
        throw Fault(reason: "\(plain[1]) is not an address; give one as ws://127.0.0.1:9001")
      }
      self = .connect(suite, deflates: deflates)
    case ("serve", _): throw Fault(reason: "serve needs one port")
    case ("connect", _): throw Fault(reason: "connect needs one address")
    default: throw Fault(reason: "unknown command \(plain.first ?? "")")
    }
  }
}
