import LockstepCrypto
import LockstepJSON
import LockstepModel

/// Body of a device's request for an endpoint:
///
///     {"token":"<hexadecimal>","topic":"<bundle id>","environment":"production",
///      "key":"<base64url>"}
///
/// Members that are not known are ignored.
struct EndpointRequest: Hashable {
  let target: APNsTarget
  let relayKey: P256PublicKey

  init(parsing body: [UInt8]) throws(GatewayProblem) {
    guard let value = JSONValue(ifJSON: body), value.members != nil else {
      throw GatewayProblem(
        .badJSON, "Send one JSON object with token, topic, environment and key.")
    }
    guard let token = value["token"]?.string.flatMap({ HexText.bytes(of: $0) }) else {
      throw GatewayProblem(
        .badRequest, "Send `token`, the device token of APNs, as pairs of hexadecimal digits.")
    }
    guard let environment = value["environment"]?.string.flatMap({ APNsEnvironment(name: $0) })
    else {
      throw GatewayProblem(
        .badRequest, "Send `environment` as production, or as development for a build by Xcode.")
    }
    guard let topic = value["topic"]?.string, APNsTarget.isTopic(topic) else {
      throw GatewayProblem(.badRequest, "Send `topic`, the bundle id of the app.")
    }
    guard let target = APNsTarget(deviceToken: token, topic: topic, environment: environment)
    else {
      throw GatewayProblem(
        .badRequest,
        "Send a `token` of 1 to \(GatewayLimits.deviceTokenBytes.upperBound) bytes.")
    }
    guard
      let key = value["key"]?.string.flatMap({ Base64.decodeURL($0) }).flatMap({
        P256PublicKey($0)
      })
    else {
      throw GatewayProblem(
        .badRequest, "Send `key`, the relay's wakeKey in GET /v1/limits, as it stands there.")
    }
    self.target = target
    relayKey = key
  }
}
