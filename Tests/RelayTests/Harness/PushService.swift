import LockstepCrypto
import LockstepJSON
import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWebPush
import LockstepWire
import Testing

@testable import LockstepRelay

/// A push service with one subscription per path, on the connections that a relay opens. It reads
/// what arrives, and answers when a test says so.
final class PushService {
  /// A request that is not answered yet.
  struct Push {
    var connection: ConnectionID
    var target: String
    var headers: HTTPHeaders
    var body: [UInt8]
  }

  static let key = WakeKey(madeAt: 1, privateKey: [UInt8](repeating: 0, count: 31) + [9])

  private let relay: TestRelay
  private var parsers: [ConnectionID: HTTPRequestParser] = [:]
  private var subscriptions: [String: (key: P256PrivateKey, auth: [UInt8])] = [:]

  init(_ relay: TestRelay) { self.relay = relay }

  /// Configures a relay that wakes devices.
  static func configure(_ configuration: inout RelayConfiguration) {
    configuration.isOpen = true
    configuration.wakes = WakeConfiguration(keys: [key])
  }

  /// Returns the body of a registration of a new subscription. `notification`: the JSON of the
  /// notification that its browser may show; nil: none.
  func subscribe(
    _ path: String, host: String = "push.example", wakeKey: String? = nil,
    notification: String? = nil
  ) throws -> String {
    let number = UInt8(truncatingIfNeeded: subscriptions.count + 3)
    let key = try #require(P256PrivateKey([UInt8](repeating: 0, count: 31) + [number]))
    let auth = [UInt8](repeating: number, count: 16)
    subscriptions[path] = (key, auth)
    let p256dh = Base64.encodeURL(key.publicKey.bytes)
    return """
      {"kind":"webpush","endpoint":"https://\(host)\(path)","p256dh":"\(p256dh)",\
      "auth":"\(Base64.encodeURL(auth))"\(wakeKey.map { ",\"wakeKey\":\"\($0)\"" } ?? "")\
      \(notification.map { #","notification":\#($0)"# } ?? "")}
      """
  }

  /// Returns the pushes that have arrived since the last call.
  func pushes() throws -> [Push] {
    relay.runUntilIdle()
    var pushes: [Push] = []
    for (id, _) in relay.opened {
      let wire = relay.wire(id)
      var parser = parsers[id] ?? HTTPRequestParser()
      parser.receive(wire.incoming.span.bytes)
      wire.incoming = []
      var push: Push?
      while let event = try parser.next() {
        switch event {
        case .head(let head):
          push = Push(connection: id, target: head.target.text, headers: head.headers, body: [])
        case .body(let bytes): push?.body += bytes
        case .end: if let whole = push { pushes.append(whole) }
        }
      }
      parsers[id] = parser
    }
    return pushes
  }

  /// Answers a push.
  func answer(_ push: Push, _ status: Int = 201, retryAfter: Int? = nil) {
    var fields = HTTPHeaders()
    if let retryAfter { fields.append("Retry-After", String(retryAfter)) }
    relay.send(push.connection, HTTPWriter.response(status: status, headers: fields))
    relay.runUntilIdle()
  }

  /// Returns what the device reads in a push.
  func content(_ push: Push) throws -> JSONValue {
    let subscription = try #require(subscriptions[push.target])
    let bytes = try #require(
      PushMessage.decrypt(push.body, key: subscription.key, auth: subscription.auth))
    return try JSONValue(parsing: bytes)
  }

  /// Returns the only push that has arrived, and answers it.
  func onlyPush(_ status: Int = 201) throws -> JSONValue {
    let pushes = try pushes()
    try #require(pushes.count == 1, "\(pushes.count) pushes came")
    answer(pushes[0], status)
    return try content(pushes[0])
  }

  /// Registers the device, and verifies the registration. The device is asleep afterwards.
  func register(
    _ device: TestDevice, _ path: String = "/p/1", id: String = "browser", node: Int = 0,
    notification: String? = nil
  ) throws {
    let client = HTTPClient(relay, node: node)
    let put = try client.call(
      "PUT", "/v1/wakes/\(id)", token: device.token,
      try subscribe(path, notification: notification))
    try #require(put.status == 201, "\(put.json?.text ?? "")")
    let code = try #require(try onlyPush()["c"]?.string)
    let verified = try client.call(
      "POST", "/v1/wakes/\(id)/verification", token: device.token, #"{"code":"\#(code)"}"#)
    try #require(verified.status == 204)
    relay.cut(client.id)
    relay.advance(10_000)
  }
}
