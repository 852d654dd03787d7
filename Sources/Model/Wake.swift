import LockstepJSON

/// Registration of a device for wakes while it sleeps: the push service through which it can be
/// reached, and the keys with which only it reads what it is sent (docs/protocol.md, "Wakes").
@usableFromInline
package struct WakeRegistration: Hashable, Sendable {
  /// Chosen by the device; unique among its registrations.
  @usableFromInline package var id: Name
  /// URL of the subscription at its push service (RFC 8030). A secret: who knows it can push.
  @usableFromInline package var endpoint: String
  /// The device's public key, and a secret that it shares with the relay (RFC 8291).
  @usableFromInline package var p256dh: [UInt8]
  @usableFromInline package var auth: [UInt8]
  /// End of the subscription, milliseconds since the Unix epoch; nil if the service names none.
  @usableFromInline package var expiresAt: Int64?
  /// Notification that its browser may show by itself; nil if the device wants none.
  @usableFromInline package var notice: WakeNotice?

  @usableFromInline
  package init(
    id: Name, endpoint: String, p256dh: [UInt8], auth: [UInt8], expiresAt: Int64? = nil,
    notice: WakeNotice? = nil
  ) {
    self.id = id
    self.endpoint = endpoint
    self.p256dh = p256dh
    self.auth = auth
    self.expiresAt = expiresAt
    self.notice = notice
  }

  /// True if pushes for both reach the same subscription.
  package func hasSameTarget(as other: WakeRegistration) -> Bool {
    endpoint == other.endpoint && p256dh == other.p256dh && auth == other.auth
  }
}

/// Notification that a browser with Declarative Web Push shows for a wake if it did not run the
/// app's code: the device's own words, the same for every wake.
@usableFromInline
package struct WakeNotice: Hashable, Sendable {
  /// For a person, without control characters.
  @usableFromInline package var title: String
  /// Page that a click opens: an https URL.
  @usableFromInline package var navigate: String

  @usableFromInline
  package init(title: String, navigate: String) {
    self.title = title
    self.navigate = navigate
  }

  /// Writes the members of the notice into an object that is begun.
  package func write(to writer: inout JSONWriter) {
    writer.member("title")
    writer.string(title)
    writer.member("navigate")
    writer.string(navigate)
  }

  /// True for an https URL of the characters of RFC 3986, none of which JSON escapes.
  @usableFromInline
  package static func canNavigate(to url: String) -> Bool {
    let scheme = "https://"
    return url.hasPrefix(scheme) && url.utf8.count > scheme.utf8.count
      && url.utf8.allSatisfy { byte in
        (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
      }
  }
}

/// Reason for which the last push for a registration was not accepted.
@usableFromInline
package enum WakeFault: String, Hashable, Sendable, CaseIterable {
  /// The service takes no push of this kind: 400, 413, a redirect.
  case rejected
  /// The service does not accept the relay's key for this subscription.
  case keyRefused
  /// The service asked for fewer pushes to it.
  case throttled
  /// The service was not reached in time, or failed.
  case unavailable
  /// The relay sends nothing to the endpoint's host or to its address.
  case notAllowed
}

/// State of a registration, without its secrets, as its device is told.
@usableFromInline
package struct WakeStatus: Hashable, Sendable {
  @usableFromInline package var id: Name
  /// Time at which the device proved that pushes reach it; nil: not yet, and it is not woken.
  @usableFromInline package var verifiedAt: Int64?
  /// Last time at which the device contacted the relay after a wake; nil: never.
  @usableFromInline package var answeredAt: Int64?
  /// Last time at which a push service accepted a wake for it; nil: never.
  @usableFromInline package var sentAt: Int64?
  /// Reason for which the last push failed; nil: it did not.
  @usableFromInline package var fault: WakeFault?

  @usableFromInline
  package init(
    id: Name, verifiedAt: Int64? = nil, answeredAt: Int64? = nil, sentAt: Int64? = nil,
    fault: WakeFault? = nil
  ) {
    self.id = id
    self.verifiedAt = verifiedAt
    self.answeredAt = answeredAt
    self.sentAt = sentAt
    self.fault = fault
  }
}

/// Position in an account's changes up to which a device has everything.
@usableFromInline
package struct WakeMark: Hashable, Sendable {
  @usableFromInline package var generation: UInt32
  @usableFromInline package var sequence: Int64

  @usableFromInline
  package init(generation: UInt32, sequence: Int64) {
    self.generation = generation
    self.sequence = sequence
  }

  /// Returns nil for a token of one zone, and for one within a snapshot: a device that has it may
  /// lack earlier changes.
  @usableFromInline
  package init?(_ token: ChangeToken) {
    guard token.zoneDigest == nil, token.pinned == nil else { return nil }
    self.init(generation: token.generation, sequence: token.sequence)
  }

  /// True if there may be changes after `known` up to this position; another generation may have
  /// any.
  @usableFromInline
  package func isAfter(_ known: WakeMark?) -> Bool {
    guard let known, known.generation == generation else { return true }
    return sequence > known.sequence
  }
}
