import LockstepCrypto
import LockstepJSON
import LockstepModel

/// Body of `PUT /v1/wakes/{id}`.
@usableFromInline
package struct WakeRegistrationBody: Hashable, Sendable {
  @usableFromInline package var registration: WakeRegistration
  /// The relay's key for which the device subscribed, as `wakeKey` names it; nil: the present one.
  @usableFromInline package var wakeKey: String?

  @usableFromInline
  package init(_ registration: WakeRegistration, wakeKey: String? = nil) {
    self.registration = registration
    self.wakeKey = wakeKey
  }

  /// Reads the body. The device's keys have the lengths of RFC 8291; if they are keys is checked
  /// elsewhere.
  @usableFromInline
  package static func decoded(body: [UInt8], id: Name) throws(Refusal) -> WakeRegistrationBody {
    var reader = MessageReader(body.span.bytes, formCode: .badRequest)
    let request = try reader.wakeRegistration(id)
    try reader.finish()
    return request
  }

  @usableFromInline
  package func encodedBody() -> [UInt8] {
    let endpoint = registration.endpoint
    var writer = JSONWriter(capacity: 384 + endpoint.utf8.count)
    writer.beginObject()
    writer.member("kind")
    writer.string("webpush")
    writer.member("endpoint")
    writer.string(endpoint)
    writer.member("p256dh")
    writer.string(Base64.encodeURL(registration.p256dh))
    writer.member("auth")
    writer.string(Base64.encodeURL(registration.auth))
    if let expiresAt = registration.expiresAt {
      writer.member("expiresAt")
      writer.integer(expiresAt)
    }
    if let wakeKey {
      writer.member("wakeKey")
      writer.string(wakeKey)
    }
    if let notice = registration.notice {
      writer.member("notification")
      writer.beginObject()
      notice.write(to: &writer)
      writer.endObject()
    }
    writer.endObject()
    return writer.finish()
  }
}

/// Body of `POST /v1/wakes/{id}/verification`: `{"code":"…"}`.
package enum WakeVerification {
  /// Returns the code.
  package static func decoded(body: [UInt8]) throws(Refusal) -> String {
    var reader = MessageReader(body.span.bytes, formCode: .badRequest)
    var code: String?
    var seen = MemberSet()
    try reader.enterObject()
    while let member = try reader.nextMember(&seen) {
      if member == .code {
        code = try reader.string(.code, bytes: 1...Limits.wakeCodeBytes)
      } else {
        try reader.skip()
      }
    }
    let found = try reader.require(code, .code)
    try reader.finish()
    return found
  }

  package static func encodedBody(code: String) -> [UInt8] {
    var writer = JSONWriter(capacity: 64)
    writer.beginObject()
    writer.member("code")
    writer.string(code)
    writer.endObject()
    return writer.finish()
  }
}

extension WakeStatus {
  /// Encodes the state as the relay sends it.
  @usableFromInline
  package func encodedBody() -> [UInt8] {
    var writer = JSONWriter(capacity: 192)
    writer.wakeStatus(self)
    return writer.finish()
  }
}

/// Answer to `GET /v1/wakes`: `{"wakes":[…]}`.
@usableFromInline
package struct WakeList: Hashable, Sendable {
  @usableFromInline package var wakes: [WakeStatus]

  @usableFromInline
  package init(_ wakes: [WakeStatus]) { self.wakes = wakes }

  /// Reads the answer. A registration of a kind or with a state that is not known is left out.
  package static func decoded(body: [UInt8]) throws(Refusal) -> WakeList {
    guard let wakes = JSONValue(ifJSON: body)?["wakes"]?.array else {
      throw Refusal(.badMessage, "The list of wakes has another form.")
    }
    return WakeList(wakes.compactMap(WakeStatus.init(json:)))
  }

  @usableFromInline
  package func encodedBody() -> [UInt8] {
    var writer = JSONWriter(capacity: 32 + wakes.count * 192)
    writer.beginObject()
    writer.member("wakes")
    writer.beginArray()
    for wake in wakes { writer.wakeStatus(wake) }
    writer.endArray()
    writer.endObject()
    return writer.finish()
  }
}

