import Glibc
import LockstepEventLoop
import LockstepModel
import LockstepWire

/// Writes the whole text; ignores a reader that has closed.
func write(_ text: String, to descriptor: Int32) {
  var bytes = Array(text.utf8)[...]
  while !bytes.isEmpty {
    let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    guard count > 0 else { return }
    bytes = bytes.dropFirst(count)
  }
}

func fail(_ reason: String, code: Int32) -> Never {
  write("wire-echo: \(reason)\n", to: STDERR_FILENO)
  exit(code)
}

func serve(port: UInt16, deflates: Bool) throws {
  let signals = try Signals()
  let listener = try Listener.open(.host("127.0.0.1", port: port), listenerKind: .public)[0]
  let group = try NodeGroup<EchoServer>(count: 1, GroupSettings { _, _ in })
  try group.add(
    EchoServer(deflates: deflates, random: Entropy.seededRandom()), listeners: [listener])
  if case .host(let host, let port) = listener.address {
    write("listening on ws://\(host):\(port)\n", to: STDOUT_FILENO)
  }
  _ = try group.run(signals)
}

func connect(_ suite: SuiteAddress, deflates: Bool) throws {
  let signals = try Signals()
  var settings = GroupSettings<EchoClient.Report> { _, report in
    switch report {
    case .cases(let count): write("\(count) cases\n", to: STDOUT_FILENO)
    case .finished: write("done\n", to: STDOUT_FILENO)
    case .failed(let reason): fail(reason, code: 1)
    }
  }
  settings.isLastReport = { $0 == .finished }
  let group = try NodeGroup<EchoClient>(count: 1, settings)
  try group.add(
    EchoClient(
      suite, deflates: deflates, random: Entropy.seededRandom(),
      at: SystemClock.moment().instant))
  _ = try group.run(signals)
}

do {
  switch try EchoCommand(Array(CommandLine.arguments.dropFirst())) {
  case .help: write(EchoCommand.helpText, to: STDOUT_FILENO)
  case .serve(let port, let deflates): try serve(port: port, deflates: deflates)
  case .connect(let suite, let deflates): try connect(suite, deflates: deflates)
  }
} catch let fault as EchoCommand.Fault {
  fail("\(fault.reason); try wire-echo --help", code: 2)
} catch {
  fail("\(error)", code: 1)
}
