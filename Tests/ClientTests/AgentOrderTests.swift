import LockstepJSON
import LockstepModel
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepClient

/// Orders of a user, and their reports.
struct AgentOrderTests {
  private func synced(_ device: TestDevice, _ id: OrderID) -> AgentStatus? {
    for case .synced(id, let status) in device.reports { return status }
    return nil
  }

  private func read(_ device: TestDevice, _ id: OrderID) throws -> [Record]? {
    for case .read(id, let result) in device.reports { return try result.get() }
    return nil
  }

  @Test func recordsAreReadAfterTheEditsBeforeThem() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    try device.edit(.note("b", "two"))
    try device.edit(.note("a", "one"))
    let one = try device.order { .readRecord($0, .desk("a")) }
    let all = try device.order { .readRecords($0, zone: TestApp.zone, type: TestApp.note) }
    let none = try device.order { .readRecord($0, .desk("z")) }
    let everything = try device.order { .readAll($0) }
    #expect(try read(device, one)?.map(\.text) == ["one"])
    #expect(try read(device, all)?.map(\.text) == ["one", "two"])
    #expect(try read(device, none) == [])
    #expect(try read(device, everything)?.count == 2)
  }

  @Test func anEditThatMakesNoSenseIsRefusedWithItsReason() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    let edit = EditRequest(key: .desk("a"), type: TestApp.note) {
      (_) throws(EditRefusal) -> JSONValue? in throw EditRefusal("nothing runs")
    }
    #expect(throws: EditFailure.refused(EditRefusal("nothing runs"))) {
      try device.edit(edit)?.get()
    }
    #expect(throws: EditFailure.self) {
      try device.edit(.fields("a", TestApp.note, [1]))?.get()
    }
    #expect(device.changes.isEmpty)
  }

  @Test func aManualSyncBypassesTheBackoff() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    device.isCutOff = true
    try stage.run(300_000)
    device.isCutOff = false
    try device.edit(.note("a", "x"))
    let id = try device.order { .syncNow($0) }
    try stage.run(300)
    #expect(synced(device, id)?.state == .inSync)
    #expect(try stage.relay.record("a")?.text == "x")
  }

  @Test(arguments: [Transport.webSocket, .longPoll, .poll])
  func aManualSyncAsksTheRelay(_ transport: Transport) throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: [transport])
    try stage.run()
    let asked = stage.relay.requests.count
    let id = try device.order { .syncNow($0) }
    #expect(synced(device, id) == nil)
    try stage.run(200)
    #expect(synced(device, id)?.state == .inSync)
    #expect(stage.relay.requests.count > asked)
  }

  @Test func aManualSyncThatFailsSaysSo() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    device.isCutOff = true
    let refused = try device.order { .syncNow($0) }
    try stage.run(1_000)
    guard case .offline = synced(device, refused)?.state else {
      Issue.record("it says \(String(describing: synced(device, refused)?.state))")
      return
    }
    device.isCutOff = false
    try stage.run(60_000)
    stage.relay.onMessage = { _ in .ignore }
    let unanswered = try device.order { .syncNow($0) }
    try stage.run(Limits.syncMilliseconds + 1_000)
    #expect(synced(device, unanswered) != nil)
    #expect(synced(device, unanswered)?.state != .inSync)
    try device.order { _ in .goOffline }
    let off = try device.order { .syncNow($0) }
    #expect(synced(device, off) != nil)
  }

  @Test func theStatusIsToldWhenItChanges() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    try stage.run()
    // Once before it is connected, once after.
    #expect(device.states == [.syncing, .syncing, .inSync])
    #expect(device.status.lastSync != nil)
    device.forgetReports()
    try stage.run(600_000)
    #expect(device.states.isEmpty)
    device.isCutOff = true
    try device.cut()
    try stage.run(100)
    guard case .offline(_, "connection reset")? = device.states.first else {
      Issue.record("reported \(device.states)")
      return
    }
  }

  @Test func aHomeWithoutAnAccountSaysWhatToDo() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    try device.store.write([.setIdentity(nil)])
    try stage.run()
    guard case .failed(let reason) = device.status.state else {
      Issue.record("it says \(device.status.state)")
      return
    }
    #expect(reason.contains("join"))
    #expect(stage.relay.requests.isEmpty)
  }

  @Test func aFullDiskRefusesEditsAndLosesNothing() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    try stage.run()
    try device.edit(.note("a", "before"))
    try stage.run()
    device.fail(.diskFull(path: "home"))
    #expect(throws: EditFailure.storage(.diskFull(path: "home"))) {
      try device.edit(.note("b", "x"))?.get()
    }
    try stage.relay.save("c", TestApp.note, ["text": "theirs"])
    try stage.run(10_000)
    guard case .failed(let reason) = device.status.state else {
      Issue.record("it says \(device.status.state)")
      return
    }
    #expect(reason.contains("space"))
    device.fail(nil)
    try stage.run(120_000)
    #expect(device.status.state == .inSync)
    #expect(try device.text("c") == "theirs")
    #expect(try device.record("b") == nil)
  }

  @Test func stoppingFinishesWhatTheStoreHasBegun() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    try stage.run()
    device.isWorkerStuck = true
    try device.edit(.note("a", "x"))
    try device.order { _ in .stop }
    #expect(!device.reports.contains { if case .stopped = $0 { true } else { false } })
    #expect(device.agent.jobs.count == 1)
    let refused = try device.order { .edit($0, .note("b", "y")) }
    guard case .failure(.stopping)? = device.result(of: refused) else {
      Issue.record("an edit was taken while stopping")
      return
    }
    device.isWorkerStuck = false
    try device.finishStuckJobs()
    #expect(device.reports.contains { if case .stopped = $0 { true } else { false } })
    #expect(device.status.state == .stopped)
    #expect(device.agent.nextDeadline == nil)
    #expect(try device.text("a") == "x")
  }
}
