import LockstepCrypto
import LockstepJSON
import LockstepModel
import Testing

@testable import LockstepGateway

struct APNsKeyTests {
  /// Made by openssl for this test, as Apple's files are.
  private let file = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg75x3Dq8DxlgZRTF+
    ZTbD+w0Dyz9njNcHkmsCex219/ehRANCAASbvzHnLbrj5fExKD3RIoScJHHTwQL4
    54DYsbpFNhtgC4ok8WsEgRlcZFri9OmyMrFLblEXWGPUK2h8tMK91OcT
    -----END PRIVATE KEY-----

    """

  @Test func keyOfAFileIsItsScalar() throws {
    let key = try #require(APNsKey.parse(file))
    #expect(
      HexText.text(of: key.scalar)
        == "ef9c770eaf03c6581945317e6536c3fb0d03cb3f678cd707926b027b1db5f7f7")
  }

  @Test func fileOfWindowsIsRead() {
    let lines = file.split(separator: "\n").joined(separator: "\r\n")
    #expect(APNsKey.parse(lines) != nil)
  }

  @Test func otherTextIsNoKey() {
    let texts = [
      "", "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n",
      file.split(separator: "PRIVATE ").joined(separator: "EC PRIVATE "),
      file.split(separator: "MIG").joined(separator: "MIH"),
    ]
    for text in texts { #expect(APNsKey.parse(text) == nil, "\(text)") }
  }

  /// The length of the outermost element does not match the rest then.
  @Test func shortenedKeyIsNoKey() throws {
    let body = file.split(separator: "\n").dropFirst().dropLast().joined()
    let bytes = try #require(Base64.decode(body))
    for count in 0..<bytes.count {
      let text = Base64.encode(Array(bytes[..<count]))
      #expect(
        APNsKey.parse("-----BEGIN PRIVATE KEY-----\n\(text)\n-----END PRIVATE KEY-----") == nil,
        "\(count) bytes")
    }
  }

  @Test(arguments: ["", "A1B2C3D4E", "A1B2C3D4E5F", "a1b2c3d4e5", "A1B2C3D4E\"", "A1B2-3D4E5"])
  func otherTextIsNoID(_ text: String) {
    #expect(!APNsTeam.isID(text))
    #expect(APNsTeam(key: Samples.key(1), keyID: text, team: "TEAM123456") == nil)
  }
}

struct APNsTokenTests {
  private func moment(_ minutes: Int64) -> Moment { Samples.moment(minutes * 60_000) }

  @Test func tokenNamesKeyTeamAndTime() throws {
    var token = APNsToken(Samples.team)
    let text = token.issue(at: moment(0)).text
    let parts = text.dropFirst("bearer ".count).split(separator: ".")
    #expect(text.hasPrefix("bearer ") && parts.count == 3)
    let header = try #require(Base64.decodeURL(parts[0]).flatMap { JSONValue(ifJSON: $0) })
    #expect(header["alg"]?.string == "ES256" && header["kid"]?.string == "A1B2C3D4E5")
    let claims = try #require(Base64.decodeURL(parts[1]).flatMap { JSONValue(ifJSON: $0) })
    #expect(claims["iss"]?.string == "TEAM123456")
    #expect(claims["iat"]?.int64 == Samples.wall / 1_000)
    let signature = try #require(Base64.decodeURL(parts[2]))
    #expect(
      Samples.team.key.publicKey.verifies(signature, of: Array("\(parts[0]).\(parts[1])".utf8)))
  }

  @Test func tokenIsReplacedAfterFortyMinutes() {
    var token = APNsToken(Samples.team)
    let issues = [0, 39, 40, 79].map { token.issue(at: moment($0)) }
    #expect(issues.map(\.number) == [1, 1, 2, 2])
    #expect(issues[0] == issues[1] && issues[2] == issues[3])
    #expect(issues[2].text != issues[0].text)
  }

  @Test func expiredTokenIsReplacedOnceInTwentyMinutes() {
    var token = APNsToken(Samples.team)
    _ = token.issue(at: moment(0))
    // The second answer is about a request with the token before.
    let repeats = [(1, 1), (1, 2), (2, 2), (2, 20), (2, 21)].map { number, minute in
      token.expire(number, at: moment(minute))
    }
    #expect(repeats == [true, true, false, false, true])
    let newest = token.issue(at: moment(21))
    #expect(newest.number == 3)
  }

  @Test func heldTokenIsNotReplaced() {
    var token = APNsToken(Samples.team)
    _ = token.issue(at: moment(0))
    token.hold(until: moment(60).instant)
    let numbers = [59, 60].map { token.issue(at: moment($0)).number }
    #expect(numbers == [1, 2])
  }
}

struct APNsAnswerTests {
  private func answer(_ status: Int, _ reason: String?, retryAfter: String? = nil) -> APNsAnswer {
    var answer = HTTP2Answer(status: status, retryAfter: retryAfter)
    if let reason { answer.body = Array(#"{"reason":"\#(reason)"}"#.utf8) }
    return APNsAnswer(answer)
  }

  @Test func eachAnswerHasItsMeaning() {
    #expect(answer(200, nil) == .accepted(notification: nil))
    for reason in ["Unregistered", "ExpiredToken"] {
      #expect(answer(410, reason) == .gone(reason: reason))
    }
    for reason in ["BadDeviceToken", "DeviceTokenNotForTopic"] {
      #expect(answer(400, reason) == .badToken(reason: reason))
    }
    #expect(answer(403, "ExpiredProviderToken") == .tokenExpired)
    #expect(answer(403, "InvalidProviderToken") == .notAuthorized(reason: "InvalidProviderToken"))
    #expect(answer(400, "TopicDisallowed") == .notAuthorized(reason: "TopicDisallowed"))
    #expect(answer(429, "TooManyProviderTokenUpdates") == .tooManyTokens)
    #expect(answer(429, "TooManyRequests") == .throttled(milliseconds: 60_000))
    #expect(answer(503, "Shutdown") == .unavailable(milliseconds: 60_000))
    #expect(answer(400, "BadPath") == .rejected(status: 400, reason: "BadPath"))
  }

  @Test func retryAfterIsKeptWithinLimits() {
    for (text, milliseconds) in [
      ("5", 5_000 as Int64), ("0", 1_000), ("99999999999999999999", 86_400_000), ("-1", 60_000),
      ("", 60_000), ("5.5", 60_000),
    ] {
      #expect(
        answer(503, nil, retryAfter: text) == .unavailable(milliseconds: milliseconds), "\(text)")
    }
  }

  @Test(arguments: ["a b", "x\\u001b[31m", "", String(repeating: "a", count: 65), "Ä"])
  func reasonThatIsNoWordIsNotPassedOn(_ reason: String) {
    #expect(answer(400, reason) == .rejected(status: 400, reason: "unknown"))
  }

  @Test func onlyAUUIDIsANotificationsName() {
    var given = HTTP2Answer(status: 200)
    given.notificationID = "01234567-89ab-cdef-0123-456789abcdef"
    #expect(APNsAnswer(given) == .accepted(notification: given.notificationID))
    given.notificationID = "https://else.example/"
    #expect(APNsAnswer(given) == .accepted(notification: nil))
  }
}

struct APNsNotificationTests {
  @Test func payloadOfTheLongestPushFits() throws {
    let message = [UInt8](repeating: 0xFF, count: GatewayLimits.pushBytes)
    let notification = APNsNotification(
      id: 1, target: Samples.target(), expires: 0, collapseID: nil, message: message)
    #expect(notification.payload.count <= GatewayLimits.payloadBytes)
    #expect(notification.payload.count > GatewayLimits.payloadBytes - 4)
    let value = try #require(JSONValue(ifJSON: notification.payload))
    #expect(value["aps"]?["content-available"]?.int64 == 1)
    #expect(value["ls"]?.int64 == 1)
    #expect(value["m"]?.string.flatMap { Base64.decodeURL($0) } == message)
  }

  @Test func requestIsABackgroundPush() {
    let notification = APNsNotification(
      id: 1, target: Samples.target(), expires: 77, collapseID: "abc", message: [1])
    let request = notification.request(authority: "localhost:1", authorization: "bearer x")
    let fields = Dictionary(uniqueKeysWithValues: request.fields.map { ($0.name, $0.value) })
    #expect(
      fields == [
        ":method": "POST", ":scheme": "https", ":authority": "localhost:1",
        ":path": "/3/device/" + HexText.text(of: Samples.deviceToken),
        "authorization": "bearer x", "apns-push-type": "background", "apns-priority": "5",
        "apns-topic": "com.example.app", "apns-expiration": "77", "apns-collapse-id": "abc",
      ])
  }
}
