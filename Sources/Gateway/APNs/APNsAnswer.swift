import LockstepJSON
import LockstepModel

/// Meaning of an answer of APNs.
enum APNsAnswer: Hashable {
  case accepted(notification: String?)
  /// The app is not on the device any more.
  case gone(reason: String)
  /// The token was never one of this app in this environment.
  case badToken(reason: String)
  /// Too many pushes to this device.
  case throttled(milliseconds: Int64)
  /// APNs itself fails, or is closing the connection.
  case unavailable(milliseconds: Int64)
  case tokenExpired
  /// The team has made provider tokens too often: the connection is of no more use.
  case tooManyTokens
  /// The team's key, its ids, or the topic are not accepted.
  case notAuthorized(reason: String)
  /// The gateway's own fault, or a reason that is not known here.
  case rejected(status: Int, reason: String)

  init(_ answer: HTTP2Answer) {
    let reason = APNsAnswer.reason(answer.body)
    let pause = APNsAnswer.pause(answer.retryAfter)
    self =
      switch (answer.status, reason) {
      case (200, _): .accepted(notification: answer.notificationID.flatMap(APNsAnswer.name))
      case (410, _): .gone(reason: reason)
      case (400, "BadDeviceToken"), (400, "DeviceTokenNotForTopic"): .badToken(reason: reason)
      case (403, "ExpiredProviderToken"): .tokenExpired
      case (429, "TooManyProviderTokenUpdates"): .tooManyTokens
      case (429, _): .throttled(milliseconds: pause)
      case (500...599, _), (400, "IdleTimeout"): .unavailable(milliseconds: pause)
      case (403, _), (400, "TopicDisallowed"): .notAuthorized(reason: reason)
      default: .rejected(status: answer.status, reason: reason)
      }
  }

  /// Returns the reason in `{"reason":"…"}`, a word; `unknown` for anything else, so that no
  /// foreign text gets into the log.
  private static func reason(_ body: [UInt8]) -> String {
    guard let reason = JSONValue(ifJSON: body)?["reason"]?.string,
      (1...64).contains(reason.utf8.count),
      reason.utf8.allSatisfy({ byte in
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte & 0xDF)
      })
    else { return "unknown" }
    return reason
  }

  /// Returns the id of a notification, a UUID; nil for any other text.
  private static func name(_ text: String) -> String? {
    let isName =
      text.utf8.count == 36
      && text.utf8.allSatisfy { HexText.digit($0) != nil || $0 == UInt8(ascii: "-") }
    return isName ? text : nil
  }

  /// Returns the seconds of a `Retry-After` in milliseconds, within the limits.
  private static func pause(_ text: String?) -> Int64 {
    guard let text, !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      return GatewayLimits.pauseMilliseconds
    }
    let limits = GatewayLimits.pauses
    guard let seconds = Int64(text), seconds <= limits.upperBound / 1_000 else {
      return limits.upperBound
    }
    return max(seconds * 1_000, limits.lowerBound)
  }
}

/// Result of a push, for the relay.
enum APNsResult: Hashable {
  case accepted(notification: String?)
  /// The app is not on the device any more.
  case gone
  /// No device has that token.
  case badToken
  case throttled(milliseconds: Int64)
  /// APNs was not reached in time, or failed.
  case unavailable(milliseconds: Int64)
  /// APNs does not accept the gateway's key, token or request.
  case misconfigured
}
