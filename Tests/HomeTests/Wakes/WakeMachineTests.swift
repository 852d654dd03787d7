import LockstepModel
import Testing

@testable import LockstepHome

/// Registration, sleep and wake of a device, event by event.
struct WakeMachineTests {
  private static let idle: Int64 = 300_000
  private static let endpoint = "https://push.example/1"

  /// The machine at a time that the test moves.
  private struct Scene {
    var machine: WakeMachine
    private(set) var now = Instant(nanoseconds: 1_000_000_000)

    init(idle: Int64 = WakeMachineTests.idle) {
      machine = WakeMachine(idleMilliseconds: idle, at: now)
    }

    mutating func actions() -> [WakeMachine.Action] {
      var all: [WakeMachine.Action] = []
      while let action = machine.nextAction(at: now) { all.append(action) }
      return all
    }

    mutating func after(_ event: WakeMachine.Event) -> [WakeMachine.Action] {
      machine.handle(event, at: now)
      return actions()
    }

    mutating func pass(_ milliseconds: Int64) -> [WakeMachine.Action] {
      now = now.advanced(milliseconds: milliseconds)
      return actions()
    }

    /// Moves to the machine's own next deadline.
    mutating func passToDeadline() throws -> [WakeMachine.Action] {
      now = max(now, try #require(machine.deadline))
      return actions()
    }

    /// Registers, until pushes are proved to arrive.
    mutating func register() {
      _ = actions()
      for event: WakeMachine.Event in [
        .registered, .endpoint(WakeMachineTests.endpoint), .offered(isVerified: true),
      ] {
        _ = after(event)
      }
    }

    /// Registers, and falls asleep.
    mutating func fallAsleep() {
      register()
      _ = after(.status(isSettled: true, isAsleep: false))
      _ = pass(WakeMachineTests.idle)
      _ = after(.status(isSettled: false, isAsleep: true))
    }
  }

  @Test func aNewKeyOfTheRelayMakesItRegisterAgain() {
    var scene = Scene()
    _ = scene.actions()
    #expect(scene.after(.keyReplaced) == [], "it registers for that key in any case")
    scene.register()
    #expect(scene.after(.keyReplaced) == [.register])
    #expect(scene.after(.registered) == [])
    #expect(
      scene.after(.endpoint("https://push.example/2")) == [
        .offer(endpoint: "https://push.example/2")
      ])
  }

  @Test func itRegistersStepByStepAndProvesTheWay() {
    var scene = Scene()
    #expect(scene.actions() == [.register])
    #expect(scene.after(.registered) == [])
    #expect(scene.after(.endpoint(Self.endpoint)) == [.offer(endpoint: Self.endpoint)])
    #expect(scene.after(.offered(isVerified: false)) == [])
    #expect(scene.after(.code("old")) == [.prove(code: "old")])
    #expect(scene.after(.codeRefused) == [])
    #expect(scene.after(.code("new")) == [.prove(code: "new")])
    #expect(scene.after(.proved) == [.report(nil)])
    #expect(scene.machine.stage == .ready)
  }

  @Test func itNeverSleepsBeforePushesAreProved() {
    var scene = Scene(idle: 0)
    #expect(scene.after(.status(isSettled: true, isAsleep: false)) == [.register])
    #expect(scene.after(.registered) == [])
    #expect(scene.after(.endpoint(Self.endpoint)) == [.offer(endpoint: Self.endpoint)])
    #expect(scene.after(.offered(isVerified: false)) == [])
    #expect(scene.after(.code("c")) == [.prove(code: "c")])
    #expect(scene.after(.proved) == [.report(nil), .sleep])
  }

  @Test func useDefersTheSleep() throws {
    var scene = Scene()
    scene.register()
    #expect(scene.after(.status(isSettled: true, isAsleep: false)) == [])
    #expect(scene.pass(Self.idle - 1) == [])
    #expect(scene.after(.used) == [])
    #expect(scene.pass(Self.idle - 1) == [])
    #expect(scene.pass(1) == [.sleep])
  }

  @Test func changesThatWaitDeferTheSleep() {
    var scene = Scene()
    scene.register()
    _ = scene.after(.status(isSettled: false, isAsleep: false))
    #expect(scene.pass(10 * Self.idle) == [])
    #expect(scene.machine.deadline == nil)
    #expect(scene.after(.status(isSettled: true, isAsleep: false)) == [.sleep])
  }

  @Test(arguments: [WakeMachine.Event.woken, .used])
  func aWakeOrUseConnectsForTheWholeIdleTime(_ event: WakeMachine.Event) {
    var scene = Scene()
    scene.fallAsleep()
    #expect(scene.pass(60_000) == [])
    #expect(scene.after(event) == [.wake])
    #expect(scene.after(.status(isSettled: false, isAsleep: false)) == [])
    #expect(scene.after(.status(isSettled: true, isAsleep: false)) == [])
    #expect(scene.pass(Self.idle - 1) == [])
    #expect(scene.pass(1) == [.sleep])
  }

  @Test func anAgentThatConnectsByItselfStaysConnected() {
    var scene = Scene()
    scene.fallAsleep()
    _ = scene.after(.status(isSettled: false, isAsleep: false))
    _ = scene.after(.status(isSettled: true, isAsleep: false))
    #expect(scene.pass(Self.idle - 1) == [])
    #expect(scene.pass(1) == [.sleep])
  }

