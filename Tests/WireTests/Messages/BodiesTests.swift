import LockstepModel
import Testing

@testable import LockstepWire

/// The small bodies: joining, pairing, devices, time.
@Suite struct BodiesTests {
  @Test func joinRequestSurvivesTheRoundTrip() throws {
    let description = DeviceDescription(deviceName: "Ann's \"Mac\"", platform: "", appVersion: "1")
    for code in [nil, "ABCD-1234"] {
      let request = JoinRequest(code: code, description: description)
      #expect(try JoinRequest.decoded(body: request.encodedBody()) == request)
    }
    let body = #"{"code":null,"deviceName":"a","platform":"b","appVersion":"c","x":1}"#
    #expect(
      try JoinRequest.decoded(body: bytes(body))
        == JoinRequest(
          code: nil,
          description: DeviceDescription(deviceName: "a", platform: "b", appVersion: "c")))
    let other = #"{"code":{},"deviceName":"a","platform":"b","appVersion":"c"}"#
    #expect(try JoinRequest.decoded(body: bytes(other), takesCode: false).code == nil)
  }

  @Test(
    arguments: [
      (#"{}"#, .badRequest, "`deviceName` is missing."),
      (#"{"deviceName":"a"}"#, .badRequest, "`platform` is missing."),
      (#"{"deviceName":"a","platform":"b"}"#, .badRequest, "`appVersion` is missing."),
      (#"{"code":5}"#, .badRequest, "`code` must be a string."),
      (#"{"deviceName":5}"#, .badRequest, "`deviceName` must be a string of 1 to 255 bytes."),
      (#"{"deviceName":""}"#, .badRequest, "`deviceName` must be a string of 1 to 255 bytes."),
      (
        #"{"deviceName":"\u001b[2J"}"#, .badRequest,
        "`deviceName` must be a string without control characters."
      ),
      (#"{"platform":null}"#, .badRequest, "`platform` must be a string of 0 to 255 bytes."),
      ("[]", .badRequest, "The message or body must be a JSON object."),
      ("", .badJSON, "The JSON is not valid: the JSON ends before it is complete (byte 0)."),
    ] as [(String, RefusalCode, String)])
  func wrongJoinIsRefused(_ body: String, _ code: RefusalCode, _ detail: String) {
    #expect(
      refusal { () throws(Refusal) in try JoinRequest.decoded(body: bytes(body)) }
        == Refusal(code, detail))
  }

  @Test func renameRequestSurvivesTheRoundTrip() throws {
    let request = RenameRequest(deviceName: "電脑")
    #expect(text(request.encodedBody()) == #"{"deviceName":"電脑"}"#)
    #expect(try RenameRequest.decoded(body: request.encodedBody()) == request)
    for body in ["{}", #"{"deviceName":""}"#, #"{"deviceName":null}"#] {
      #expect(
        refusal { () throws(Refusal) in try RenameRequest.decoded(body: bytes(body)) }?.code
          == .badRequest)
    }
  }

  @Test func pairingOfferSurvivesTheRoundTrip() throws {
    let offer = PairingOffer(code: "ABCD-1234", expiresAt: 1_790_000_000_000)
    #expect(text(offer.encodedBody()) == #"{"code":"ABCD-1234","expiresAt":1790000000000}"#)
    #expect(try PairingOffer.decoded(body: offer.encodedBody()) == offer)
    let linked = PairingOffer(code: "ABCD-1234", expiresAt: 1, relay: "https://relay.example")
    #expect(
      text(linked.encodedBody())
        == #"{"code":"ABCD-1234","expiresAt":1,"relay":"https://relay.example"}"#)
    #expect(try PairingOffer.decoded(body: linked.encodedBody()) == linked)
    #expect(
      refusal { () throws(Refusal) in try PairingOffer.decoded(body: bytes(#"{"code":"a"}"#)) }?
        .code
        == .badMessage)
  }

  @Test func pairingRequestSurvivesTheRoundTrip() throws {
    let longest = String(repeating: "aZ0_", count: Limits.wrappedKeyCharacters / 4)
    for wrapped in [nil, "_-A", longest] {
      let request = PairingRequest(
        zones: [Name(trusted: "Todos")], isReadOnly: true, expiresIn: 60, wrapped: wrapped)
      #expect(try PairingRequest.decoded(body: request.encodedBody()) == request)
    }
    #expect(
      text(PairingRequest(wrapped: "_-A").encodedBody()) == #"{"wrapped":"_-A"}"#)
    #expect(try PairingRequest.decoded(body: []) == PairingRequest())
    #expect(try PairingRequest.decoded(body: bytes(#"{"wrapped":null}"#)) == PairingRequest())
  }

  @Test(
    arguments: [
      #""""#, "5", "[]", #""AAA=""#, #""AA A""#, #""A+A/""#, #""A""#, #""AB""#, #""é""#,
      #""\#(String(repeating: "A", count: Limits.wrappedKeyCharacters + 4))""#,
    ])
  func wrongWrappedKeysAreRefused(_ value: String) {
    #expect(
      refusal { () throws(Refusal) in
        try PairingRequest.decoded(body: bytes(#"{"wrapped":\#(value)}"#))
      }
        == Refusal(
          .badRequest,
          "`wrapped` must be 1 to 8192 characters of Base64 for URLs, without padding."))
  }

  @Test func timeAnswerSurvivesTheRoundTrip() throws {
    #expect(text(TimeAnswer(time: 5).encodedBody()) == #"{"time":5}"#)
    #expect(try TimeAnswer.decoded(body: bytes(#"{"time":5}"#)) == TimeAnswer(time: 5))
    #expect(
      refusal { () throws(Refusal) in try TimeAnswer.decoded(body: bytes(#"{"time":-5}"#)) }?.code
        == .badMessage)
  }

  @Test func deviceListSurvivesTheRoundTrip() throws {
    let devices = (1...3).map { index in
      Device(
        id: DeviceID(rawValue: UInt64(index)),
        description: DeviceDescription(
          deviceName: "d\(index)", platform: "linux", appVersion: "1.0"),
        lastSeen: Int64(index), connected: index == 2)
    }
    for list in [DeviceList([]), DeviceList(devices)] {
      #expect(try DeviceList.decoded(body: list.encodedBody()) == list)
    }
    #expect(
      text(devices[1].encodedBody())
        == #"{"deviceID":"0000000000000002","deviceName":"d2","platform":"linux","#
        + #""appVersion":"1.0","lastSeen":2,"connected":true}"#)
    let broken = #"{"devices":[{"lastSeen":1}]}"#
    #expect(
      refusal { () throws(Refusal) in try DeviceList.decoded(body: bytes(broken)) }
        == Refusal(.badMessage, "`devices[0].deviceID` is missing."))
  }
}
