import LockstepJSON
import LockstepModel
import Testing

@testable import LockstepWire

@Suite struct RelayMessageTests {
  static let token = ChangeToken(generation: 0xAB, sequence: 7)

  @Test func messagesHaveTheFormOfTheProtocol() throws {
    let id = try #require(BatchID(text: "0b5e7c1e-3f0a-4d6c-9a52-7d0f6a1b2c3d"))
    let name = Name(trusted: "a")
    let tombstone = Record(
      zone: Name(trusted: "Z"), name: name, type: Name(trusted: "T"), fields: nil, modifiedAt: 0,
      device: DeviceID(rawValue: 0), tag: 0)
    let answer = SaveAnswer(
      since: Self.token, token: Self.token,
      results: [
        .saved(name: name, tag: 8), .conflict(name: name, record: tombstone),
        .refused(name: name, Refusal(.clockAhead, "Late.", relayTime: 5)),
      ])
    let expected: [(RelayMessage, String)] = [
      (
        .welcome(
          account: AccountID(rawValue: 1), device: DeviceID(rawValue: 0xAB), token: Self.token,
          time: 5, keepAliveMilliseconds: 25_000),
        #"{"op":"welcome","accountID":"0000000000000001","deviceID":"00000000000000ab","#
          + #""token":"ab.7","time":5,"keepAlive":25000}"#
      ),
      (
        .saved(id: id, answer),
        #"{"op":"saved","id":"0b5e7c1e-3f0a-4d6c-9a52-7d0f6a1b2c3d","since":"ab.7","#
          + #""token":"ab.7","results":[{"name":"a","tag":8},{"name":"a","conflict":"#
          + #"{"zone":"Z","name":"a","type":"T","fields":null,"modifiedAt":0,"#
          + #""device":"0000000000000000","tag":0,"deleted":true}},{"name":"a","error":"#
          + #"{"type":"urn:lockstep:problem:clockAhead","#
          + #""title":"The record's time is in the future","status":422,"code":"clockAhead","#
          + #""detail":"Late.","time":5}}]}"#
      ),
      (.changed(token: Self.token), #"{"op":"changed","token":"ab.7"}"#),
      (
        .time(id: "x", t0: try #require(JSONNumber("1.50")), t1: 2, t2: 3),
        #"{"op":"time","id":"x","t0":1.50,"t1":2,"t2":3}"#
      ),
      (
        .error(id: nil, Refusal(.badMessage, "No.")),
        #"{"op":"error","code":"badMessage","detail":"No."}"#
      ),
      (
        .error(id: "x", Refusal(.tooManyRequests, "Slow down.", retryAfterMilliseconds: 2000)),
        #"{"op":"error","id":"x","code":"tooManyRequests","detail":"Slow down.","retryAfter":2}"#
      ),
      (.reconnect(withinMilliseconds: 15_000), #"{"op":"reconnect","within":15000}"#),
      (
        .changes(id: nil, ChangePage(since: nil, token: Self.token, more: true, changes: [])),
        #"{"op":"changes","since":null,"token":"ab.7","more":true,"changes":[]}"#
      ),
    ]
    for (message, json) in expected {
      #expect(text(message.encoded()) == json)
      #expect(try RelayMessage.decode(bytes(json)) == message)
    }
  }

  @Test func randomMessageSurvivesTheRoundTrip() throws {
    var random = SeededRandom(seed: 31)
    for _ in 0..<2_000 {
      let message = random.relayMessage()
      #expect(try RelayMessage.decode(message.encoded()) == message)
    }
  }

  @Test func truncatedMessageIsRefused() {
    var random = SeededRandom(seed: 32)
    for _ in 0..<30 {
      let whole = random.relayMessage().encoded()
      for length in 0..<whole.count {
        let refusal = refusal { () throws(Refusal) in
          try RelayMessage.decode(Array(whole[..<length]))
        }
        #expect(refusal?.code == .badJSON)
      }
    }
  }

  @Test func mutatedMessageIsDecodedOrRefused() {
    var random = SeededRandom(seed: 33)
    var refused = 0
    for _ in 0..<20_000 {
      var text = random.relayMessage().encoded()
      for _ in 0..<random.count(1...3) { text.mutate(using: &random) }
      do throws(Refusal) {
        let message = try RelayMessage.decode(text)
        #expect(refusal { () throws(Refusal) in try RelayMessage.decode(message.encoded()) } == nil)
      } catch {
        refused += 1
        #expect(!error.detail.isEmpty)
      }
    }
    #expect(refused > 5_000)
  }

  @Test func whatANewerRelaySaysIsPassedOver() throws {
    #expect(
      try RelayMessage.decode(bytes(#"{"op":"sing","song":[1,{"x":null}]}"#))
        == .unknown(op: "sing"))
    #expect(
      try RelayMessage.decode(bytes(#"{"op":"changed","token":"ab.7","why":{"a":[]},"op2":1}"#))
        == .changed(token: Self.token))
    let code = #"{"op":"error","id":"x","code":"tooLoud","detail":"Shh."}"#
    #expect(
      try RelayMessage.decode(bytes(code)) == .error(id: "x", Refusal(.internalError, "Shh.")))
  }

  @Test(arguments: [
    #"{"op":"welcome"}"#, #"{"op":"welcome","accountID":"1"}"#,
    #"{"op":"saved","since":"1.1","token":"1.1","results":[]}"#,
    #"{"op":"saved","id":"x","since":"1.1","token":"1.1","results":[]}"#, #"{"op":"changed"}"#,
    #"{"op":"changed","token":null}"#, #"{"op":"changed","token":"1"}"#,
    #"{"op":"changes","token":"1.1","more":false}"#, #"{"op":"changes","more":false,"changes":[]}"#,
    #"{"op":"changes","token":"1.1","changes":[]}"#,
    #"{"op":"changes","token":"1.1","more":false,"changes":[{}]}"#,
    #"{"op":"time","id":"1","t0":1,"t1":2}"#, #"{"op":"time","id":"1","t0":1,"t1":-2,"t2":1}"#,
    #"{"op":"error"}"#, #"{"op":"error","code":5}"#, #"{"op":5}"#, "{}",
  ]) func brokenMessageIsRefused(_ text: String) {
    let refusal = refusal { () throws(Refusal) in try RelayMessage.decode(bytes(text)) }
    #expect(refusal?.code == .badMessage || refusal?.code == .badChangeToken)
  }
}
