import LockstepModel

/// Where a device stands, for a person to see. Never says "in sync" when it is not.
public struct SyncStatus: Hashable, Sendable {
  public var state: State
  /// Relay time when the device was last in sync, milliseconds; nil: not since the agent started
  /// and not in the home's memory either.
  public var lastSync: Int64?
  /// The transport in use; nil while there is no connection.
  public var transport: Transport?
  /// Local changes that the relay has not acknowledged and that will be sent.
  public var waiting: Int
  /// Changes that the relay refused for good: how many, and the first of them.
  public var parkedCount: Int
  public var parked: [Parked]
  /// Conflicts that a person must decide: how many, and the first of them.
  public var askingCount: Int
  public var asking: [RecordKey]
  /// Zones that the account's plan does not include: their changes wait.
  public var blockedZones: [Name]
  /// Zones that the person has switched off, by name. What waits there is not counted in `waiting`.
  public var switchedOff: [SwitchedOff]
  /// What a person must say before an app is used.
  public var questions: [RestoreQuestion]
  /// Changes that something on the way to the relay refuses for their size: they wait, and others
  /// go on.
  public var setAsideCount: Int
  /// Chunks of files that local changes wait for, and that the relay may lack.
  public var chunksWaiting: Int
  /// Why the relay takes no more chunks until a person acts; their records wait, others go on.
  public var chunksRefused: Refusal?
  /// Relay time less this machine's wall clock, milliseconds, as measured or, before that, as the
  /// home remembers it; nil while neither is known.
  public var clockOffset: Int64?
  public var traffic: Traffic

  public enum State: Hashable, Sendable {
    /// The home is being read.
    case starting
    /// Something is on its way, up or down.
    case syncing
    /// All that the relay has is here, and all that was made here is there.
    case inSync
    /// As `inSync`, but for parked or undecided records, or a blocked zone.
    case needsPerson
    /// No connection since this relay time (milliseconds), for this reason; the agent tries again.
    case offline(since: Int64, reason: String)
    /// Nothing works until a person acts; the sentence says how.
    case failed(reason: String)
    case stopped
  }

  public struct SwitchedOff: Hashable, Sendable {
    public var zone: Name
    /// Local changes that wait until it is on.
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

/// The account has so many records of an app that asks whether they shall be here
/// (`App.asksToRestore`).
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

/// What an agent has asked of the network since it started.
public struct Traffic: Hashable, Sendable {
  public var connections = 0
  /// HTTP requests; a WebSocket handshake is one.
  public var requests = 0
  /// Messages sent on the socket.
  public var messages = 0
  /// Bytes as given to and taken from the connections, heads and frames included.
  public var bytesSent = 0
  public var bytesReceived = 0
  public var edits = 0
  public var conflicts = 0

  public init() {}
}
