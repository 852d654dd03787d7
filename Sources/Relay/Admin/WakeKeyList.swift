import LockstepJSON
import LockstepModel
import LockstepStorage

/// Answer to `GET` and `POST /v1/admin/wake-keys`: the relay's public keys for push services,
/// newest first.
///
///     {"wakeKeys":[{"wakeKey":"…","madeAt":1},{"wakeKey":"…","madeAt":1,"endsAt":1}]}
package struct WakeKeyList: Hashable, Sendable {
  package struct Key: Hashable, Sendable {
    /// The public key in Base64 for URLs, as in `GET /v1/limits`.
    package var wakeKey: String
    /// Milliseconds since the Unix epoch.
    package var madeAt: Int64
    /// Time until which the relay sends under it; nil for the newest.
    package var endsAt: Int64?
  }

  package let keys: [Key]

  /// `keys`: oldest first. Those that are no longer in force are left out.
  package init(_ keys: [WakeKey], at wall: Int64) {
    let inForce = keys.inForce(at: wall)
    self.keys = inForce.enumerated().reversed().compactMap { index, key in
      let next = index + 1 < inForce.count ? inForce[index + 1].madeAt : nil
      return key.publicText.map {
        Key(
          wakeKey: $0, madeAt: key.madeAt,
          endsAt: next.map { $0 + Limits.wakeKeyOverlapMilliseconds })
      }
    }
  }

  package func encodedBody() -> [UInt8] {
    let list = keys.map { key in
      var members = [
        JSONMember("wakeKey", .string(key.wakeKey)),
        JSONMember("madeAt", JSONValue(integerLiteral: key.madeAt)),
      ]
      if let endsAt = key.endsAt {
        members.append(JSONMember("endsAt", JSONValue(integerLiteral: endsAt)))
      }
      return JSONValue.object(members)
    }
    return JSONValue.object([JSONMember("wakeKeys", .array(list))]).serialized()
  }

  /// Throws `badMessage` or `badJSON` if `body` is not such an answer.
  package static func decoded(body: [UInt8]) throws(Refusal) -> WakeKeyList {
    guard let list = try AdminBody.parsed(body)["wakeKeys"]?.array else {
      throw Refusal(.badMessage, "`wakeKeys` must be a list.")
    }
    var keys: [Key] = []
    for item in list {
      guard let text = item["wakeKey"]?.string, let madeAt = item["madeAt"]?.int64 else {
        throw Refusal(.badMessage, "A key must have `wakeKey` and `madeAt`.")
      }
      keys.append(Key(wakeKey: text, madeAt: madeAt, endsAt: item["endsAt"]?.int64))
    }
    return WakeKeyList(keys: keys)
  }

  private init(keys: [Key]) { self.keys = keys }
}
