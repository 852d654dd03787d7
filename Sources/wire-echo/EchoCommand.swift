/// Parsed command line of `wire-echo`.
enum EchoCommand: Hashable {
  case help
  case serve(port: UInt16, deflates: Bool)
  case connect(SuiteAddress, deflates: Bool)

  struct Fault: Error, Hashable {
    var reason: String
  }

  static let helpText = """
    wire-echo: a WebSocket echo on Lockstep's own wire, for conformance suites.

    usage: wire-echo serve PORT [--deflate]
           wire-echo connect ws://HOST[:PORT] [--deflate]

      serve      listens on 127.0.0.1 and says every text and binary message back unchanged; port 0
                 picks a free one
      connect    asks a suite's server for its cases and goes through them one by one, as the client
                 that is examined; then has the reports written
      --deflate  agrees to permessage-deflate (RFC 7692), or offers it

    Messages have up to 16 MiB, in any number of fragments. A connection may be idle for any time.
    Exit codes: 0 done, 1 failed, 2 not understood.

    """

  init(_ words: [String]) throws(Fault) {
    if words.isEmpty { throw Fault(reason: "say what to do") }
    if words.contains(where: { ["-h", "--help", "help"].contains($0) }) {
      self = .help
      return
    }
    let deflates = words.contains("--deflate")
    let plain = words.filter { $0 != "--deflate" }
    if let option = plain.first(where: { $0.hasPrefix("-") }) {
      throw Fault(reason: "there is no option \(option)")
    }
    switch (plain.first, plain.count) {
    case ("serve", 2):
      guard let port = UInt16(plain[1]) else {
        throw Fault(reason: "\(plain[1]) is no port; give a number from 0 to 65535")
      }
      self = .serve(port: port, deflates: deflates)
    case ("connect", 2):
      guard let suite = SuiteAddress(plain[1]) else {
        throw Fault(reason: "\(plain[1]) is no address; give one as ws://127.0.0.1:9001")
      }
      self = .connect(suite, deflates: deflates)
    case ("serve", _): throw Fault(reason: "serve takes one port")
    case ("connect", _): throw Fault(reason: "connect takes one address")
    default: throw Fault(reason: "there is no command \(plain.first ?? "")")
    }
  }
}
