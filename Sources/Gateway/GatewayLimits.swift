import LockstepModel

/// Limits of the gateway, each with its unit and reason.
package enum GatewayLimits {
  // Requests of devices and relays.
  /// Bytes of a notification that APNs takes.
  package static let payloadBytes = 4_096
  /// Bytes of the JSON around an encrypted push in a notification.
  static let payloadFrameBytes = #"{"aps":{"content-available":1},"ls":1,"m":""}"#.utf8.count
  /// Bytes of an encrypted push: in Base64, and with the rest of the notification, they are as many
  /// as APNs takes. A relay's own pushes have a tenth of them.
  package static let pushBytes = (payloadBytes - payloadFrameBytes) / 4 * 3
  /// Bytes of the body of a request for an endpoint.
  static let requestBytes = 4_096
  /// Bytes of a device token: Apple does not promise the 32 of today.
  static let deviceTokenBytes = 1...100
  /// Characters of an app's bundle id.
  package static let topicCharacters = 1...155
  /// Apps of one gateway.
  package static let topics = 64
  /// Time that APNs keeps an undelivered push, in seconds: the longest that relays ask for.
  static let pushSeconds: Int64 = 28 * 86_400
  /// Time for a whole request, and for the next one on an open connection.
  static let requestMilliseconds: Int64 = 10_000
  static let idleMilliseconds: Int64 = 60_000
  /// Time between two searches for connections whose time is over.
  static let sweepMilliseconds: Int64 = 1_000
  /// Connections of devices and relays, and of these the connections of one network.
  package static let connections = 4_096
  package static let connectionsPerNetwork = 64
  /// Connections for metrics and health.
  package static let ownerConnections = 64
  /// Endpoints for one network in `rateMilliseconds`, and at once: a device asks once at each start
  /// of its app, and many share an address.
  static let endpointsPerNetwork = 60
  /// Tokens of one relay's key that were refused after a check of their signature, from one network
  /// in `rateMilliseconds`, and at once: a leaked URL must not cost a check each time.
  static let failedSignatures = 300
  /// Accepted tokens that are remembered; a relay uses one for hours.
  static let acceptedTokens = 65_536
  /// Pushes to one device in `rateMilliseconds`, and at once: a relay sends one a half hour, and
  /// Apple delivers a few an hour.
  static let pushesPerDevice = 30
  static let rateMilliseconds: Int64 = 600_000
  /// Pushes in `rateMilliseconds`, and at once, to tokens that APNs says it never gave: of one
  /// network, and of all; from then on, only devices are pushed to of which APNs has accepted a
  /// push. A few come from apps that are built for the other environment.
  static let badTokensPerNetwork = 30
  static let badTokens = 3_000
  /// Devices that are remembered as gone, and the time for which APNs is not asked again.
  static let goneDevices = 65_536
  static let goneMilliseconds: Int64 = 3_600_000
  /// New devices of which it is remembered who asked for the endpoint, and the time.
  static let newDevices = 65_536
  static let newMilliseconds: Int64 = 86_400_000
  /// Devices of which it is remembered that APNs has accepted a push, and the time.
  static let knownDevices = 262_144
  static let knownMilliseconds: Int64 = 28 * 86_400_000
  /// Networks, keys of relays, and devices whose rate is remembered.
  static let rateKeys = 65_536

  // Connections to APNs.
  /// Pushes to one environment that wait for a stream.
  static let waitingPushes = 1_024
  /// Streams that are used at a time; Apple allows about 1,000.
  static let streams = 500
  /// Time from a push's acceptance to its answer. It is shorter than the 10 s that a relay waits,
  /// so that the relay learns the reason.
  static let pushMilliseconds: Int64 = 8_000
  /// Attempts for one push: after a lost connection, after a refused token, and the first one.
  static let attempts = 3
  /// Time until a connection's first SETTINGS frame.
  static let connectMilliseconds: Int64 = 6_000
  /// Pauses between two attempts to connect: the first, and the longest.
  static let connectPauses: ClosedRange<Int64> = 500...60_000
  /// Pauses after `TooManyProviderTokenUpdates`: the first, and the longest, after which Apple
  /// accepts a new token in any case.
  static let tokenPauses: ClosedRange<Int64> = 60_000...20 * 60_000
  /// Time without a byte from APNs after which a PING asks for one, and the time for its answer.
  static let silenceMilliseconds: Int64 = 300_000
  static let pingMilliseconds: Int64 = 10_000
  /// Connections to one environment: the current one, and those that end their last streams.
  static let connectionsPerEnvironment = 3
  /// Unsent bytes of a connection to APNs; one that has more does not read, and is closed.
  static let unsentBytes = 1 << 20
  /// Bytes that are read of an answer's body, which is a short JSON.
  static let answerBytes = 4_096
  /// Bytes of a field of an answer that are kept.
  static let answerFieldBytes = 256
  /// Age at which a provider token is replaced, and least time between two replacements that APNs
  /// has asked for: Apple wants a new one every 20 to 60 minutes.
  static let tokenMilliseconds: Int64 = 40 * 60_000
  static let tokenRestMilliseconds: Int64 = 20 * 60_000
  /// Pause that a relay is told if APNs names none, and the limits of those that it names.
  static let pauseMilliseconds: Int64 = 60_000
  static let pauses: ClosedRange<Int64> = 1_000...24 * 3_600_000
  /// Time between two log lines about the same refusal of APNs.
  static let reportMilliseconds: Int64 = 60_000
  /// Refusals of APNs whose last log line is remembered.
  static let reportedReasons = 64
}
