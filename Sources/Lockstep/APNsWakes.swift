import LockstepClient
import LockstepCrypto
import LockstepJSON
import LockstepModel
import LockstepWebPush
import LockstepWire
import Synchronization

/// This app at Apple's push service (APNs), and the gateway of the app's maker, which passes the
/// pushes of any relay on to it (docs/gateway.md).
public struct APNsWake: Hashable, Sendable {
  /// Environment of APNs.
  public enum Environment: String, Hashable, Sendable {
    /// For builds from the App Store and from TestFlight.
    case production
    /// For builds that Xcode installs (`aps-environment` is `development`).
    case development
  }

  /// URL of the gateway, such as `https://push.example`.
  public var gateway: String
  /// Token that the system gives the app (`didRegisterForRemoteNotificationsWithDeviceToken`).
  public var deviceToken: [UInt8]
  /// The app's bundle id.
  public var topic: String
  public var environment: Environment

  /// - Parameters:
  ///   - gateway: URL of the gateway, such as `https://push.example`.
  ///   - deviceToken: Token that the system gives the app.
  ///   - topic: The app's bundle id.
  ///   - environment: The build's environment of APNs.
  public init(
    gateway: String, deviceToken: [UInt8], topic: String, environment: Environment = .production
  ) {
    self.gateway = gateway
    self.deviceToken = deviceToken
    self.topic = topic
    self.environment = environment
  }

  /// Names this app at APNs, for `registerWake`.
  ///
  /// - Parameters:
  ///   - gateway: URL of the gateway, such as `https://push.example`.
  ///   - token: Token that the system gives the app, as it is.
  ///   - topic: The app's bundle id.
  ///   - environment: The build's environment of APNs.
  public static func apns(
    gateway: String, token: some Sequence<UInt8>, topic: String,
    environment: Environment = .production
  ) -> APNsWake {
    APNsWake(
      gateway: gateway, deviceToken: Array(token), topic: topic, environment: environment)
  }
}

extension Lockstep {
  /// Registers this app at Apple's push service, so that the relay wakes it when something changes:
  /// asks the gateway for an endpoint, and registers that. Call it at each start, once the system
  /// has given the token; a registration that has not changed stays verified.
  ///
  /// The pushes are encrypted for keys that are made at the first call and stay in the home.
  /// `handleWake(apns:)` handles them.
  ///
  /// - Parameters:
  ///   - app: This app at APNs, and the gateway.
  ///   - id: Name of the registration, one of at most four of this device.
  /// - Throws: `refused` if the gateway does not know the app, if the relay wakes no devices, if it
  ///   does not send to the gateway, or if the device has too many registrations; `unreachable` if
  ///   one of them cannot be reached. The keys of other registrations stay as they are.
  public func registerWake(_ app: APNsWake, id: String = "app") async throws {
    guard let name = Name(id) else { throw LockstepError.invalidID(id) }
    let gateway = try GatewayClient(app.gateway)
    let keys = AppWakeKeys(in: engine.folder)
    try await relayCall { call, token throws(LockstepError) in
      guard let relayKey = try call.wakeKey() else {
        throw .refused(
          reason: "the relay at \(call.relay.url) wakes no devices; ask its owner to allow wakes")
      }
      let endpoint = try gateway.endpoint(of: app, relayKey: relayKey)
      // Stored before the relay knows them: its first push may come at once.
      let (pushKeys, isNew) = try keys.keys(for: name) { () throws(LockstepError) in
        try call.wakes(token: token).map(\.id)
      }
      let answer = try call.offerWake(
        WakeRegistrationBody(
          WakeRegistration(
            id: name, endpoint: endpoint, p256dh: pushKeys.key.publicKey.bytes,
            auth: pushKeys.auth),
          wakeKey: relayKey),
        token: token)
      guard case .failure(let refusal) = answer else { return }
      // A proxy that asks for a retry may have passed the registration on.
      if isNew, refusal.code.advice != .retry { try keys.remove(name) }
      throw .refused(reason: refusal.detail)
    }
  }

  /// Handles a push of APNs: decrypts it, then syncs, or proves that the push has arrived.
  ///
  /// - Parameters:
  ///   - message: The text `m` in the push (`userInfo["m"]`). A push without `ls` is not
  ///     Lockstep's.
  ///   - duration: The longest time for the sync. The system gives an app about 30 seconds.
  /// - Throws: `refused` if the push is not for this home, or if its code is not the last one.
  public func handleWake(
    apns message: String, within duration: Duration = .seconds(20)
  ) async throws -> SyncOutcome {
    let keys = AppWakeKeys(in: engine.folder)
    let push = try await Self.onThread(isCancellable: true) { try keys.opened(message) }
    return try await handleWake(push.content, id: push.id.text, within: duration)
  }
}

/// Keys with which pushes are encrypted for this device (RFC 8291), by registration, in a file that
/// only the home's owner can read:
///
///     {"wakes":[{"id":"app","key":"<base64url>","auth":"<base64url>"}]}
struct AppWakeKeys: Sendable {
  /// A decrypted push, and the registration that it is for.
  struct Push: Sendable {
    let id: Name
    let content: [UInt8]
  }

