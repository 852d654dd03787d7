import LockstepModel
import LockstepSealing

/// Sync status of a device, for users. It is never "in sync" if the device is not.
package struct AgentStatus: Hashable, Sendable {
  package var state: State
  /// Relay time when the device was last in sync, milliseconds; nil: not since the agent started,
  /// and none is stored in the home.
  package var lastSync: Int64?
  /// Transport in use; nil if there is no connection.
  package var transport: Transport?
  /// Number of local changes that the relay has not acknowledged and that will be sent.
  package var waiting: Int
  /// Changes that the relay refused for good: their number, and the first of them.
  package var parkedCount: Int
  package var parked: [Parked]
  /// Conflicts that a user must decide: their number, and the first of them.
  package var askingCount: Int
  package var asking: [RecordKey]
  /// Records of sealed zones whose version at the relay this device cannot read: their number, and
  /// the first of them, by their names at the relay. Local changes to them wait.
  package var unreadableCount: Int
  package var unreadable: [Unreadable]
  /// True if zones are sealed with keys that this device does not have: it neither shows nor
  /// changes anything of them.
  package var isLocked: Bool
  /// Zones that the account's plan does not include: their changes wait.
  package var blockedZones: [Name]
  /// Zones with local changes that the device's scope does not let it make: they wait until the
  /// device is paired for those zones.
  package var zonesOutOfScope: [Name]
  /// Zones that the user has switched off, by name. Their waiting changes are not counted in
  /// `waiting`.
  package var switchedOff: [SwitchedOff]
  /// Questions that a user must answer before an app is used.
  package var questions: [RestoreQuestion]
  /// Number of changes that an intermediary on the path to the relay refuses for their size: they
  /// wait, and others continue.
  package var setAsideCount: Int
  /// Number of chunks of files that local changes wait for, and that the relay may lack.
  package var chunksWaiting: Int
  /// Refusal because of which the relay accepts no more chunks until a user acts; their records
  /// wait, others continue.
  package var chunksRefused: Refusal?
  /// Relay time minus this machine's wall clock, milliseconds, as measured or, before that, as
  /// stored in the home; nil if neither is known.
  package var clockOffset: Int64?
  package var traffic: Traffic

  package enum State: Hashable, Sendable {
    /// The home is being read.
    case starting
    /// Changes are being sent or received.
    case syncing
    /// The device has everything from the relay, and the relay has everything from the device.
    case inSync
    /// As `inSync`, except for parked, undecided or unreadable records, or a zone that is blocked
    /// or out of scope.
    case needsPerson
    /// No connection since this relay time (milliseconds), because nothing waits and the device is
    /// woken by changes (`AgentOrder.sleep`). It had everything, as `inSync` or `needsPerson`.
    case asleep(since: Int64)
    /// No connection since this relay time (milliseconds), for this reason; the agent retries.
    case offline(since: Int64, reason: String)
    /// Sync is stopped until a user acts; the reason describes the action.
    case failed(reason: String)
    case stopped
  }

  package struct SwitchedOff: Hashable, Sendable {
    package var zone: Name
    /// Number of local changes that wait until the zone is on.
    package var waiting: Int

    package init(zone: Name, waiting: Int) {
      self.zone = zone
      self.waiting = waiting
    }
  }

  package struct Parked: Hashable, Sendable {
    package var key: RecordKey
    package var refusal: Refusal

    package init(key: RecordKey, refusal: Refusal) {
      self.key = key
      self.refusal = refusal
    }
  }

  package struct Unreadable: Hashable, Sendable {
    /// The zone, and the record's name at the relay.
    package var key: RecordKey
    package var fault: SealFault

    package init(key: RecordKey, fault: SealFault) {
      self.key = key
      self.fault = fault
    }
  }

  package init() {
    state = .starting
    waiting = 0
    parkedCount = 0
    parked = []
    askingCount = 0
    asking = []
    unreadableCount = 0
    unreadable = []
    isLocked = false
    blockedZones = []
    zonesOutOfScope = []
    switchedOff = []
    questions = []
    setAsideCount = 0
    chunksWaiting = 0
    traffic = Traffic()
  }
}

/// Question of an app to the user: the account has `count` records of the app; should this device
/// show them (`App.asksToRestore`)?
package struct RestoreQuestion: Hashable, Sendable {
  package var app: String
  package var zone: Name
  package var count: Int

  package init(app: String, zone: Name, count: Int) {
    self.app = app
    self.zone = zone
    self.count = count
  }
}

/// Network use of an agent since it started.
package struct Traffic: Hashable, Sendable {
  package var connections = 0
  /// HTTP requests; a WebSocket handshake is one.
  package var requests = 0
  /// Messages sent on the socket.
  package var messages = 0
  /// Bytes written to and read from the connections, heads and frames included.
  package var bytesSent = 0
  package var bytesReceived = 0
  package var edits = 0
  package var conflicts = 0

  package init() {}
}
