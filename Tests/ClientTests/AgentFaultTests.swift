import LockstepJSON
import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepClient

/// Random sequences of edits, cuts, crashes, lost answers, lost cursors and wrong clocks, drawn
/// from a seed: no reported edit is lost, none counts twice, and in the end all devices show the
/// same.
struct AgentFaultTests {
  @Test(arguments: 0..<60)
  func noEditIsLostAndNoneCountsTwice(_ seed: Int) throws {
    var story = try FaultStory(seed: UInt64(seed))
    for _ in 0..<80 { try story.step() }
    try story.calmDown()
    try story.check()
  }
}

private struct FaultStory {
  private let stage: Stage
  private var random: SeededRandom
  private var devices: [TestDevice] = []
  /// Number of edits reported as made, by device and record.
  private var made: [[Int64]] = []
  private let names = ["a", "b", "c"]
  private let seed: UInt64

  init(seed: UInt64) throws {
    self.seed = seed
    random = SeededRandom(seed: seed)
    stage = try Stage()
    stage.latencyMilliseconds = Int64.random(in: 1...80, using: &random)
    let transports: [[Transport]] = [
      [.webSocket], [.longPoll], [.poll], [.webSocket, .longPoll, .poll],
    ]
    for number in 1...3 {
      let chosen = transports[Int.random(in: 0..<transports.count, using: &random)]
      let error = Int64.random(in: -100_000...100_000, using: &random)
      devices.append(
        try stage.device(UInt64(number), transports: chosen, clockError: error))
      made.append([0, 0, 0])
    }
  }

  mutating func step() throws {
    let index = Int.random(in: 0..<devices.count, using: &random)
    let device = devices[index]
    switch Int.random(in: 0..<22, using: &random) {
    case 0..<10:
      let name = Int.random(in: 0..<names.count, using: &random)
      if case .success? = try device.edit(.count(names[name])) { made[index][name] += 1 }
    case 18:
      let text = JSONValue.string("\(device.id.text) at \(stage.now)")
      try device.edit(.fields("draft", TestApp.draft, ["text": text]))
    case 19:
      _ = try device.edit(
        Bool.random(using: &random) ? .note("note", "\(stage.now)") : .delete("note"))
    case 10: try device.cut()
    case 11: device.isCutOff = true
    case 12, 13: for device in devices { device.isCutOff = false }
    case 14: try device.restart()
    case 15:
      // One answer is lost in transit.
      var isLost = false
      let lost = DeviceID(rawValue: UInt64(index + 1))
      stage.relay.onReceive = { connection in
        guard connection.device == lost, !isLost else { return nil }
        isLost = true
        return .loseAnswer
      }
    case 16: device.clockError += Int64.random(in: -200_000...200_000, using: &random)
    case 20:
      let code: RefusalCode = Bool.random(using: &random) ? .tokenExpired : .filterChanged
      stage.relay.expiries[device.id] = Refusal(code, "gone")
    case 21:
      // The relay has lost nothing, but the devices cannot know.
      let newest = try stage.relay.newestToken().sequence
      stage.relay.expiries[device.id] = Refusal(
        .storeRestored, "restored", restoredThrough: Int64.random(in: 0...newest, using: &random))
    case 17: try stage.relay.save("other", TestApp.note, ["text": .string("\(stage.now)")])
    default: break
    }
    try stage.run(Int64.random(in: 0...800, using: &random))
  }

  mutating func calmDown() throws {
    stage.relay.onReceive = nil
    for device in devices { device.isCutOff = false }
    try stage.run(300_000)
  }

  func check() throws {
    for (index, name) in names.enumerated() {
      let expected = devices.indices.reduce(into: [Int64]()) { $0.append(made[$1][index]) }
      for device in devices {
        let fields = try device.record(name)?.value
        let found = devices.map { fields?[$0.id.text]?.int64 ?? 0 }
        #expect(found == expected, "seed \(seed), record \(name) on \(device.id.text)")
        #expect(
          try device.record(name)?.tag == stage.relay.record(name)?.tag, "seed \(seed)")
      }
    }
    let relays = try liveRecords(stage.relay).map(\.plain)
    for device in devices {
      #expect(try device.store.allRecords().filter { !$0.isDeleted } == relays, "seed \(seed)")
      #expect(device.status.state == .inSync, "seed \(seed)")
      #expect(try device.store.outbox().isEmpty, "seed \(seed)")
    }
  }

  private func liveRecords(_ relay: TestRelay) throws -> [Record] {
    let read = ReadRequest.changes(
      TestRelay.account, since: nil, zones: .all, limit: Limits.pageRecords)
    guard case .page(let page) = try relay.store.read(read) else { throw TestFault("no page") }
    return page.changes.filter { !$0.isDeleted }.sorted { $0.key < $1.key }
  }
}
