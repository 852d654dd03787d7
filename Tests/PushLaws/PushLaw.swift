import LockstepCrypto
import LockstepModel
import LockstepWebPush
import WireLaws

/// Laws of Web Push for arbitrary bytes from clients and push services. Fuzzing searches for bytes
/// that break one.
package enum PushLaw {
  /// Checks the law that the first byte selects against the other bytes.
  package static func check(_ bytes: [UInt8]) throws(BrokenLaw) {
    guard let first = bytes.first else { return }
    let rest = Array(bytes.dropFirst())
    switch first % 7 {
    case 0: try endpoint(rest)
    case 1: try address(rest)
    case 2: try answer(rest)
    case 3: try message(rest)
    case 4: try token(rest)
    case 5: try payload(rest)
    default: try sender(rest)
    }
  }

  /// A URL that is accepted is a plain one, and its own text means the same endpoint.
  private static func endpoint(_ bytes: [UInt8]) throws(BrokenLaw) {
    guard let text = String(validating: bytes, as: UTF8.self), let endpoint = read(text) else {
      return
    }
    let url = endpoint.url
    try expect(url.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "\(url) has other characters")
    try expect(
      !endpoint.hostText.contains { "@%/?#\\".contains($0) }, "\(endpoint.hostText) is no host")
    try expect(read(url) == endpoint, "\(text) and \(url) are two endpoints")
    if PushRules().refusal(of: endpoint) == nil {
      try expect(endpoint.port == 443, "port \(endpoint.port) is permitted")
      if case .address(let address) = endpoint.host {
        try expect(AddressScope(address) == .global, "\(url) is permitted")
      }
    }
  }

  private static func read(_ text: String) -> PushEndpoint? {
    do throws(PushEndpointFault) { return try PushEndpoint(text) } catch { return nil }
  }

  /// The address of a socket and the address as a number are judged alike.
  private static func address(_ bytes: [UInt8]) throws(BrokenLaw) {
    let scope = AddressScope(bytes)
    let number = bytes.prefix(16).reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
    let low = UInt64(truncatingIfNeeded: number)
    switch bytes.count {
    case 4:
      try expect(
        scope == AddressScope(IPAddress(ipv4: UInt32(truncatingIfNeeded: low))), "\(bytes)")
    case 16:
      let address = IPAddress(high: UInt64(truncatingIfNeeded: number >> 64), low: low)
      try expect(address.isIPv4 || scope == AddressScope(address), "\(bytes)")
    default: try expect(scope != .global, "\(bytes.count) bytes are an address")
    }
  }

  /// A pause is within its limits, at any time.
  private static func answer(_ bytes: [UInt8]) throws(BrokenLaw) {
    let text = String(decoding: bytes, as: UTF8.self)
    for wall in [Int64.min, 0, 1_772_366_400_000, .max] {
      guard case .paused(let pause) = PushAnswer(status: 503, retryAfter: text, at: wall) else {
        throw BrokenLaw("503 is no pause")
      }
      try expect(Limits.wakePauses.contains(pause), "\(text) is a pause of \(pause)")
    }
  }

  /// Bytes are not a message for a device; as content they come back, unless a bit is changed.
  private static func message(_ bytes: [UInt8]) throws(BrokenLaw) {
    guard let key = P256PrivateKey([UInt8](1...32)),
      let recipient = PushRecipient(publicKey: key.publicKey.bytes, auth: [UInt8](1...16))
    else { throw BrokenLaw("the keys are valid") }
    let isRead = PushMessage.decrypt(bytes, key: key, auth: recipient.auth) != nil
    try expect(!isRead, "bytes of another sender are read")
    let content = Array(bytes.prefix(PushMessage.contentBytes))
    let secrets = SecretSource { [UInt8](repeating: UInt8(truncatingIfNeeded: $0), count: $0) }
    guard var body = PushMessage.encrypt(content, to: recipient, secrets: secrets) else {
      throw BrokenLaw("\(content.count) bytes are not encrypted")
    }
    try expect(body.count == PushMessage.bodyBytes, "a message has \(body.count) bytes")
    let again = PushMessage.decrypt(body, key: key, auth: recipient.auth)
    try expect(again == content, "\(content) does not come back")
    // Behind the header, which has one field that is not authenticated.
    let place = 86 + Int(bytes.first ?? 0) % (body.count - 86)
    body[place] ^= 1 << ((bytes.last ?? 0) & 7)
    try expect(
      PushMessage.decrypt(body, key: key, auth: recipient.auth) == nil,
      "a change of byte \(place) is not seen")
  }

  /// A token that is accepted is short and valid now.
  private static func token(_ bytes: [UInt8]) throws(BrokenLaw) {
    let text = String(decoding: bytes, as: UTF8.self)
    let now: Int64 = 1_453_520_000
    var claims: VAPIDClaims?
    do throws(VAPIDFault) {
      claims =
        try VAPIDToken(
          checking: text, audience: "https://push.example.net", at: now * 1_000
        ).claims
    } catch {
      return
    }
    try expect(
      text.utf8.count <= Limits.vapidFieldBytes && (claims?.expires ?? 0) > now,
      "\(text) is accepted")
  }

  /// A wake that is read reads the same once it is written.
  private static func payload(_ bytes: [UInt8]) throws(BrokenLaw) {
    guard let payload = WakePayload(bytes) else { return }
    try expect(WakePayload(payload.bytes) == payload, "\(payload) does not come back")
    try expect(payload.bytes.count <= PushMessage.contentBytes, "\(payload) is too long")
  }

  static func expect(
    _ holds: Bool, _ law: @autoclosure () -> String
  ) throws(BrokenLaw) {
    if !holds { throw BrokenLaw(law()) }
  }
}
