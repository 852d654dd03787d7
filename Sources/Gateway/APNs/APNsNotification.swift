import LockstepCrypto
import LockstepJSON
import LockstepModel

/// Environment of APNs: apps from the App Store and TestFlight use production, those that Xcode
/// installs use development.
package enum APNsEnvironment: UInt8, Sendable, CaseIterable {
  case production = 1
  case development = 2

  package init?(name: String) {
    guard let found = APNsEnvironment.allCases.first(where: { $0.name == name }) else { return nil }
    self = found
  }

  package var name: String {
    switch self {
    case .production: "production"
    case .development: "development"
    }
  }

  /// Apple's server.
  var host: APNsHost {
    switch self {
    case .production: APNsHost(host: "api.push.apple.com", port: 443)
    case .development: APNsHost(host: "api.sandbox.push.apple.com", port: 443)
    }
  }
}

package struct APNsHost: Hashable, Sendable {
  package var host: String
  package var port: UInt16

  package init(host: String, port: UInt16) {
    self.host = host
    self.port = port
  }

  var authority: String {
    let host = host.contains(":") ? "[\(host)]" : host
    return port == 443 ? host : "\(host):\(port)"
  }
}

/// App on one device, as APNs knows it.
package struct APNsTarget: Hashable, Sendable {
  package let deviceToken: [UInt8]
  /// The app's bundle id.
  package let topic: String
  package let environment: APNsEnvironment

  /// Returns nil for a token or a topic that APNs cannot have given.
  package init?(deviceToken: [UInt8], topic: String, environment: APNsEnvironment) {
    guard GatewayLimits.deviceTokenBytes.contains(deviceToken.count), APNsTarget.isTopic(topic)
    else { return nil }
    self.deviceToken = deviceToken
    self.topic = topic
    self.environment = environment
  }

  /// True for a bundle id: letters, digits, hyphens and dots.
  package static func isTopic(_ text: String) -> Bool {
    GatewayLimits.topicCharacters.contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
          || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
          || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
          || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
      }
  }

  /// The token as in Apple's paths.
  var tokenText: String { HexText.text(of: deviceToken) }
}

/// Push for an app, still encrypted: the device alone can read it.
struct APNsNotification: Hashable {
  /// Chosen by the owner; the outcome names it.
  var id: UInt64
  var target: APNsTarget
  /// Time after which APNs drops it, in seconds since the Unix epoch; 0: it is not stored.
  var expires: Int64
  /// Pushes with the same one replace each other; nil: none.
  var collapseID: String?
  /// The push message of RFC 8291.
  var message: [UInt8]

  /// The JSON that the app gets. `ls` marks it as one of the gateway's, `m` is the message.
  var payload: [UInt8] {
    var writer = JSONWriter(capacity: GatewayLimits.payloadBytes)
    writer.beginObject()
    writer.member("aps")
    writer.beginObject()
    writer.member("content-available")
    writer.integer(1)
    writer.endObject()
    writer.member("ls")
    writer.integer(1)
    writer.member("m")
    writer.string(Base64.encodeURL(message))
    writer.endObject()
    return writer.finish()
  }

  /// A background notification: priority 5 is the only one that Apple allows for it.
  func request(authority: String, authorization: String) -> HTTP2Request {
    var fields = [
      HTTP2Request.Field(name: ":method", value: "POST"),
      HTTP2Request.Field(name: ":scheme", value: "https"),
      HTTP2Request.Field(name: ":authority", value: authority),
      HTTP2Request.Field(
        name: ":path", value: "/3/device/" + target.tokenText, isSensitive: true),
      HTTP2Request.Field(name: "authorization", value: authorization),
      HTTP2Request.Field(name: "apns-push-type", value: "background"),
      HTTP2Request.Field(name: "apns-priority", value: "5"),
      HTTP2Request.Field(name: "apns-topic", value: target.topic),
      HTTP2Request.Field(name: "apns-expiration", value: String(expires)),
    ]
    if let collapseID {
      fields.append(
        HTTP2Request.Field(name: "apns-collapse-id", value: collapseID, isSensitive: true))
    }
    return HTTP2Request(fields: fields, body: payload)
  }
}