  private struct Entry {
    var id: Name
    var keys: PushKeys
  }

  /// Bytes of the file: a device has few registrations.
  private static let fileBytes = 64 << 10

  private let path: String

  init(in folder: HomeFolder) { path = folder.appWakeKeys }

  /// Returns the keys of a registration, which are made and stored if there are none.
  ///
  /// - Parameter registered: Returns the ids that the relay has for this device. It is called if
  ///   there are keys of as many registrations as a device can have: only those of other ids are
  ///   dropped for new ones, for example after a registration without an answer. So the file has
  ///   one pair more than that at most.
  func keys(
    for id: Name, registered: () throws(LockstepError) -> [Name]
  ) throws(LockstepError) -> (keys: PushKeys, isNew: Bool) {
    let stored = try read()
    let isFull = stored.count >= Limits.wakesPerDevice && !stored.contains { $0.id == id }
    let kept = isFull ? try registered() : nil
    return try locked { () throws(LockstepError) in
      var entries = try read()
      if let known = entries.first(where: { $0.id == id }) { return (known.keys, false) }
      let secrets = SecretSource { count in
        var random = SystemRandomNumberGenerator()
        return (0..<count).map { _ in random.next() }
      }
      let keys = PushKeys(from: secrets)
      if let kept { entries.removeAll { !kept.contains($0.id) } }
      try write(entries + [Entry(id: id, keys: keys)])
      return (keys, true)
    }
  }

  func remove(_ id: Name) throws(LockstepError) {
    try locked { () throws(LockstepError) in
      let entries = try read()
      guard entries.contains(where: { $0.id == id }) else { return }
      try write(entries.filter { $0.id != id })
    }
  }

  /// Decrypts the text `m` of a push.
  func opened(_ message: String) throws(LockstepError) -> Push {
    guard let body = Base64.decodeURL(message) else {
      throw .refused(reason: "the push has no message; pass on the text \"m\" as it is")
    }
    for entry in try read() {
      if let content = entry.keys.decrypt(body) {
        return Push(id: entry.id, content: content)
      }
    }
    throw .refused(reason: "the push is not for this home; call registerWake again")
  }

  /// Serialises changes of the file: two calls must not make two pairs.
  private static let lock = Mutex(())

  private func locked<Value: Sendable>(
    _ body: () throws(LockstepError) -> Value
  ) throws(LockstepError) -> Value {
    let result: Result<Value, LockstepError> = AppWakeKeys.lock.withLock { _ in
      do throws(LockstepError) {
        return .success(try body())
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  private func read() throws(LockstepError) -> [Entry] {
    let bytes: [UInt8]?
    do throws(HomeFault) {
      bytes = try HomeFile.contents(of: path, atMost: AppWakeKeys.fileBytes)
    } catch {
      throw .home(path: path, reason: error.reason)
    }
    guard let bytes else { return [] }
    guard let list = JSONValue(ifJSON: bytes)?["wakes"]?.array else {
      throw .home(path: path, reason: "it is damaged; remove it and call registerWake again")
    }
    return list.compactMap { value in
      guard let id = value["id"]?.string.flatMap({ Name($0) }),
        let keys = PushKeys(stored: value)
      else { return nil }
      return Entry(id: id, keys: keys)
    }
  }

  private func write(_ entries: [Entry]) throws(LockstepError) {
    let list = entries.map { entry in
      JSONValue.object([JSONMember("id", .string(entry.id.text))] + entry.keys.storedMembers)
    }
    do throws(HomeFault) {
      try HomeFile.replace(
        path, by: JSONValue.object([JSONMember("wakes", .array(list))]).serialized())
    } catch {
      throw .home(path: path, reason: error.reason)
    }
  }
}

/// Calls of a gateway.
struct GatewayClient: Sendable {
  private let client: RelayClient

  /// `url`: with `https://`; `http://` only on this machine, for tests.
  init(_ url: String) throws(LockstepError) {
    let ownHosts = ["localhost", "127.0.0.1", "::1"]
    guard let address = RelayAddress(url: url),
      address.isSecure || ownHosts.contains(address.host)
    else {
      throw .refused(
        reason: "\(url) is not the address of a gateway; give one of the form https://push.example")
    }
    client = RelayClient(relay: address, trust: .system)
  }

  /// Returns the endpoint for the app's pushes, which the relay with that key may use.
  func endpoint(of app: APNsWake, relayKey: String) throws(LockstepError) -> String {
    var writer = JSONWriter(capacity: 512)
    writer.beginObject()
    writer.member("token")
    writer.string(HexText.text(of: app.deviceToken))
    writer.member("topic")
    writer.string(app.topic)
    writer.member("environment")
    writer.string(app.environment.rawValue)
    writer.member("key")
    writer.string(relayKey)
    writer.endObject()
    let (status, body) = try client.answer(
      HTTPCallRequest("POST", path: ["v1", "endpoints"], body: writer.finish()))
    let value = JSONValue(ifJSON: body)
    if status == 200, let endpoint = value?["endpoint"]?.string { return endpoint }
    let detail = value?["detail"]?.string ?? "it answers with status \(status)"
    throw .refused(reason: "the gateway at \(client.relay.url) gives no endpoint: \(detail)")
  }
}
