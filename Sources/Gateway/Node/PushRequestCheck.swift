import LockstepCrypto
import LockstepModel
import LockstepWebPush
import LockstepWire

/// Checks of the form of a Web Push request (RFC 8030 section 5), and the notification that it
/// becomes.
struct PushRequestCheck {
  let key: SIV

  /// Returns the endpoint of a capability.
  func endpoint(_ capability: String) throws(GatewayProblem) -> SealedEndpoint {
    guard let endpoint = SealedEndpoint(opening: capability, with: key) else {
      throw GatewayProblem(
        .badEndpoint, "Drop this endpoint; the app asks for a new one at its next start.")
    }
    return endpoint
  }

  /// Returns the notification. `id`: chosen by the owner.
  func notification(
    _ id: UInt64, to endpoint: SealedEndpoint, _ headers: HTTPHeaders, body: [UInt8],
    at wall: Int64
  ) throws(GatewayProblem) -> APNsNotification {
    guard let coding = headers["Content-Encoding"], coding.lowercased() == "aes128gcm" else {
      throw GatewayProblem(
        .badRequest, "Send `Content-Encoding: aes128gcm` and a push of RFC 8291.")
    }
    guard body.count <= GatewayLimits.pushBytes else {
      throw GatewayProblem(
        .bodyTooLarge, "Send at most \(GatewayLimits.pushBytes) bytes; APNs takes no more.")
    }
    guard let encoding = ContentEncoding(headerOf: body),
      encoding.keyID.count == P256PublicKey.byteCount,
      body.count > encoding.headerCount + ContentEncoding.recordOverhead
    else {
      throw GatewayProblem(.badRequest, "Send a push that is encrypted by RFC 8291.")
    }
    let seconds = try seconds(headers)
    let topic = headers["Topic"]
    guard topic.map(isTopic) ?? true else {
      throw GatewayProblem(
        .badRequest, "Send a `Topic` of 1 to 32 characters of the URL-safe Base64 alphabet.")
    }
    // An hour is 3,600 s; `wall` is a time of this machine's clock, far from the end of Int64.
    let expires = seconds == 0 ? 0 : max(0, wall) / 1_000 + seconds
    return APNsNotification(
      id: id, target: endpoint.target, expires: expires, collapseID: topic, message: body)
  }

  /// Returns `TTL`, at most as long as APNs keeps a notification.
  private func seconds(_ headers: HTTPHeaders) throws(GatewayProblem) -> Int64 {
    guard let text = headers["TTL"], !text.isEmpty,
      text.utf8.allSatisfy({ (0x30...0x39).contains($0) })
    else {
      throw GatewayProblem(.badRequest, "Send `TTL`, a number of seconds (RFC 8030 section 5.2).")
    }
    return min(Int64(text) ?? GatewayLimits.pushSeconds, GatewayLimits.pushSeconds)
  }

  private func isTopic(_ text: String) -> Bool {
    (1...Limits.wakeTopicCharacters).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
          || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte & 0xDF)
          || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
      }
  }
}
