import LockstepModel
import LockstepRuntime
import LockstepWire
import Testing

@testable import LockstepRelay

struct AccessNoteTests {
  private func notes(of relay: TestRelay) -> [AccessLogEntry] {
    relay.reports.compactMap { report in
      if case .answered(let note) = report { note } else { nil }
    }
  }

  @Test func everyRequestIsNotedOnceWithoutItsQuery() throws {
    let relay = TestRelay {
      $0.isOpen = true
      $0.reportsRequests = true
    }
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    #expect(try client.call("GET", "/v1/time?token=secret").status == 200)
    #expect(try client.call("GET", "/v1/nowhere").status == 404)
    let socket = try SocketClient(relay, as: device)
    let notes = notes(of: relay)
    #expect(notes.map(\.path).prefix(3) == ["/v1/accounts", "/v1/time", "/v1/nowhere"])
    #expect(notes.map(\.status).prefix(3) == [201, 200, 404])
    #expect(notes.last?.path == "/v1/socket")
    #expect(notes.last?.status == 101)
    #expect(notes.count == 4)
    #expect(notes[1].bytes > 0)
    withExtendedLifetime(socket) {}
  }

  @Test func whoAsksThroughATrustedProxyIsNamed() throws {
    let relay = TestRelay {
      $0.reportsRequests = true
      $0.trustedProxies = IPNetwork("192.0.2.0/24").map { [$0] } ?? []
    }
    let client = HTTPClient(relay)
    let forwarded = [("X-Forwarded-For", "198.51.100.7")]
    #expect(try client.call("GET", "/v1/time", headers: forwarded).status == 200)
    let note = try #require(notes(of: relay).last)
    #expect(note.client.text == "198.51.100.7")
    #expect(PeerNetwork(of: note.peer).text != note.client.text)
  }

  @Test func aLongPollIsNotedAtItsEndAndWhoGoesEarlyToo() throws {
    let relay = TestRelay {
      $0.isOpen = true
      $0.reportsRequests = true
    }
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    let token = try client.call("GET", "/v1/changes", token: device.token).json?["token"]?.string
    let before = notes(of: relay).count
    let path = "/v1/changes?wait=30&since=\(try #require(token))"
    client.send("GET", path, token: device.token)
    relay.runUntilIdle()
    #expect(notes(of: relay).count == before)
    relay.advance(30_000)
    let note = try #require(notes(of: relay).last)
    #expect(note.milliseconds == 30_000)
    #expect(note.status == 200)
    client.send("GET", path, token: device.token)
    relay.runUntilIdle()
    relay.cut(client.id, .failed("reset"))
    #expect(notes(of: relay).last?.status == 0)
    #expect(notes(of: relay).count == before + 2)
  }

  @Test func nobodyAskedForNotes() throws {
    let relay = TestRelay()
    _ = try relay.newAccount()
    #expect(notes(of: relay).isEmpty)
  }
}
