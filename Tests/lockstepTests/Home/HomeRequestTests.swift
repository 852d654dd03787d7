import Apps
import Changes
import Testing

@testable import lockstep

struct HomeRequestTests {
  private static let all: [HomeRequest] =
    [
      TimerEvent.start(length: nil), .start(length: 1_500_000), .pause, .resume, .stop, .skip,
      .snooze(length: nil), .snooze(length: 60_000),
    ].map { .timer($0) } + [
      .screen, .watch(isTicking: true), .watch(isTicking: false), .status, .sync(milliseconds: 0),
      .sync(milliseconds: 60_000), .credentials,
    ]

  @Test(arguments: all.indices)
  func aRequestSurvivesItsLine(_ index: Int) throws {
    let request = Self.all[index]
    let line = request.line.serialized()
    #expect(!line.contains(UInt8(ascii: "\n")))
    #expect(HomeRequest(try JSONValue(parsing: line)) == request)
  }

  @Test(arguments: [
    "{}", "[]", #"{"verb":"dance"}"#, #"{"verb":1}"#, #"{"verb":"timer"}"#,
    #"{"verb":"timer","event":"explode"}"#, #"{"verb":"sync"}"#,
    #"{"verb":"sync","milliseconds":-1}"#, #"{"verb":"sync","milliseconds":60001}"#,
  ])
  func whatIsNoRequestIsNil(_ text: String) throws {
    #expect(HomeRequest(try JSONValue(parsing: Array(text.utf8))) == nil)
  }

  @Test func aWatcherThatSaysNothingDoesNotTick() throws {
    let line = try JSONValue(parsing: Array(#"{"verb":"watch","more":1}"#.utf8))
    #expect(HomeRequest(line) == .watch(isTicking: false))
  }
}
