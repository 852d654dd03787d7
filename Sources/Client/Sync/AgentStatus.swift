import LockstepModel

/// Sync status of a device, for users. It is never "in sync" if the device is not.
public struct AgentStatus: Hashable, Sendable {
  public var state: State
  /// Relay time when the device was last in sync, milliseconds; nil: not since the agent started,
  /// and none is stored in the home.
  public var lastSync: Int64?
  /// Transport in use; nil if there is no connection.
  public var transport: Transport?
  /// Number of local changes that the relay has not acknowledged and that will be sent.
  public var waiting: Int
  /// Changes that the relay refused for good: their number, and the first of them.
  public var parkedCount: Int
  public var parked: [Parked]
  /// Conflicts that a user must decide: their number, and the first of them.
  public var askingCount: Int
  public var asking: [RecordKey]
  /// Zones that the account's plan does not include: their changes wait.
  public var blockedZones: [Name]
  /// Zones that the user has switched off, by name. Their waiting changes are not counted in
  /// `waiting`.
  public var switchedOff: [SwitchedOff]
  /// Questions that a user must answer before an app is used.
  public var questions: [RestoreQuestion]
  /// Number of changes that an intermediary on the path to the relay refuses for their size: they
  /// wait, and others continue.
  public var setAsideCount: Int
  /// Number of chunks of files that local changes wait for, and that the relay may lack.
  public var chunksWaiting: Int
  /// Refusal because of which the relay accepts no more chunks until a user acts; their records
  /// wait, others continue.
  public var chunksRefused: Refusal?
  /// Relay time minus this machine's wall clock, milliseconds, as measured or, before that, as
  /// stored in the home; nil if neither is known.
  public var clockOffset: Int64?
  public var traffic: Traffic

  public enum State: Hashable, Sendable {
    /// The home is being read.
    case starting
    /// Changes are being sent or received.
    case syncing
    /// The device has everything from the relay, and the relay has everything from the device.
    case inSync
    /// As `inSync`, except for parked or undecided records, or a blocked zone.
    case needsPerson
    /// No connection since this relay time (milliseconds), for this reason; the agent retries.
    case offline(since: Int64, reason: String)
    /// Sync is stopped until a user acts; the reason describes the action.
    case failed(reason: String)
    case stopped
  }

  public struct SwitchedOff: Hashable, Sendable {
    public var zone: Name
    /// Number of local changes that wait until the zone is on.
    public var waiting: Int

    public init(zone: Name, waiting: Int) {
      self.zone = zone
      self.waiting = waiting
    }
  }

  public struct Parked: Hashable, Sendable {
    public var key: RecordKey
    public var refusal: Refusal

    public init(key: RecordKey, refusal: Refusal) {
      self.key = key
      self.refusal = refusal
    }
  }

  public init() {
    state = .starting
    waiting = 0
    parkedCount = 0
    parked = []
    askingCount = 0
    asking = []
    blockedZones = []
    switchedOff = []
    questions = []
    setAsideCount = 0
    chunksWaiting = 0
    traffic = Traffic()
  }
}

/// Question of an app to the user: the account has `count` records of the app; should this device
/// show them (`App.asksToRestore`)?
public struct RestoreQuestion: Hashable, Sendable {
  public var app: String
  public var zone: Name
  public var count: Int

  public init(app: String, zone: Name, count: Int) {
    self.app = app
    self.zone = zone
    self.count = count
  }
}

/// Network use of an agent since it started.
public struct Traffic: Hashable, Sendable {
  public var connections = 0
  /// HTTP requests; a WebSocket handshake is one.
  public var requests = 0
  /// Messages sent on the socket.
  public var messages = 0
  /// Bytes written to and read from the connections, heads and frames included.
  public var bytesSent = 0
  public var bytesReceived = 0
  public var edits = 0
  public var conflicts = 0

  public init() {}
}
