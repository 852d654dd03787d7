import LockstepApps
import LockstepJSON
import LockstepLanguage
import LockstepModel
import Testing

@testable import Lockstep

struct HomeRequestTests {
  private static let all: [HomeRequest] = [
    .order(app: "timer", ["do": "start", "length": 5]), .order(app: "memo", [:]),
    .order(app: "memo", [:], OrderTerms(before: 0, after: 2_000, asksFirst: true)),
    .order(app: "memo", [:], OrderTerms(before: 60_000, after: 0, asksFirst: false)),
    .show(app: "clipboard", ["show": "list"]), .watch(app: "memo", [:], isTicking: true),
    .watch(app: "memo", ["show": "list"], isTicking: false), .status, .names([:]),
    .names([DeviceID(rawValue: 5): "phone", DeviceID(rawValue: 7): "电脑"]), .sync(milliseconds: 0),
    .sync(milliseconds: 60_000), .credentials, .mirror(["do": "look"]), .mirrorStatus,
    .watchMirror, .answerRestore(app: "habits"),
    .setSyncing(zone: Name(trusted: "Clipboard"), true),
    .setSyncing(zone: Name(trusted: "Clipboard"), false),
  ]

  @Test(arguments: all.indices)
  func aRequestSurvivesItsLine(_ index: Int) throws {
    let request = Self.all[index]
    let line = request.line.serialized()
    #expect(!line.contains(UInt8(ascii: "\n")))
    #expect(HomeRequest(try JSONValue(parsing: line)) == request)
  }

  @Test(arguments: [
    "{}", "[]", #"{"verb":"dance"}"#, #"{"verb":1}"#, #"{"verb":"order"}"#,
    #"{"verb":"order","app":"timer"}"#, #"{"verb":"order","app":"timer","order":"start"}"#,
    #"{"verb":"order","app":"timer","order":{},"terms":{}}"#,
    #"{"verb":"order","app":"timer","order":{},"terms":{"before":0,"after":-1,"asksFirst":true}}"#,
    #"{"verb":"show","question":{}}"#, #"{"verb":"watch","app":"timer","question":[]}"#,
    #"{"verb":"restore"}"#, #"{"verb":"syncing","zone":"","on":true}"#,
    #"{"verb":"syncing","zone":"Clipboard"}"#, #"{"verb":"sync"}"#, #"{"verb":"names"}"#,
    #"{"verb":"mirror"}"#, #"{"verb":"mirror","request":"look"}"#,
    #"{"verb":"names","names":{"x":"phone"}}"#, #"{"verb":"names","names":{"0000000000000005":5}}"#,
    #"{"verb":"sync","milliseconds":-1}"#, #"{"verb":"sync","milliseconds":60001}"#,
  ])
  func whatIsNoRequestIsNil(_ text: String) throws {
    #expect(HomeRequest(try JSONValue(parsing: Array(text.utf8))) == nil)
  }

  @Test func aWatcherThatSaysNothingDoesNotTick() throws {
    let line = try JSONValue(
      parsing: Array(#"{"verb":"watch","app":"memo","question":{},"more":1}"#.utf8))
    #expect(HomeRequest(line) == .watch(app: "memo", [:], isTicking: false))
  }

  @Test func aRequestToTheMirrorIsAnsweredInThePersonsLanguage() {
    #expect(
      HomeRequest.mirror(["do": "look"]).answered(in: .japanese)
        == .mirror(["do": "look", "language": "ja"]))
    // A state has all languages.
    #expect(HomeRequest.watchMirror.answered(in: .japanese) == .watchMirror)
  }
}
