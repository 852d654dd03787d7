import LockstepCrypto
import LockstepJSON
import LockstepModel

/// Name of an app's maker at Apple: the team, and its key for APNs.
package struct APNsTeam: Sendable {
  package let key: P256PrivateKey
  /// 10 letters and digits, as Apple shows them: `kid` and `iss` of a token.
  package let keyID: String
  package let team: String

  /// Returns nil if an id does not have its form.
  package init?(key: P256PrivateKey, keyID: String, team: String) {
    guard APNsTeam.isID(keyID), APNsTeam.isID(team) else { return nil }
    self.key = key
    self.keyID = keyID
    self.team = team
  }

  package static func isID(_ text: String) -> Bool {
    text.utf8.count == 10
      && text.utf8.allSatisfy { byte in
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
          || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
      }
  }
}

/// Provider token of a team (JWT with ES256, RFC 7519): one for all requests, replaced every 40
/// minutes. APNs refuses one that is older than an hour, and a team that makes new ones more often
/// than every 20 minutes.
struct APNsToken {
  struct Issue: Hashable {
    /// Value of `authorization`.
    var text: String
    /// Number of the token, from 1.
    var number: Int
  }

  private let team: APNsTeam
  private var current: Issue?
  private var issuedAt = Instant(nanoseconds: 0)
  /// Last replacement that APNs has asked for.
  private var forcedAt: Instant?
  /// Time before which no token is replaced.
  private var heldUntil: Instant?

  init(_ team: APNsTeam) { self.team = team }

  /// Returns the token for a request.
  mutating func issue(at moment: Moment) -> Issue {
    if let current {
      let age = moment.instant.milliseconds(since: issuedAt)
      let isHeld = heldUntil.map { $0 > moment.instant } ?? false
      if age < GatewayLimits.tokenMilliseconds || isHeld { return current }
    }
    return replace(at: moment)
  }

  /// Handles the answer `ExpiredProviderToken` to a request with that token. Returns false if the
  /// request would get it again: the newest token is fresh, so this machine's clock is wrong.
  mutating func expire(_ number: Int, at moment: Moment) -> Bool {
    guard let current else { return true }
    if current.number > number { return true }
    let isRecent = forcedAt.map {
      moment.instant.milliseconds(since: $0) < GatewayLimits.tokenRestMilliseconds
    }
    if isRecent == true { return false }
    forcedAt = moment.instant
    _ = replace(at: moment)
    return true
  }

  /// Keeps the token for the time in which APNs accepts no other.
  mutating func hold(until end: Instant) { heldUntil = end }

  private mutating func replace(at moment: Moment) -> Issue {
    let issue = Issue(text: text(at: moment.wall), number: (current?.number ?? 0) + 1)
    current = issue
    issuedAt = moment.instant
    return issue
  }

  private func text(at wall: Int64) -> String {
    var header = JSONWriter(capacity: 64)
    header.beginObject()
    header.member("alg")
    header.string("ES256")
    header.member("kid")
    header.string(team.keyID)
    header.endObject()
    var claims = JSONWriter(capacity: 64)
    claims.beginObject()
    claims.member("iss")
    claims.string(team.team)
    claims.member("iat")
    claims.integer(max(0, wall) / 1_000)
    claims.endObject()
    let signed = Base64.encodeURL(header.finish()) + "." + Base64.encodeURL(claims.finish())
    let signature = team.key.signature(of: Array(signed.utf8))
    return "bearer \(signed).\(Base64.encodeURL(signature))"
  }
}
