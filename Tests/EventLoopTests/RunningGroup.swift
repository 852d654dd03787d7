import Glibc
import LockstepRuntime
import LockstepWire
import Testing

@testable import LockstepEventLoop

/// Group of scripted nodes on threads of their own, until it is ended.
final class RunningGroup {
  let group: NodeGroup<ScriptedNode>
  let journal: Journal
  let notices: Notices
  /// Address that all nodes listen on.
  let address: PeerAddress
  private let thread: LoopThread
  private let endings: Box<[NodeEnding]>

  final class Box<Value: Sendable>: Sendable {
    private let value: Locked<Value>
    init(_ value: Value) { self.value = Locked(value) }
    var contents: Value { value.withLock { $0 } }
    func change(_ body: (inout Value) -> Void) { value.withLock { body(&$0) } }
  }

  typealias Notices = Box<[LoopNotice]>
  typealias Perform = NodeGroup<ScriptedNode>.CommitWorker.Perform

  init(
    count: Int = 1, _ node: sending ScriptedNode = ScriptedNode(),
    limiter: ConnectionLimiter? = nil,
    worker: sending Perform? = nil, portions: WorkPortions? = nil,
    weigh: @escaping @Sendable (Int) -> WorkWeight = { _ in WorkWeight() },
    shortJob: (@Sendable (Int) -> (Int, Int?)?)? = nil,
    stopMilliseconds: Int64 = 10_000, certificate: ServerCertificate? = nil,
    sendBufferBytes: Int32? = nil, host: String = "127.0.0.1",
    change: (inout GroupSettings<ScriptedReport>) -> Void = { _ in }
  ) throws {
    let journal = Journal()
    let notices = Notices([])
    var settings = GroupSettings<ScriptedReport> { node, told in journal.add(node, told) }
    settings.isLastReport = { $0 == .last }
    settings.stopMilliseconds = stopMilliseconds
    settings.notice = { notice in notices.change { $0.append(notice) } }
    change(&settings)
    let listeners = try Listener.open(
      .host(host, port: 0), listenerKind: .public, count: count, limiter: limiter,
      certificate: certificate)
    // Accepted sockets inherit the option.
    for listener in listeners {
      guard var bytes = sendBufferBytes else { break }
      setsockopt(
        listener.rawValue, SOL_SOCKET, SO_SNDBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
    }
    let group = try NodeGroup<ScriptedNode>(count: count, settings)
    if let worker, let portions {
      try group.addCommitWorker {
        NodeGroup<ScriptedNode>.CommitWorker.Context(
          portions: portions, weigh: weigh, perform: worker)
      }
    } else if let worker {
      try group.addCommitWorker { NodeGroup<ScriptedNode>.CommitWorker.Context(perform: worker) }
    }
    for place in 0..<count {
      try group.add(
        node, listeners: [listeners[place]],
        performInline: { jobs, _ in jobs.map { RunningGroup.perform($0.job) } },
        shortCommits: shortJob.map { .init(accepts: { _ in true }, perform: $0) })
    }
    let endings = Box<[NodeEnding]>([])
    thread = try LoopThread("group") {
      do throws(SystemFault) {
        let all = try group.run()
        endings.change { $0 = all }
      } catch {
        Issue.record(error)
      }
    }
    self.group = group
    self.journal = journal
    self.notices = notices
    self.endings = endings
    address = listeners[0].address
  }

  /// Performs a job without a worker. A number that is not negative is news.
  private static func perform(_ job: ScriptedNode.Job) -> (ScriptedNode.Outcome, Int?) {
    switch job {
    case .commit(let number): (.commit(number * 10), number < 0 ? nil : number)
    case .read(let number): (.read(number * 10), number < 0 ? nil : number)
    case .file(let number): (.file(number * 10), number < 0 ? nil : number)
    }
  }

  func order(_ action: ScriptedNode.Action, node: Int = 0) {
    group.post(.act(action), to: node)
  }

  func connect() throws -> PlainSocket {
    try PlainSocket(to: address)
  }

  /// Stops the group if it still runs, and waits for all its threads.
  @discardableResult
  func end() -> [NodeEnding] {
    group.stop()
    return join()
  }

  @discardableResult
  func join() -> [NodeEnding] {
    thread.join()
    return endings.contents
  }
}
