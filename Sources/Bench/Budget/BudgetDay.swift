import LockstepClient
import LockstepModel
import LockstepSimulation
import LockstepStorage

/// Way by which the devices of a simulated day learn of changes.
package enum BudgetWay: Hashable, Sendable {
  case transport(Transport)
  /// A device connects while it is used, and for the moment after a push has woken it.
  case wake

  package static let all = Transport.allCases.map { BudgetWay.transport($0) } + [.wake]

  package var text: String {
    switch self {
    case .transport(let transport): transport.rawValue
    case .wake: "wake"
    }
  }
}

/// A working day of one person with one app on three devices that learn of changes in one way. Runs
/// in virtual time, with the real relay and agents, and counts their network use.
package struct BudgetDay: Sendable {
  package var app: KnownApp
  package var way: BudgetWay
  package var seed: UInt64

  package static let devices = 3
  private static let hours: Int64 = 24

  package init(app: KnownApp, way: BudgetWay, seed: UInt64) {
    self.app = app
    self.way = way
    self.seed = seed
  }

  package func run() throws(StorageError) -> BudgetRow {
    var random = SeededRandom(seed: seed)
    let relay = try VirtualRelay(accounts: 1, devices: BudgetDay.devices) { configuration in
      if way == .wake { configuration.wakes = DayPushService.configuration }
    }
    let timeline = relay.environment.timeline
    var devices: [DayDevice] = []
    for (index, credentials) in relay.credentials.enumerated() {
      let device = try DayDevice(
        credentials, app: app.app, way: way, relay: relay, index: index + 1,
        random: random.branch())
      devices.append(device)
      device.begin()
    }
    let service = way == .wake ? try DayPushService(relay, devices) : nil
    let script = DayScript(of: app, devices: devices.count, random: &random)
    for act in script.acts {
      timeline.at(Span.milliseconds(act.at)) { devices[act.device].perform(act.what) }
    }
    for hour in 1...BudgetDay.hours {
      timeline.at(Span.seconds(hour * 3_600)) { for device in devices { device.endHour() } }
    }
    while timeline.step(until: Span.seconds(BudgetDay.hours * 3_600)) {}
    var row = try row(devices, relay)
    row.faults += service?.faults ?? []
    return row
  }

  private func row(_ devices: [DayDevice], _ relay: VirtualRelay) throws(StorageError) -> BudgetRow
  {
    var row = BudgetRow(app: app, way: way)
    var shown: [[Record]] = []
    for device in devices {
      var before = Traffic()
      for hour in device.hours {
        row.requests = max(row.requests, hour.requestCount - before.requestCount)
        before = hour
      }
      row.bytes = max(row.bytes, before.bytesSent + before.bytesReceived)
      let idleHours = (DayScript.idle.upperBound - DayScript.idle.lowerBound) / DayScript.hour
      row.idleWakes = max(row.idleWakes, device.idleWakes / Int(idleHours))
      row.wakeups = max(row.wakeups, device.wakeups)
      row.edits += device.edits
      row.faults += device.faults
      if !device.isInSync { row.faults.append("ends \(device.status.state)") }
      shown.append(try device.records())
    }
    if !shown.allSatisfy({ $0 == shown.first }) { row.faults.append("devices differ in the end") }
    row.faults += relay.environment.faults
    return row
  }
}

extension Traffic {
  /// Number of requests to the relay: HTTP calls, and messages on a socket.
  fileprivate var requestCount: Int { requests + messages }
}

/// Cost of a day for the device with the highest cost.
package struct BudgetRow: Hashable, Sendable {
  package var app: KnownApp
  package var way: BudgetWay
  /// Sum over all devices.
  package var edits = 0
  /// Requests in the busiest hour: HTTP requests, and messages on a socket.
  package var requests = 0
  /// Bytes sent and received in the whole day, including headers and frames.
  package var bytes = 0
  /// Wake-ups per hour while no device is used, and in the whole day; those by a person's own acts
  /// do not count.
  package var idleWakes = 0
  package var wakeups = 0
  /// Faults, one sentence each.
  package var faults: [String] = []

  package init(app: KnownApp, way: BudgetWay) {
    self.app = app
    self.way = way
  }
}
