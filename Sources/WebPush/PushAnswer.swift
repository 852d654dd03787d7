import LockstepModel
import LockstepWire

/// Meaning of a push service's answer for the subscription and for its origin (RFC 8030 sections 5
/// and 7).
package enum PushAnswer: Hashable, Sendable {
  /// The service has accepted the push.
  case sent
  /// The subscription has ended: 404, 410.
  case gone
  /// The request is wrong, and would be again: 400, 413.
  case invalid(status: Int)
  /// The service does not accept the VAPID key or its token for this subscription: 401, 403. A
  /// client can provoke it by a subscription that was made for another key, so it tells about the
  /// key only if a service refuses it for several accounts.
  case keyRefused(status: Int)
  /// The service wants no requests to this subscription for this time: 429, which RFC 8030 section
  /// 8.4 defines for one subscription. Other clients' subscriptions there are not affected.
  case throttled(milliseconds: Int64)
  /// The service is not available for this time: 503.
  case paused(milliseconds: Int64)
  /// Redirects are not followed: a new address would need a new permission.
  case redirected(status: Int)
  /// Anything else; a later attempt may succeed.
  case failed(status: Int)

  /// `retryAfter`: the field `Retry-After`; nil if there is none. `wall`: the time of the answer,
  /// milliseconds since the Unix epoch.
  package init(status: Int, retryAfter: String?, at wall: Int64) {
    self =
      switch status {
      case 200, 201, 202, 204: .sent
      case 300...399: .redirected(status: status)
      case 400, 413: .invalid(status: status)
      case 401, 403: .keyRefused(status: status)
      case 404, 410: .gone
      case 429: .throttled(milliseconds: PushAnswer.pause(retryAfter, at: wall))
      case 503: .paused(milliseconds: PushAnswer.pause(retryAfter, at: wall))
      default: .failed(status: status)
      }
  }

  /// Returns the time that a `Retry-After` names, in seconds or as a date (RFC 9110 section
  /// 10.2.3), within `Limits.wakePauses`; `Limits.wakePauseMilliseconds` if it cannot be read, or
  /// is a date in one of the two obsolete forms.
  private static func pause(_ text: String?, at wall: Int64) -> Int64 {
    guard let text else { return Limits.wakePauseMilliseconds }
    let limits = Limits.wakePauses
    if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
      guard let seconds = Int64(text), seconds <= limits.upperBound / 1_000 else {
        return limits.upperBound
      }
      return max(seconds * 1_000, limits.lowerBound)
    }
    guard let date = HTTPDate.milliseconds(text) else { return Limits.wakePauseMilliseconds }
    // Neither is negative, so the difference does not overflow.
    return min(max(date - max(wall, 0), limits.lowerBound), limits.upperBound)
  }
}
