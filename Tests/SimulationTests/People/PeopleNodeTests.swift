import LockstepApps
import LockstepClient
import LockstepJSON
import LockstepModel
import Stages
import Testing

@testable import LockstepSimulation

struct PeopleNodeTests {
  private func stage(
    seed: UInt64 = 1, seconds: Int = 6, accounts: Int = 2, transport: Transport? = nil,
    people: [KnownApp] = [.timer], apps: [any App] = AppCatalog.all
  ) throws -> FleetStage<PeopleNode> {
    var plan = PeoplePlan()
    (plan.accounts, plan.devices, plan.seconds, plan.seed) = (accounts, 3, seconds, seed)
    plan.transport = transport
    plan.apps = people
    return try FleetStage(accounts: accounts, devices: 3, apps: apps) {
      PeopleNode(plan: plan, random: SeededRandom(seed: seed), at: $0)
    }
  }

  private func finish(_ stage: FleetStage<PeopleNode>) throws -> PeopleResult {
    stage.run(seconds: 120) { !$0.isEmpty }
    let report = try #require(stage.reports.first)
    switch report {
    case .finished(let result): return result
    }
  }

  @Test(arguments: UInt64(1)...8)
  func allDevicesShowWhatTheRulesDemand(_ seed: UInt64) throws {
    let result = try finish(stage(seed: seed))
    #expect(result.isGood, "\(result.faults.joined(separator: "\n"))")
    #expect(result.accounts == 2 && result.equal == 2 && result.asDemanded == 2)
    #expect(result.edits > 10)
  }

  @Test(arguments: KnownApp.allCases)
  func eachAppKeepsWhatItsRuleKeeps(_ app: KnownApp) throws {
    var conflicts = 0
    for seed in UInt64(1)...4 {
      let result = try finish(stage(seed: seed, seconds: 12, people: [app]))
      #expect(result.isGood, "\(seed): \(result.faults.joined(separator: "\n"))")
      #expect(result.edits > 20)
      conflicts += result.conflicts
    }
    // The clipboard has no conflicts: no item is written twice.
    #expect(conflicts > 0 || app == .clipboard)
  }

  @Test func allAppsAtOnceGetOnWithEachOther() throws {
    for seed in UInt64(1)...3 {
      let result = try finish(stage(seed: seed, seconds: 20, people: KnownApp.allCases))
      #expect(result.isGood, "\(seed): \(result.faults.joined(separator: "\n"))")
    }
  }

  /// The content of the older version is lost: people would notice.
  @Test(arguments: [KnownApp.memo, .vault])
  func aRuleThatLosesTextIsFound(_ app: KnownApp) throws {
    let apps = AppCatalog.all.map { $0.name == app.rawValue ? NewerAlone(inner: $0) : $0 }
    let results = try (1...8).map {
      try finish(stage(seed: $0, seconds: 12, people: [app], apps: apps))
    }
    #expect(results.contains { !$0.isGood && $0.equal == $0.accounts })
    let faults: [String] = results.flatMap { $0.faults }
    #expect(faults.contains { $0.contains("lost") })
  }

  @Test(arguments: Transport.allCases)
  func anyTransportServes(_ transport: Transport) throws {
    for seed in UInt64(1)...3 {
      let stage = try stage(seed: seed, transport: transport)
      let result = try finish(stage)
      // A poll may come after the end of the settling phase.
      if transport == .poll { continue }
      #expect(result.isGood, "\(seed): \(result.faults.joined(separator: "\n"))")
      #expect(result.edits > 10)
    }
  }

  @Test func peopleAreOfflineAndAtOdds() throws {
    let results = try (1...12).map { try finish(stage(seed: $0)) }
    #expect(results.allSatisfy { $0.timesOffline > 0 })
    #expect(results.contains { $0.conflicts > 0 })
    #expect(results.contains { $0.refused > 0 })
  }

  @Test func theSameSeedIsTheSamePeople() throws {
    #expect(try finish(stage(seed: 4)) == finish(stage(seed: 4)))
    #expect(try finish(stage(seed: 4)) != finish(stage(seed: 5)))
  }

  @Test func withoutARelayNothingIsInStepAndTheResultSaysWhere() throws {
    let stage = try stage()
    stage.run(seconds: 2)
    stage.killRelay()
    let result = try finish(stage)
    #expect(!result.isGood)
    #expect(result.equal < 2)
    let fault = try #require(result.faults.first)
    #expect(fault.hasPrefix("account 0, device 0 (offline"))
    #expect(fault.contains(" and should show "))
  }

  /// A check goes through all acts of an account. If every check covered all accounts, it would
  /// block the loop for the devices, which would then appear to be behind.
  @Test func aCrowdIsJudgedWhereItChangesAndNotWithEachLook() throws {
    let result = try finish(stage(seconds: 3, accounts: 40, people: KnownApp.allCases))
    #expect(result.isGood, "\(result.faults.joined(separator: "\n"))")
    #expect(result.equal == 40 && result.asDemanded == 40)
    #expect(result.checks >= 40 && result.checks < 40 * 20, "\(result.checks)")
    // Three hundred checks of people for whom nothing changes any more.
    let alone = try stage(seconds: 2)
    alone.run(seconds: 1)
    alone.killRelay()
    let abandoned = try finish(alone)
    #expect(!abandoned.isGood && abandoned.checks < 100, "\(abandoned.checks)")
  }

  /// If each check of a loop is half a minute late, the number of checks is still the same.
  @Test func theTimeThatItLosesItselfIsNoDevicesFault() {
    var plan = PeoplePlan()
    (plan.accounts, plan.devices, plan.seconds) = (1, 2, 1)
    var moment = Moment(instant: Instant(nanoseconds: 0), wall: 0)
    var node = PeopleNode(plan: plan, random: SeededRandom(seed: 1), at: moment)
    var (looks, isOver) = (0, false)
    while !isOver, looks < 1_000 {
      looks += 1
      moment.instant = moment.instant.advanced(milliseconds: 31_000)
      node.handle(.deadlineReached, at: moment)
      while let action = node.nextAction() {
        if case .report(.finished) = action { isOver = true }
      }
    }
    #expect(isOver && looks >= 300)
  }

  @Test func itTakesAsLongAsThePlanSays() throws {
    let stage = try stage(seconds: 6)
    stage.run(seconds: 6)
    #expect(stage.reports.isEmpty)
    stage.run(seconds: 31)
    #expect(stage.reports.count == 1)
  }
}

/// An app in whose conflicts the newer version wins, whatever it replaces.
private struct NewerAlone: App, Resolver {
  let inner: any App

  var name: String { inner.name }
  var zone: Name { inner.zone }
  var types: [Name] { inner.types }

  func resolver(for type: Name) -> (any Resolver)? {
    inner.resolver(for: type) == nil ? nil : self
  }

  func resolve(_ conflict: Conflict) -> Resolution {
    let (local, server) = (conflict.local, conflict.server)
    let isLocalNewer = (local.modifiedAt, local.device) > (server.modifiedAt, server.device)
    return .merged(fields: isLocalNewer ? local.fields : server.fields, copies: [])
  }

  func outcome(of order: JSONValue, on state: AppState) throws(EditRefusal) -> AppOutcome {
    try inner.outcome(of: order, on: state)
  }
}