  @Test func anHourlyCheckRegistersAgainAndSleepsAtOnce() throws {
    var scene = Scene()
    scene.fallAsleep()
    #expect(scene.pass(WakeMachine.sleepMilliseconds - 1) == [])
    #expect(try scene.passToDeadline() == [.wake, .register])
    _ = scene.after(.status(isSettled: false, isAsleep: false))
    _ = scene.after(.status(isSettled: true, isAsleep: false))
    _ = scene.after(.registered)
    #expect(scene.after(.endpoint(Self.endpoint)) == [.offer(endpoint: Self.endpoint)])
    #expect(scene.after(.offered(isVerified: true)) == [.sleep])
  }

  @Test func aDistributorThatLeavesConnectsTheDeviceUntilItIsBack() {
    var scene = Scene()
    scene.fallAsleep()
    let problem = WakeProblem("it has left", nextStep: "Start it.")
    #expect(scene.after(.lost(problem)) == [.report(problem), .wake])
    _ = scene.after(.status(isSettled: true, isAsleep: false))
    #expect(scene.pass(WakeMachine.pauses.lowerBound - 1) == [])
    #expect(scene.after(.distributorAppeared) == [.register])
    _ = scene.after(.registered)
    _ = scene.after(.endpoint(Self.endpoint))
    #expect(scene.after(.offered(isVerified: true)) == [.report(nil), .sleep])
  }

  @Test func aNewEndpointIsOfferedAndTheOldOneIsNotOfferedTwice() {
    var scene = Scene()
    scene.fallAsleep()
    #expect(scene.after(.endpoint(Self.endpoint)) == [])
    // Until the new way is proved, the device stays connected.
    #expect(
      scene.after(.endpoint("https://push.example/2")).sorted == [
        .offer(endpoint: "https://push.example/2"), .wake,
      ])
    #expect(scene.after(.offered(isVerified: false)) == [])
    #expect(scene.after(.code("c")) == [.prove(code: "c")])
    #expect(scene.after(.proved) == [])
    #expect(scene.machine.stage == .ready)
  }

  @Test func failuresAreRetriedWithGrowingPausesAndReportedOnce() throws {
    var scene = Scene()
    let problem = WakeProblem("none", nextStep: "Start one.")
    #expect(scene.actions() == [.register])
    #expect(scene.after(.failed(problem)) == [.report(problem)])
    var pauses: [Int64] = []
    for _ in 0..<9 {
      let before = scene.now
      #expect(try scene.passToDeadline() == [.register])
      pauses.append(scene.now.milliseconds(since: before))
      #expect(scene.after(.failed(problem)) == [])
    }
    #expect(pauses.first == 10_000 && pauses.last == 600_000)
    #expect(pauses == pauses.sorted())
  }

  @Test func aPushThatNeverComesIsAProblem() throws {
    var scene = Scene()
    _ = scene.actions()
    _ = scene.after(.registered)
    _ = scene.after(.endpoint(Self.endpoint))
    _ = scene.after(.offered(isVerified: false))
    #expect(try scene.passToDeadline() == [.report(.noPush)])
    #expect(scene.machine.problem == .noPush)
  }

  @Test func aDistributorThatNamesNoEndpointIsAProblem() throws {
    var scene = Scene()
    _ = scene.actions()
    _ = scene.after(.registered)
    #expect(try scene.passToDeadline() == [.report(.noEndpoint)])
  }

  @Test func aCodeThatTheRelayCannotHandleNowIsSentAgainForAWhile() throws {
    var scene = Scene()
    _ = scene.actions()
    for event: WakeMachine.Event in [
      .registered, .endpoint(Self.endpoint), .offered(isVerified: false), .code("c"),
    ] {
      _ = scene.after(event)
    }
    let problem = WakeProblem("it is busy", nextStep: "It is tried again.")
    for pause in WakeMachine.proofPauses {
      #expect(scene.after(.proofDelayed(problem)) == [])
      #expect(scene.pass(pause - 1) == [])
      #expect(try scene.passToDeadline() == [.prove(code: "c")])
    }
    // The reason is the relay's, not that no push arrived.
    #expect(scene.after(.proofDelayed(problem)) == [.report(problem)])
    #expect(scene.machine.problem == problem)
    #expect(try scene.passToDeadline() == [.register])
  }

  @Test func aDelayedCodeIsReplacedByANewOne() throws {
    var scene = Scene()
    _ = scene.actions()
    for event: WakeMachine.Event in [
      .registered, .endpoint(Self.endpoint), .offered(isVerified: false), .code("old"),
    ] {
      _ = scene.after(event)
    }
    let problem = WakeProblem("it is busy", nextStep: "It is tried again.")
    _ = scene.after(.proofDelayed(problem))
    #expect(scene.after(.code("new")) == [.prove(code: "new")])
    #expect(scene.after(.proved) == [.report(nil)])
  }

  @Test func resultsThatComeTooLateChangeNothing() {
    var scene = Scene()
    _ = scene.actions()
    let problem = WakeProblem("none", nextStep: "Start one.")
    _ = scene.after(.failed(problem))
    let stage = scene.machine.stage
    for event: WakeMachine.Event in [
      .registered, .offered(isVerified: true), .code("c"), .proved, .codeRefused, .lost(problem),
      .proofDelayed(problem),
    ] {
      #expect(scene.after(event) == [])
      #expect(scene.machine.stage == stage)
    }
  }
}

extension [WakeMachine.Action] {
  /// The order of actions that follow from one event does not matter.
  fileprivate var sorted: [WakeMachine.Action] { sorted { "\($0)" < "\($1)" } }
}
