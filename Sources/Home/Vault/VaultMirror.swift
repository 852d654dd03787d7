import Lockstep
import LockstepApps
import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepRuntime

/// Messages to the mirror's thread.
enum VaultMessage: Sendable {
  case agentReport(AgentReport)
  /// Request of a command.
  case request(ConnectionID, JSONValue)
  case stop
}

/// Thread that keeps a home's files the same as the account's while the home is held.
final class VaultMirror {
  private let mail: Mailbox<VaultMessage>
  private let begin: () throws(SystemFault) -> LoopThread
  private var thread: LoopThread?

  /// `post`: sends an order to the home's node.
  init(
    _ home: HomeFolder, _ mail: Mailbox<VaultMessage>, scope: DeviceScope, log: Log,
    post: @escaping @Sendable (HomeOrder) -> Void
  ) {
    self.mail = mail
    begin = { () throws(SystemFault) -> LoopThread in
      try LoopThread("vault") {
        VaultEngine(home, mail, scope: scope, log: log, post: post).run()
      }
    }
  }

  func start() throws(CommandFailure) {
    thread = try CommandFailure.wrap { () throws(SystemFault) in
      try begin()
    }
  }

  /// Stops the thread. Unfinished work is stored such that it can be resumed.
  func stop() {
    mail.post(.stop)
    thread?.join()
    thread = nil
  }
}

/// Waits until files are the same as the account's, or no progress is possible for now.
package struct VaultWait {
  /// State of the files at the end of the wait, and the home's sync status.
  package private(set) var files: [VaultFileStatus] = []
  package private(set) var status = HomeStatus(json: .null)

  /// Milliseconds that a file may wait for the relay or another program before this wait ends.
  private static let patienceMilliseconds: Int64 = 3_000

  /// `names`: nil for all files that the home keeps. `milliseconds`: limit of the whole wait; nil
  /// for none.
  package init(
    _ folder: HomeFolder, names: [String]?, progress: Progress = Progress(),
    milliseconds: Int64? = nil
  ) throws(CommandFailure) {
    guard let connection = HomeConnection(socket: folder.socket), connection.send(.watchMirror)
    else {
      throw VaultWait.holderGone(folder)
    }
    defer { progress.clear() }
    let begun = SystemClock.instant()
    var waitsSince: Instant?
    var isTold = false
    while true {
      switch connection.next(milliseconds: 250) {
      case .line(let line):
        if let mirror = line["mirror"] {
          isTold = true
          files = VaultFileStatus.all(mirror).filter { VaultWait.belongs($0, to: names) }
          progress.show(VaultWait.line(files))
        }
        if let status = line["status"] { self.status = HomeStatus(json: status) }
      case .timeout, .other: break
      case .closed:
        throw VaultWait.holderGone(folder)
      }
      let now = SystemClock.instant()
      let isThere = isTold && names.map { files.count >= $0.count } ?? true
      if isThere, files.allSatisfy(\.isDone) { return }
      if let milliseconds, now.milliseconds(since: begun) >= milliseconds { return }
      guard isThere, files.allSatisfy({ $0.isDone || $0.isWaiting }) else {
        waitsSince = nil
        continue
      }
      let since = waitsSince ?? now
      waitsSince = since
      if now.milliseconds(since: since) >= VaultWait.patienceMilliseconds { return }
    }
  }

  private static func holderGone(_ folder: HomeFolder) -> CommandFailure {
    CommandFailure(
      localized(
        "the process that holds the home {home} has gone; try again", ["home": folder.path]))
  }

  /// True for the named files and for their conflict copies.
  private static func belongs(_ file: VaultFileStatus, to names: [String]?) -> Bool {
    guard let names else { return true }
    let original = file.isCopy ? VaultFileResolver.original(ofCopy: file.name) : nil
    return names.contains(file.name) || original.map(names.contains) ?? false
  }

  private static func line(_ files: [VaultFileStatus]) -> String {
    guard let file = files.first(where: { !$0.isDone }) else { return "" }
    let bar = file.bar(24)
    return [Log.oneLine(file.name), file.state.text, bar, file.progress].filter { !$0.isEmpty }
      .joined(separator: "  ")
  }
}
