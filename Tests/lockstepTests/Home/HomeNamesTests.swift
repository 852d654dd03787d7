import LockstepClient
import LockstepModel
import Testing

@testable import LockstepCommand

/// Times at which a process that holds a home asks the relay for the devices' names.
struct HomeNamesTests {
  private let start = Instant(nanoseconds: 0)
  private let laptop = DeviceID(rawValue: 2)

  private func status(_ transport: Transport?) -> AgentReport {
    var status = SyncStatus()
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
    var need = NamesNeed()
    need.shown(at: start)
    #expect(need.takeTurn(at: start) == false)
    need.told(status(.webSocket))
    #expect(need.takeTurn(at: start) == true)
    need.told(status(.webSocket))
    need.answered([laptop: "laptop"])
    #expect(need.takeTurn(at: start) == false)
    need.told(status(nil))
    need.told(status(.longPoll))
    #expect(need.takeTurn(at: start) == true)
  }

  @Test func whoeverHasNoNameIsAskedAboutOnce() throws {
    var need = NamesNeed()
    need.told(status(.webSocket))
    #expect(need.takeTurn(at: start) == true)
    need.answered([:])
    need.told(try change(by: laptop))
    #expect(need.takeTurn(at: start) == true)
    need.answered([:])
    need.told(try change(by: laptop))
    #expect(need.takeTurn(at: start) == false)
  }

  @Test func whatIsLookedAtIsAskedAboutNowAndThen() {
    var need = NamesNeed()
    need.told(status(.webSocket))
    #expect(need.takeTurn(at: start) == true)
    need.shown(at: start)
    #expect(need.takeTurn(at: start) == false)
    need.answered(nil)
    let later = start.advanced(milliseconds: NamesNeed.lookMilliseconds)
    need.shown(at: later)
    #expect(need.takeTurn(at: later) == true)
  }
}
