public import LockstepModel

/// Something that takes part in Lockstep: the relay, an agent, a bench. A plain value that is told
/// what happened and when, and answers with what should be done. It opens no socket, reads no
/// clock, starts no thread; a driver does that: `EventLoop/NodeRunner` for real, `Tests/Simulator/World`
/// in virtual time.
///
/// A driver calls `received` or `handle`, then takes actions until there are none left, then asks
/// for the next deadline. It never calls back into a node from within an action.
public protocol Node: ~Copyable {
  /// Blocking work that the node wants done elsewhere, and what came of it.
  associatedtype Job: Sendable
  associatedtype Outcome: Sendable
  /// What the person or program at this end asks, and what it is told.
  associatedtype Order: Sendable
  associatedtype Report: Sendable
  /// What another node's work means for this one.
  associatedtype News: Sendable

  /// Bytes came in. A call of its own, so that they are not copied: `bytes` is good until it
  /// returns.
  mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment)

  mutating func handle(_ event: NodeEvent<Outcome, Order, News>, at moment: Moment)

  /// What to do next, in order; nil when there is nothing more for now.
  mutating func nextAction() -> NodeAction<Job, Report, News>?

  /// When the node wants `deadlineReached`, if nothing happens before. The node keeps all its
  /// timers itself and owns their order.
  var nextDeadline: Instant? { get }
}

/// Names a job until its outcome is back. Chosen by the node; a driver only carries it.
public struct JobID: Hashable, Sendable {
  public let rawValue: UInt64
  @inlinable public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// Jobs of one lane are done in order; lanes never wait for one another.
public enum Lane: UInt8, Sendable, CaseIterable {
  /// What must be durable before it is answered.
  case commits
  case reads
  /// Large files: neither commits nor reads wait for them.
  case files
}

/// What a driver tells a node.
public enum NodeEvent<Outcome: Sendable, Order: Sendable, News: Sendable>: Sendable {
  /// A connection stands: one that came in, or one that the node asked for.
  case opened(ConnectionID, Opening)
  /// The peer took bytes; `unsent` of them still wait. Told when a connection that had bytes
  /// waiting has taken some, and at the latest when all are gone.
  case drained(ConnectionID, unsent: Int)
  /// Memory that what waits for a connection takes: told right before each `drained`, as frames
  /// take more than their bytes, and one that has left in part is held whole. Once more, with 0,
  /// when nothing is held any more for a connection that the node closed with `.afterSending`, or
  /// whose peer ended its stream.
  case holding(ConnectionID, bytes: Int)
  /// The connection is gone, by whoever's doing. Nothing more is heard of it but `holding`. Not
  /// told for a connection that the node closed itself, once it has asked for that.
  ///
  /// A peer that ended its stream may still read: what the node sends to it while it handles this
  /// leaves, and nothing after that.
  case closed(ConnectionID, CloseCause)
  /// A connection that came in was closed before the node was to hear of it.
  case turnedAway(TurnedAway)
  case finished(JobID, Outcome)
  case ordered(Order)
  case news(News)
  case deadlineReached
  /// The process is asked to end: finish what is begun, refuse what is new, then report it.
  case stopping
}

/// What a node asks of a driver.
public enum NodeAction<Job: Sendable, Report: Sendable, News: Sendable>: Sendable {
  /// Connect to `address`, under the name that the node chose (`ConnectionID.outgoing`).
  /// `opened` or `closed` follows.
  case open(ConnectionID, PeerAddress)
  /// Bytes for one connection, after those asked for before. Kept, without copying, until they
  /// are gone.
  case send(ConnectionID, [UInt8])
  /// The same bytes for many connections. A connection that is gone is passed over.
  case multicast([UInt8], [ConnectionID])
  /// Send what waits, then close. With `.now` what waits is thrown away.
  case close(ConnectionID, CloseManner)
  /// Take no more bytes from this connection until told otherwise: back-pressure.
  case pauseReading(ConnectionID)
  case resumeReading(ConnectionID)
  case run(JobID, Lane, Job)
  case report(Report)
  /// For all other nodes of this process.
  case tell(News)
}

public enum CloseManner: Sendable, Hashable {
  case afterSending
  case now
}

/// Why a connection is gone, for the node that had it.
public enum CloseCause: Sendable, Hashable {
  /// The peer ended the stream in order.
  case endOfStream
  /// The connection could not be made; the system's own words.
  case connectFailed(String)
  /// The far end stands, and is not believed, or speaks no TLS. Nothing was sent to it.
  case notTrusted(SecurityFault)
  /// Reset, timed out or broken on the way; the system's own words.
  case failed(String)
}

/// Why the far end of a secure connection is not the one that was asked for, as far as anybody can
/// tell (RFC 5280 section 6, RFC 6125).
public enum SecurityFault: Sendable, Hashable {
  /// No authority that is trusted here has signed its certificate.
  case unknownAuthority
  /// Its certificate is for another name or address.
  case otherName
  case expired
  case notYetValid
  /// What answers speaks no TLS.
  case notSecure
  /// The library's own words.
  case other(String)
}

/// Why a connection that came in is closed before a node hears of it.
public enum TurnedAway: Sendable, Hashable, CaseIterable {
  /// There are as many connections as there may be.
  case connections
  /// There are as many from its address.
  case connectionsPerAddress
  /// It did not speak TLS as it must.
  case handshakeFailed
  case handshakeTimedOut
  /// As many handshakes as there may be were under way, and this one had been for longest.
  case handshakesAtOnce
}

/// How a connection came to be.
public struct Opening: Sendable, Hashable {
  public var door: Door
  /// Who is at the other end, as far as is known: for limits and logs.
  public let peer: PeerAddress
  /// The peer's, read once for all who compare it; nil where it has none.
  public let address: IPAddress?
  /// Nobody on the way can read or change what goes over it.
  public var isSecure: Bool
  /// What was agreed upon with a secure far end that the node asked for.
  public var terms: SecureTerms?

  public init(
    door: Door, peer: PeerAddress, isSecure: Bool = false, terms: SecureTerms? = nil
  ) {
    self.door = door
    self.peer = peer
    address = IPAddress(of: peer)
    self.isSecure = isSecure
    self.terms = terms
  }

  /// Which listener a connection came in by.
  public enum Door: UInt8, Sendable, Hashable {
    /// The node asked for it.
    case outgoing
    case front
    /// Metrics and health, over TCP.
    case admin
    /// A Unix socket that only the owner of the process can reach.
    case control
  }
}

/// How a secure connection came out. Indirect, because a relay holds the opening of each of its
/// connections, and these have no terms.
public indirect enum SecureTerms: Sendable, Hashable {
  /// `version`: of TLS, as `TLSv1.3`. `certificateEnd`: until when the far end's certificate is
  /// good, in milliseconds since the Unix epoch; nil where the library does not tell.
  case agreed(version: String, certificateEnd: Int64?)
}

/// The far end of a connection.
public enum PeerAddress: Sendable, Hashable {
  /// A host name or literal address, and a port.
  case host(String, port: UInt16)
  /// The same, by TLS: the far end must prove that it is that host.
  case secure(String, port: UInt16)
  /// The path of a Unix socket.
  case local(path: String)
}
