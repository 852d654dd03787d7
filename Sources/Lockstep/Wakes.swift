import LockstepClient
import LockstepCrypto
import LockstepJSON
import LockstepModel
import LockstepWire

/// Subscription of this device at a push service: Web Push (RFC 8030, RFC 8291), for example by a
/// UnifiedPush distributor.
public struct WakeSubscription: Hashable, Sendable {
  /// URL at which the service takes pushes. A secret.
  public var endpoint: String
  /// The device's public key on the curve P-256, 65 bytes, uncompressed.
  public var publicKey: [UInt8]
  /// The 16 bytes that device and relay share (`auth`).
  public var secret: [UInt8]
  /// End of the subscription, milliseconds since the Unix epoch; nil if the service names none.
  public var expiresAt: Int64?
  /// The relay's key for which the device subscribed (`Lockstep.wakeKey`); nil: the present one.
  public var wakeKey: String?

  public init(
    endpoint: String, publicKey: [UInt8], secret: [UInt8], expiresAt: Int64? = nil,
    wakeKey: String? = nil
  ) {
    self.endpoint = endpoint
    self.publicKey = publicKey
    self.secret = secret
    self.expiresAt = expiresAt
    self.wakeKey = wakeKey
  }
}

/// State of a registration for wakes.
public struct WakeState: Identifiable, Hashable, Sendable {
  public let id: String
  /// True once the device has proved that pushes reach it; before that it is not woken.
  public let isVerified: Bool
  /// Relay time of the last wake that the push service accepted, milliseconds since the Unix epoch.
  public let lastSent: Int64?
  /// Relay time of the device's last contact after a wake: the proof that wakes work.
  public let lastAnswered: Int64?
  /// Word for the reason of the last failure (docs/protocol.md, "Wakes"); nil if the last push did
  /// not fail.
  public let error: String?
}

extension Lockstep {
  /// The relay's public key, with which the device subscribes at its push service
  /// (`applicationServerKey`): 65 bytes in Base64 for URLs. nil if the relay wakes no devices.
  public func wakeKey() async throws -> String? {
    try await relayCall { call, _ throws(LockstepError) in try call.wakeKey() }
  }

  /// Registers a subscription, so that the relay wakes this device when it sleeps and something
  /// changes. The first push carries a code; `handleWake` sends it back.
  ///
  /// - Parameters:
  ///   - subscription: The device's subscription at its push service.
  ///   - id: Name of the registration, one of at most four of this device.
  /// - Throws: `refused` if the relay does not send to the endpoint, or has too many registrations.
  public func registerWake(_ subscription: WakeSubscription, id: String = "app") async throws {
    let name = try wakeName(id)
    let registration = WakeRegistration(
      id: name, endpoint: subscription.endpoint, p256dh: subscription.publicKey,
      auth: subscription.secret, expiresAt: subscription.expiresAt)
    try await relayCall { call, token throws(LockstepError) in
      _ = try call.putWake(
        WakeRegistrationBody(registration, wakeKey: subscription.wakeKey), token: token)
    }
  }

  /// Handles the decrypted content of a push: syncs, or proves that the push has arrived.
  ///
  /// - Parameters:
  ///   - content: The decrypted bytes of the push.
  ///   - id: The registration that the push is for.
  ///   - duration: The longest time for the sync.
  /// - Throws: `refused` for a code that is not the last one.
  public func handleWake(
    _ content: [UInt8], id: String = "app", within duration: Duration = .seconds(20)
  ) async throws -> SyncOutcome {
    let name = try wakeName(id)
    if let code = JSONValue(ifJSON: content)?["c"]?.string {
      try await relayCall { call, token throws(LockstepError) in
        try call.verifyWake(name, code: code, token: token)
      }
    }
    return try await sync(within: duration)
  }

  /// Returns the relay's new key if a push names one: the relay has replaced the key for which the
  /// device subscribed. The device then subscribes again for this key and registers the new
  /// subscription; after 30 days the relay no longer sends to the former one.
  ///
  /// - Parameter content: The decrypted bytes of the push.
  public static func newWakeKey(in content: [UInt8]) -> String? {
    JSONValue(ifJSON: content)?["k"]?.string
  }

