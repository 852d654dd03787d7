import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire

/// Requests of the relay's operator to a node.
@usableFromInline
package enum RelayOrder: Sendable, Hashable {
  /// Answered with `RelayReport.status`.
  case reportStatus
  /// Answered with `RelayReport.state`.
  case reportState
  /// Sets the names by which clients may reach the relay.
  case allowHosts(AllowedHosts)
}

/// A change of an account or of its devices, for the log.
@usableFromInline
package enum AccountEvent: Sendable, Hashable {
  case created
  case planChanged
  case removed
  case deviceJoined(DeviceID)
  case deviceRevoked(DeviceID)
}

/// Reports of a node to the relay's operator, for the log. They never contain a secret.
@usableFromInline
package enum RelayReport: Sendable, Hashable {
  /// `label`: the owner's name for the account; empty if it has none, or if it is not known.
  case accountEvent(AccountID, AccountEvent, label: String)
  /// The relay's owner signed in to the owner's page.
  case ownerSignedIn(PeerNetwork)
  /// The store failed; nothing was done. Reported once, until it works again.
  case storeFailed(StorageError)
  case storeRecovered
  /// The store's disk has too little room, and no new data is taken; or it has enough again.
  case disk(isLow: Bool, free: Int64)
  /// Relays on the store run, and nothing of them arrives over the bus; or no longer.
  case unheardRelays(areThere: Bool)
  /// Requests from there have forwarding fields, but the relay is not configured to trust them.
  /// Reported once.
  case undeclaredProxy(PeerNetwork)
  /// A request was refused because its host is not a name of the relay. Reported once.
  case unknownHost(Refusal)
  /// A push service refuses pushes for another reason than their subscription: 400, 413.
  case pushRejected(service: String, status: Int)
  /// A push service refuses the relay's key for subscriptions of several accounts: 401, 403.
  case pushKeyRefused(service: String, status: Int)
  /// A request was answered; reported only if the configuration asks for it.
  case answered(AccessLogEntry)
  /// The state of this node.
  case state(NodeState)
  /// The counters of this node alone.
  case status(RelayStatus)
  /// After `NodeEvent.stopping`: all requests under way are answered. Sent bytes may still wait in
  /// the driver.
  case stopped
}

/// One HTTP request, for a detailed log. It has the path but not the query, in which a client may
/// have put private data.
@usableFromInline
package struct AccessLogEntry: Sendable, Hashable {
  @usableFromInline package var method: String
  @usableFromInline package var path: String
  /// Status of the answer; 0 if the client left before there was one.
  @usableFromInline package var status: Int
  /// Time from the request's head to the end of its answer.
  @usableFromInline package var milliseconds: Int64
  /// Bytes of the answer's body; 0 if it is sent in parts.
  @usableFromInline package var bytes: Int
  @usableFromInline package var peer: PeerAddress
  /// Network that counts as the client, by a trusted proxy: an IPv4 address or a network of IPv6.
  @usableFromInline package var client: PeerNetwork
}

/// Tracks the accounts that recently had news. An answer of the store that such news may have
/// overtaken is not used as the newest, and the store is queried again. Its size is fixed: accounts
/// share entries, so the store is sometimes queried again because of another account.
struct AccountLog: Sendable {
  private static let entryCount = 1_024

  /// Number of news so far.
  private(set) var count = 0
  /// Value of `count` at the last news of an account of that entry.
  private var latest = Array(repeating: 0, count: AccountLog.entryCount)

  mutating func recordChange(_ account: AccountID) {
    count += 1
    latest[AccountLog.entry(of: account)] = count
  }

  /// True if the account may have had news since `count` was `before`.
  func hasChanged(_ account: AccountID, since before: Int) -> Bool {
    latest[AccountLog.entry(of: account)] > before
  }

  /// Ids are random, so a part of one spreads as evenly as all of it.
  private static func entry(of account: AccountID) -> Int {
    Int(account.rawValue % UInt64(entryCount))
  }
}

/// Number of ended WebSockets per close code (RFC 6455 section 7.4). The codes are the relay's own,
/// so that clients cannot add rows.
@usableFromInline
package struct CloseCounts: Sendable, Hashable {
  struct Row: Sendable, Hashable {
    var code: UInt16
    var count: Int
  }

  /// The device closed the socket, with any code.
  static let byDevice: UInt16 = 1000
  /// The connection ended without a close frame.
  static let abnormal: UInt16 = 1006

  /// In ascending order of the codes.
  private(set) var rows: [Row] = []

  mutating func add(_ code: UInt16, _ count: Int = 1) {
    let index = rows.firstIndex { $0.code >= code } ?? rows.endIndex
    if index < rows.endIndex, rows[index].code == code {
      rows[index].count += count
    } else {
      rows.insert(Row(code: code, count: count), at: index)
    }
  }

  mutating func add(_ other: CloseCounts) {
    for row in other.rows { add(row.code, row.count) }
  }
}
