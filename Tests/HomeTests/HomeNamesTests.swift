import LockstepClient
import LockstepModel
import Testing

@testable import LockstepHome

/// Times at which a process that holds a home asks the relay for the devices' names.
struct HomeNamesTests {
  private let start = Instant(nanoseconds: 0)
  private let laptop = DeviceID(rawValue: 2)

  private func status(_ transport: Transport?) -> AgentReport {
    var status = AgentStatus()
    status.transport = transport
    return .status(status)
  }

  private func change(by device: DeviceID) throws -> AgentReport {
    let name = try #require(Name("a"))
    return .changed([
      Record(
        zone: name, name: name, type: name, fields: [123, 125], modifiedAt: 1, device: device,
        tag: 1)
    ])
  }

  @Test func aNewConnectionIsAskedOnce() {
    var schedule = NamesSchedule()
    schedule.recordView(at: start)
    #expect(schedule.beginRequestIfDue(at: start) == false)
    schedule.handleReport(status(.webSocket))
    #expect(schedule.beginRequestIfDue(at: start) == true)
    schedule.handleReport(status(.webSocket))
    schedule.handleAnswer([laptop: "laptop"])
    #expect(schedule.beginRequestIfDue(at: start) == false)
    schedule.handleReport(status(nil))
    schedule.handleReport(status(.longPoll))
    #expect(schedule.beginRequestIfDue(at: start) == true)
  }

  @Test func whoeverHasNoNameIsAskedAboutOnce() throws {
    var schedule = NamesSchedule()
    schedule.handleReport(status(.webSocket))
    #expect(schedule.beginRequestIfDue(at: start) == true)
    schedule.handleAnswer([:])
    schedule.handleReport(try change(by: laptop))
    #expect(schedule.beginRequestIfDue(at: start) == true)
    schedule.handleAnswer([:])
    schedule.handleReport(try change(by: laptop))
    #expect(schedule.beginRequestIfDue(at: start) == false)
  }

  @Test func whatIsLookedAtIsAskedAboutNowAndThen() {
    var schedule = NamesSchedule()
    schedule.handleReport(status(.webSocket))
    #expect(schedule.beginRequestIfDue(at: start) == true)
    schedule.recordView(at: start)
    #expect(schedule.beginRequestIfDue(at: start) == false)
    schedule.handleAnswer(nil)
    let later = start.advanced(milliseconds: NamesSchedule.viewIntervalMilliseconds)
    schedule.recordView(at: later)
    #expect(schedule.beginRequestIfDue(at: later) == true)
  }
}