  /// Returns this device's registrations.
  public func wakes() async throws -> [WakeState] {
    try await relayCall { call, token throws(LockstepError) in
      try call.wakes(token: token).map { status in
        WakeState(
          id: status.id.text, isVerified: status.verifiedAt != nil, lastSent: status.sentAt,
          lastAnswered: status.answeredAt, error: status.fault?.rawValue)
      }
    }
  }

  /// Removes a registration of this device. Does nothing if there is none.
  public func removeWake(id: String = "app") async throws {
    let name = try wakeName(id)
    let keys = AppWakeKeys(in: engine.folder)
    try await relayCall { call, token throws(LockstepError) in
      try call.removeWake(name, token: token)
      try keys.remove(name)
    }
  }

  private func wakeName(_ id: String) throws(LockstepError) -> Name {
    guard let name = Name(id) else { throw .invalidID(id) }
    return name
  }
}

/// Calls about wakes.
extension RelayClient {
  package func wakeKey() throws(LockstepError) -> String? {
    let body = try perform(HTTPCallRequest("GET", path: ["v1", "limits"]))
    guard let limits = JSONValue(ifJSON: body) else {
      throw .noRelay(address: relay.url, reason: "its limits are not JSON")
    }
    return limits["wakeKey"]?.string
  }

  /// Returns true if it stays verified; otherwise a push brings the code that verifies it.
  package func putWake(
    _ request: WakeRegistrationBody, token: String
  ) throws(LockstepError) -> Bool {
    switch try offerWake(request, token: token) {
    case .success(let isVerified): return isVerified
    case .failure(let refusal): throw .refused(reason: refusal.detail)
    }
  }

  /// `putWake` for a caller that handles a refusal by its code.
  package func offerWake(
    _ request: WakeRegistrationBody, token: String
  ) throws(LockstepError) -> Result<Bool, Refusal> {
    let (status, refusal) = try statusOrRefusal(
      HTTPCallRequest(
        "PUT", path: ["v1", "wakes", request.registration.id.text], token: token,
        body: request.encodedBody()))
    return refusal.map { .failure($0) } ?? .success(status == 204)
  }

  package func verifyWake(_ id: Name, code: String, token: String) throws(LockstepError) {
    guard let refusal = try proveWake(id, code: code, token: token) else { return }
    throw .refused(reason: refusal.detail)
  }

  /// `verifyWake` for a caller that handles a refusal by its code; nil: the relay has the code.
  package func proveWake(
    _ id: Name, code: String, token: String
  ) throws(LockstepError) -> Refusal? {
    try statusOrRefusal(
      HTTPCallRequest(
        "POST", path: ["v1", "wakes", id.text, "verification"], token: token,
        body: WakeVerification.encodedBody(code: code))
    ).refusal
  }

  private func statusOrRefusal(
    _ request: HTTPCallRequest
  ) throws(LockstepError) -> (status: Int, refusal: Refusal?) {
    let (status, body) = try answer(request)
    do throws(LockstepError) {
      _ = try ownBody(body, status: status)
      return (status, nil)
    } catch {
      guard case .refused = error else { throw error }
      return (status, Refusal.decoded(problem: body, status: status))
    }
  }

  package func wakes(token: String) throws(LockstepError) -> [WakeStatus] {
    let body = try perform(HTTPCallRequest("GET", path: ["v1", "wakes"], token: token))
    return try decoded(body) { body throws(Refusal) in try WakeList.decoded(body: body).wakes }
  }

  package func removeWake(_ id: Name, token: String) throws(LockstepError) {
    let (status, body) = try answer(
      HTTPCallRequest("DELETE", path: ["v1", "wakes", id.text], token: token))
    if Refusal.problem(body, status: status)?.code == .notFound { return }
    _ = try ownBody(body, status: status)
  }
}
