import LockstepModel

/// Participant in Lockstep: the relay, an agent, a bench. A plain value that handles events with
/// their time and returns actions. It opens no socket, reads no clock, starts no thread. A driver
/// does that: `EventLoop/NodeRunner` with real I/O, `Tests/Simulator/World` in virtual time.
///
/// A driver calls `received` or `handle`, then performs actions until there are none left, then
/// reads the next deadline. It never calls back into a node from within an action.
@usableFromInline
package protocol Node: SendableMetatype, ~Copyable {
  /// Blocking work that the driver runs for the node, and its result: each lane has types of its
  /// own. `Never`: the node does not use the lane.
  associatedtype CommitJob: Sendable = Never
  associatedtype CommitOutcome: Sendable = Never
  associatedtype ReadJob: Sendable = Never
  associatedtype ReadOutcome: Sendable = Never
  associatedtype FileJob: Sendable = Never
  associatedtype FileOutcome: Sendable = Never
  /// Request of the person or program that controls the node, and a report to it.
  associatedtype Order: Sendable
  associatedtype Report: Sendable
  /// Message from another node of the process.
  associatedtype News: Sendable

  /// A job of any lane, and an outcome.
  typealias Job = ByLane<CommitJob, ReadJob, FileJob>
  typealias Outcome = ByLane<CommitOutcome, ReadOutcome, FileOutcome>

  /// Handles bytes that came in. A separate call, so that they are not copied: `bytes` is valid
  /// until it returns.
  mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment)

  mutating func handle(_ event: consuming NodeEvent<Outcome, Order, News>, at moment: Moment)

  /// Returns the next action, in order; nil if there is none for now.
  mutating func nextAction() -> NodeAction<Job, Report, News>?

  /// Time of the next `deadlineReached` event, unless another event comes before it. The node keeps
  /// and orders all its timers itself.
  var nextDeadline: Instant? { get }
}

