import LockstepModel
import LockstepStorage
import LockstepWire

@testable import LockstepClient

/// Devices and their relay in virtual time. Bytes have a latency, jobs are done at once, and
/// everything is deterministic.
final class Stage {
  let relay: TestRelay
  /// True time, milliseconds since the Unix epoch.
  private(set) var now: Int64 = 1_000_000_000
  var latencyMilliseconds: Int64 = 10
  private(set) var devices: [TestDevice] = []
  private var events: [(at: Int64, number: Int, run: () throws -> Void)] = []
  private var eventNumber = 0

  init(_ rules: StoreRules = StoreRules()) throws {
    relay = try TestRelay(rules)
    relay.now = now
    relay.pingAll()
  }

  func device(
    _ number: UInt64, apps: [any App] = [TestApp()],
    transports: [Transport] = [.webSocket, .longPoll, .poll], clockError: Int64 = 0,
    reportsMilestones: Bool = false, scope: DeviceScope = .everything
  ) throws -> TestDevice {
    let device = try TestDevice(
      number, self, apps: apps, transports: transports, clockError: clockError,
      reportsMilestones: reportsMilestones, scope: scope)
    devices.append(device)
    return device
  }

  /// Advances the time.
  func run(_ milliseconds: Int64 = 1_000) throws {
    let end = now + milliseconds
    for device in devices {
      try device.drain()
      try device.deliverOutput()
    }
    while let next = nextTime(), next <= end {
      now = max(now, next)
      relay.now = now
      if let index = events.indices.min(by: { order(events[$0]) < order(events[$1]) }),
        events[index].at <= now
      {
        let event = events.remove(at: index)
        try event.run()
      } else if relay.pingAt <= now {
        relay.pingAll()
      } else if let connection = relay.connections.first(where: { ($0.parkedUntil ?? .max) <= now })
      {
        connection.endWait()
      } else {
        for device in devices { try device.tick() }
      }
      for device in devices { try device.deliverOutput() }
    }
    now = end
    relay.now = end
  }

  func later(_ run: @escaping () throws -> Void) {
    eventNumber += 1
    events.append((now + latencyMilliseconds, eventNumber, run))
  }

  private func order(_ event: (at: Int64, number: Int, run: () throws -> Void)) -> (Int64, Int) {
    (event.at, event.number)
  }

  private func nextTime() -> Int64? {
    var times = events.map(\.at) + [relay.pingAt] + relay.connections.compactMap(\.parkedUntil)
    for device in devices where device.isAlive && !device.isSuspended {
      if let deadline = device.agent.nextDeadline { times.append(device.trueTime(of: deadline)) }
    }
    // Overdue deadlines are reached now.
    return times.min().map { max($0, now) }
  }
}