extension WakeStatus {
  fileprivate init?(json: JSONValue) {
    guard let id = json["id"]?.string.flatMap(Name.init), json["kind"]?.string == "webpush" else {
      return nil
    }
    self.init(
      id: id, verifiedAt: json["verifiedAt"]?.int64, answeredAt: json["answeredAt"]?.int64,
      sentAt: json["sentAt"]?.int64,
      fault: json["error"]?.string.flatMap(WakeFault.init(rawValue:)))
  }
}

extension MessageReader {
  fileprivate mutating func wakeRegistration(_ id: Name) throws(Refusal) -> WakeRegistrationBody {
    var kind: String?
    var wakeKey: String?
    var endpoint: String?
    var p256dh: [UInt8]?
    var auth: [UInt8]?
    var expiresAt: Int64?
    var notice: WakeNotice?
    var seen = MemberSet()
    try enterObject()
    while let member = try nextMember(&seen) {
      switch member {
      case .kind: kind = try string(.kind)
      case .endpoint: endpoint = try string(.endpoint, bytes: 1...Limits.wakeEndpointBytes)
      case .p256dh: p256dh = try key(.p256dh, bytes: 65)
      case .auth: auth = try key(.auth, bytes: 16)
      case .expiresAt: expiresAt = try skipNull() ? nil : try instant(.expiresAt)
      case .wakeKey: wakeKey = try skipNull() ? nil : try string(.wakeKey)
      case .notification: notice = try skipNull() ? nil : try wakeNotice()
      default: try skip()
      }
    }
    guard try require(kind, .kind) == "webpush" else { throw wrong(.kind, "\"webpush\"") }
    let registration = WakeRegistration(
      id: id, endpoint: try require(endpoint, .endpoint), p256dh: try require(p256dh, .p256dh),
      auth: try require(auth, .auth), expiresAt: expiresAt, notice: notice)
    return WakeRegistrationBody(registration, wakeKey: wakeKey)
  }

  private mutating func wakeNotice() throws(Refusal) -> WakeNotice {
    guard try isNext(.object) else { throw wrong(.notification, "an object") }
    var title: String?
    var navigate: String?
    var seen = MemberSet()
    try enterObject()
    while let member = try nextMember(&seen) {
      switch member {
      case .title: title = try label(.title, bytes: 1...Limits.wakeTitleBytes)
      case .navigate:
        let url = try string(.navigate, bytes: 1...Limits.wakeNavigateBytes)
        guard WakeNotice.canNavigate(to: url) else { throw wrong(.navigate, "an https URL") }
        navigate = url
      default: try skip()
      }
    }
    return WakeNotice(
      title: try require(title, .title), navigate: try require(navigate, .navigate))
  }

  /// Reads bytes in Base64 for URLs, as `PushSubscription.toJSON` gives them.
  private mutating func key(_ member: Member, bytes count: Int) throws(Refusal) -> [UInt8] {
    let expectation = "\(count) bytes in Base64 for URLs, without padding"
    guard try isNext(.string), let bytes = Base64.decodeURL(try string(member)),
      bytes.count == count
    else { throw wrong(member, expectation) }
    return bytes
  }
}

extension JSONWriter {
  private mutating func milliseconds(_ name: StaticString, _ value: Int64?) {
    guard let value else { return }
    member(name)
    integer(value)
  }

  fileprivate mutating func wakeStatus(_ status: WakeStatus) {
    beginObject()
    member("id")
    string(status.id.text)
    member("kind")
    string("webpush")
    member("state")
    string(status.verifiedAt == nil ? "unverified" : "verified")
    milliseconds("verifiedAt", status.verifiedAt)
    milliseconds("sentAt", status.sentAt)
    milliseconds("answeredAt", status.answeredAt)
    if let fault = status.fault {
      member("error")
      string(fault.rawValue)
    }
    endObject()
  }
}