/// Identifies a job until its outcome is back. Chosen by the node; a driver only passes it on.
@usableFromInline
package struct JobID: Hashable, Sendable {
  @usableFromInline package let rawValue: UInt64
  @inlinable package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// Jobs of one lane run in order; lanes never wait for one another.
@usableFromInline
package enum Lane: UInt8, Sendable, CaseIterable {
  /// Work that must be durable before it is answered.
  case commits
  case reads
  /// Large files: neither commits nor reads wait for them.
  case files
}

/// Value of one lane: a job, or the outcome of one. Each lane has a type of its own, so that no
/// worker gets another lane's job.
@usableFromInline
package enum ByLane<Commit: Sendable, Read: Sendable, File: Sendable>: Sendable {
  case commit(Commit)
  case read(Read)
  case file(File)

  @inlinable
  package func map<NewCommit, NewRead, NewFile>(
    commit: (Commit) -> NewCommit, read: (Read) -> NewRead, file: (File) -> NewFile
  ) -> ByLane<NewCommit, NewRead, NewFile> {
    switch self {
    case .commit(let value): .commit(commit(value))
    case .read(let value): .read(read(value))
    case .file(let value): .file(file(value))
    }
  }
}

/// Job, and outcome, of a node that uses no lane.
package typealias NoJob = ByLane<Never, Never, Never>

/// Event that a driver passes to a node.
@usableFromInline
package enum NodeEvent<Outcome: Sendable, Order: Sendable, News: Sendable>: Sendable {
  /// A connection is established: an incoming one, or one that the node asked for.
  case opened(ConnectionID, Opening)
  /// The peer accepted bytes; `unsent` of them still wait. Sent when a connection with waiting
  /// bytes has sent some, and at the latest when all are sent.
  case drained(ConnectionID, unsent: Int)
  /// Memory held for the unsent bytes of a connection. Sent right before each `drained`, because
  /// frames take more memory than their bytes, and a partly sent one is held whole. Sent once more,
  /// with 0, when nothing is held any more for a connection that the node closed with
  /// `.afterSending`, or whose peer ended its stream.
  case holding(ConnectionID, bytes: Int)
  /// The connection is closed, by either side. No event except `holding` follows for it. Not sent
  /// for a connection that the node itself has asked to close.
  ///
  /// A peer that ended its stream may still read: bytes that the node sends while it handles this
  /// event are sent, later ones are not.
  case closed(ConnectionID, CloseCause)
  /// An incoming connection was closed before it was passed to the node.
  case connectionRejected(ConnectionRejection)
  case finished(JobID, Outcome)
  case ordered(Order)
  case news(News)
  case deadlineReached
  /// The process must end: finish work in progress, refuse new work, then report it.
  case stopping
}

/// Action that a node requests of a driver.
@usableFromInline
package enum NodeAction<Job: Sendable, Report: Sendable, News: Sendable>: Sendable {
  /// Connect to `address`, under the id that the node chose (`ConnectionID.outgoing`). `opened` or
  /// `closed` follows.
  case open(ConnectionID, PeerAddress)
  /// Send bytes on one connection, after those of earlier actions. They are kept, without copying,
  /// until they are sent.
  case send(ConnectionID, [UInt8])
  /// Send the same bytes on many connections. A closed connection is skipped.
  case multicast([UInt8], [ConnectionID])
  /// Send the waiting bytes, then close. With `.now` they are discarded.
  case close(ConnectionID, CloseManner)
  /// Stop reading from this connection until it is resumed: back-pressure.
  case pauseReading(ConnectionID)
  case resumeReading(ConnectionID)
  case run(JobID, Job)
  case report(Report)
  /// Send to all other nodes of this process.
  case broadcast(News)

  /// Returns the action with another job or report. `report`: returns nil for a report that is not
  /// passed on; then there is no action.
  @inlinable
  package func map<NewJob, NewReport>(
    job: (Job) -> NewJob, report: (Report) -> NewReport?
  ) -> NodeAction<NewJob, NewReport, News>? {
    switch self {
    case .open(let id, let address): .open(id, address)
    case .send(let id, let bytes): .send(id, bytes)
    case .multicast(let bytes, let ids): .multicast(bytes, ids)
    case .close(let id, let manner): .close(id, manner)
    case .pauseReading(let id): .pauseReading(id)
    case .resumeReading(let id): .resumeReading(id)
    case .run(let id, let old): .run(id, job(old))
    case .report(let old): report(old).map { .report($0) }
    case .broadcast(let news): .broadcast(news)
    }
  }
}

@usableFromInline
package enum CloseManner: Sendable, Hashable {
  case afterSending
  case now
}

/// Reason for which a connection is closed, for the node that had it.
@usableFromInline
package enum CloseCause: Sendable, Hashable {
  /// The peer ended the stream in order.
  case endOfStream
  /// The connection could not be established; the system's error text.
  case connectFailed(String)
  /// The peer is reachable, but its certificate is not trusted or it does not use TLS. Nothing was
  /// sent to it.
  case notTrusted(SecurityFault)
  /// Reset, timed out or broken on the way; the system's error text.
  case failed(String)

  /// No address of the host may be connected to (`PeerAddress.screened`). The text does not name
  /// them: who named the host must not learn about the owner's network.
  package static let addressNotAllowed = CloseCause.connectFailed("the address is not allowed")
}

/// Reason for which the peer of a secure connection could not be verified (RFC 5280 section 6, RFC
/// 6125).
@usableFromInline
package enum SecurityFault: Sendable, Hashable {
  /// No authority that is trusted here has signed its certificate.
  case unknownAuthority
  /// Its certificate is for another name or address.
  case otherName
  case expired
  case notYetValid
  /// The peer does not use TLS.
  case notSecure
  /// The peer does not speak the protocol that was offered (RFC 7301).
  case otherProtocol
  /// The library's error text.
  case other(String)
}

/// Reason for which an incoming connection is closed before it is passed to a node.
@usableFromInline
package enum ConnectionRejection: Sendable, Hashable, CaseIterable {
  /// The maximum number of connections is reached.
  case connections
  /// The maximum number from its address is reached.
  case connectionsPerAddress
  /// It did not start TLS as required.
  case handshakeFailed
  case handshakeTimedOut
  /// The maximum number of handshakes was in progress, and this one was the oldest.
  case handshakesAtOnce
}

/// Origin and properties of a new connection.
@usableFromInline
package struct Opening: Sendable, Hashable {
  // In an order without gaps: each connection has one.
  /// Address of the peer, as far as it is known: for limits and logs.
  @usableFromInline package let peer: PeerAddress
  @usableFromInline package var listenerKind: ListenerKind
  /// True if the connection is protected from reading and changes on the way.
  @usableFromInline package var isSecure: Bool
  /// The peer's IP address, parsed once for all comparisons; nil if it has none.
  @usableFromInline package let address: IPAddress?
  /// TLS terms of a secure connection that the node asked for.
  @usableFromInline package var terms: SecureTerms?

  /// `address`: the one that `peer` names, if it is known already; otherwise it is parsed.
  @usableFromInline
  package init(
    listenerKind: ListenerKind, peer: PeerAddress, address: IPAddress? = nil,
    isSecure: Bool = false, terms: SecureTerms? = nil
  ) {
    self.listenerKind = listenerKind
    self.peer = peer
    self.address = address ?? IPAddress(of: peer)
    self.isSecure = isSecure
    self.terms = terms
  }

  /// Kind of the listener that accepted a connection.
  @usableFromInline
  package enum ListenerKind: UInt8, Sendable, Hashable {
    /// No listener: the node opened the connection.
    case outgoing
    /// The listener for clients.
    case `public`
    /// Metrics and health, over TCP.
    case admin
    /// A Unix socket that only the owner of the process can reach.
    case control
  }
}

/// Result of a TLS handshake. Indirect, because a relay holds the `Opening` of each of its
/// connections, and these have no terms.
@usableFromInline
package indirect enum SecureTerms: Sendable, Hashable {
  /// `version`: of TLS, as `TLSv1.3`. `certificateEnd`: the time at which the peer's certificate
  /// expires, in milliseconds since the Unix epoch; nil if the library does not report it.
  case agreed(version: String, certificateEnd: Int64?)
}

/// Address of a peer.
@usableFromInline
package enum PeerAddress: Sendable, Hashable {
  /// A host name or literal address, and a port.
  case host(String, port: UInt16)
  /// The same, with TLS: the peer must prove that it is that host.
  case secure(String, port: UInt16)
  /// The same, for HTTP/2 alone (RFC 9113 section 3.2): a peer that does not select it during the
  /// handshake is closed with `SecurityFault.otherProtocol`.
  case http2(String, port: UInt16)
  /// The same, for a host that somebody else has named: the driver judges each address of the host,
  /// and connects only to those that are allowed. If there is none, it reports
  /// `CloseCause.addressNotAllowed`. `allowsLocal`: the owner has named the host, so that it may be
  /// in his own network.
  case screened(String, port: UInt16, allowsLocal: Bool)
  /// The path of a Unix socket.
  case local(path: String)
}

/// One byte stream of a node. The driver chooses the ids of incoming connections, a node those of
/// outgoing ones. The topmost bit distinguishes them, so that they never collide.
///
/// The driver packs the data that it needs to find the connection into the other bits (a slot and a
/// registration number). For a node it is an opaque id that is never used twice.
@usableFromInline
package struct ConnectionID: Hashable, Comparable, IndexedKey, Sendable {
  @usableFromInline package let rawValue: UInt64

  @inlinable package var indexHash: UInt64 { rawValue }

  @inlinable package init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Returns the id of the `number`-th connection that a node opens.
  @inlinable package static func outgoing(_ number: UInt64) -> ConnectionID {
    ConnectionID(rawValue: number | 1 << 63)
  }

  @inlinable package var isOutgoing: Bool { rawValue >> 63 == 1 }

  @inlinable package static func < (left: Self, right: Self) -> Bool {
    left.rawValue < right.rawValue
  }
}

/// FIFO queue of the actions of a node. Every node has one behind `nextAction`.
@usableFromInline
package struct ActionQueue<Action: Sendable>: Sendable {
  /// Removed actions are nil; their slots are reused once the queue is empty.
  @usableFromInline var actions: [Action?] = []
  @usableFromInline var head = 0
  @usableFromInline var end = 0

  @inlinable package init() {}

  @inlinable package var isEmpty: Bool { head == end }

  @inlinable package mutating func append(_ action: consuming Action) {
    if end == actions.count {
      actions.append(action)
    } else {
      actions[end] = action
    }
    end += 1
  }

  @inlinable package mutating func popFirst() -> Action? {
    guard head < end else { return nil }
    let action = actions[head].take()
    head += 1
    if head == end {
      head = 0
      end = 0
    }
    return action
  }
}
