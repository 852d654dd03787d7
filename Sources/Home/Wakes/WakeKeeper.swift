import Lockstep
import LockstepClient
import LockstepCommandLine
import LockstepCrypto
import LockstepEventLoop
import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWebPush
import LockstepWire

/// Wishes of a person for a device that is woken by pushes.
package struct WakeOptions: Sendable {
  /// Time without use after which the device ends its connection, milliseconds; 0: as soon as it is
  /// in sync. Five minutes: a person at work keeps the fast connection.
  package var idleMilliseconds: Int64 = 300_000
  /// Name of the distributor on the bus; nil: the one used last, else the first.
  package var distributor: String?

  package init() {}
}

/// Messages to the thread that handles wakes.
enum WakeMessage: Sendable {
  case event(WakeMachine.Event)
  /// The account lives on this relay now.
  case moved(RelayAddress)
  /// Request of a command.
  case request(ConnectionID, JSONValue)
  case stop
}

/// Request of a command to the process that is woken by pushes.
package enum WakeRequest {
  /// Answered with the value of a `WakeAgent`.
  package static let state: JSONValue = ["do": "state"]
  /// Answered with a `WakeTestReport`, after up to `testMilliseconds`.
  package static let test: JSONValue = ["do": "test"]
  package static let testMilliseconds: Int32 = 90_000
  /// Registrations of this device at the relay.
  package static let registration = Name(trusted: "agent")
  package static let testRegistration = Name(trusted: "agent-test")
}

/// Thread through which a held home is woken: serves the bus, asks the relay, and lets the agent
/// sleep. `WakeMachine` decides.
final class WakeKeeper: Sendable {
  private let mail: Mailbox<WakeMessage>
  private let begin: @Sendable () throws(SystemFault) -> LoopThread

  /// `post`: sends an order to the home's node.
  init(
    _ home: HomeFolder, _ identity: HomeIdentity, _ trust: Trust, _ options: WakeOptions,
    log: Log, post: @escaping @Sendable (HomeOrder) -> Void
  ) throws(CommandFailure) {
    let mail = try CommandFailure.wrap { () throws(SystemFault) in
      try Mailbox<WakeMessage>(isBlocking: true)
    }
    self.mail = mail
    let keys = try WakeKeys(in: home, secrets: Entropy.secrets)
    guard let relay = RelayAddress(url: identity.relay) else {
      throw CommandFailure(
        localized("the home's relay {relay} is no address of a relay", ["relay": identity.relay]))
    }
    let client = RelayClient(relay: relay, trust: trust)
    let token = identity.credentials.token
    begin = { () throws(SystemFault) -> LoopThread in
      try LoopThread("wakes") {
        WakeLoop(keys, client, token, options, mail, log: log, post: post).run()
      }
    }
  }

  func start() throws(CommandFailure) {
    try CommandFailure.wrap { () throws(SystemFault) in try begin() }.detach()
  }

  /// Does not wait for an outstanding answer.
  func stop() { mail.post(.stop) }

  func post(_ request: JSONValue, of client: ConnectionID) { mail.post(.request(client, request)) }

  func handleReport(_ report: AgentReport) {
    switch report {
    case .ready(let status), .status(let status), .synced(_, let status):
      let isAsleep = if case .asleep = status.state { true } else { false }
      let isSettled =
        switch status.state {
        case .inSync, .needsPerson: status.waiting == 0
        case .starting, .syncing, .asleep, .offline, .failed, .stopped: false
        }
      mail.post(.event(.status(isSettled: isSettled, isAsleep: isAsleep)))
    case .changed, .chunkProgress: mail.post(.event(.used))
    case .moved(let identity):
      if let relay = RelayAddress(url: identity.relay) { mail.post(.moved(relay)) }
    case .edited, .transacted, .joined, .answered, .switched, .read, .stateRead, .statusRead,
      .chunkAdded, .chunkRead, .milestone, .storeFailed, .stopped:
      break
    }
  }

  func recordView() { mail.post(.event(.used)) }
}

/// State of the thread.
private final class WakeLoop {
  private static let description = "Lockstep"
  private static var repeatTest: String { localized("Repeat the test in a minute.") }
  /// Passes, and events of the bus in one pass, before messages of the home are handled.
  private static let passesMax = 8
  private static let eventsMax = 64

  private var keys: WakeKeys
  private var relay: RelayClient
  private let token: String
  private let options: WakeOptions
  private let mail: Mailbox<WakeMessage>
  private let log: Log
  private let post: @Sendable (HomeOrder) -> Void
  private var machine: WakeMachine
  private var bus: PushBus?
  private var test: (client: ConnectionID, auth: [UInt8], run: WakeTest)?
  private var isStopping = false

  init(
    _ keys: WakeKeys, _ relay: RelayClient, _ token: String, _ options: WakeOptions,
    _ mail: Mailbox<WakeMessage>, log: Log, post: @escaping @Sendable (HomeOrder) -> Void
  ) {
    self.keys = keys
    self.relay = relay
    self.token = token
    self.options = options
    self.mail = mail
    self.log = log
    self.post = post
    machine = WakeMachine(
      idleMilliseconds: options.idleMilliseconds, at: SystemClock.instant())
  }

  func run() {
    var messages: [WakeMessage] = []
    while !isStopping {
      performAll()
      endOverdueTest()
      let end = [machine.deadline, test?.run.deadline].compactMap(\.self).min()
      let isOpen =
        if let bus {
          mail.waitForMessages(into: &messages, orReadable: bus.descriptor, until: end)
        } else {
          mail.waitForMessages(into: &messages, until: end)
        }
      for message in messages { handle(message) }
      messages.removeAll(keepingCapacity: true)
      if !isOpen { return }
    }
  }

  /// Performs what is due, and reads the bus, until neither gives anything more. A call that waited
  /// for an answer has also read what came before that, so the bus's descriptor does not show it.
  private func performAll() {
    var isDone = false
    // Others' messages wait for a while at most, whatever the bus sends.
    for _ in 0..<Self.passesMax where !isDone {
      isDone = true
      while let action = machine.nextAction(at: SystemClock.instant()) {
        perform(action)
        isDone = false
      }
      if readBus() { isDone = false }
    }
  }

  private func handle(_ message: WakeMessage) {
    switch message {
    case .event(let event): machine.handle(event, at: SystemClock.instant())
    case .moved(let address):
      // The other relay has a key of its own.
      relay = RelayClient(relay: address, trust: relay.trust)
      handle(.keyReplaced)
    case .request(let client, let request):
      switch request["do"]?.string {
      case "state": answer(client, state)
      case "test": beginTest(client)
      default: post(.answer(client, .failure(localized("that request about wakes is not known"))))
      }
    case .stop: isStopping = true
    }
  }

  private func answer(_ client: ConnectionID, _ value: JSONValue) {
    post(.answer(client, .success(value)))
  }

  private func handle(_ event: WakeMachine.Event) {
    machine.handle(event, at: SystemClock.instant())
  }

  private func perform(_ action: WakeMachine.Action) {
    switch action {
    case .register: register()
    case .offer(let endpoint): offer(endpoint)
    case .prove(let code): prove(code)
    case .sleep:
      log.debug("nothing waits; the connection ends until a push, a change here, or an hour passes")
      post(.agent(.sleep))
    case .wake: post(.agent(.wake))
    case .report(nil): log.info("pushes arrive, and wake this device")
    case .report(let problem?):
      log.warning(
        "cannot be woken by pushes, so the connection stays: \(problem.reason). "
          + problem.nextStep)
    }
  }

  // MARK: registration

  private func register() {
    do throws(PushBusFault) {
      // The relay comes last: its fault does not hide one of this machine.
      let bus = try openBus()
      let distributor = try choose(of: bus.distributors())
      let wakeKey = try askForKey()
      let former = (distributor: keys.distributor, token: keys.token)
      do throws(CommandFailure) {
        try keys.use(distributor, wakeKey: wakeKey, secrets: Entropy.secrets)
      } catch {
        throw PushBusFault(
          error.message ?? localized("the keys cannot be stored"),
          nextStep: localized("Make room on the disk of the home, and check its permissions."))
      }
      if let place = former.distributor, former.token != keys.token {
        end(former.token, at: place, on: bus)
      }
      try bus.register(
        keys.token, at: distributor, wakeKey: wakeKey, description: Self.description)
      handle(.registered)
    } catch {
      handle(.failed(error.problem))
    }
  }

  /// Ends a former registration, which no one uses any more.
  private func end(_ token: String, at distributor: String, on bus: PushBus) {
    do throws(PushBusFault) {
      try bus.unregister(token, at: distributor)
    } catch {
      log.debug("a former registration stays: \(error.problem.reason)")
    }
  }

  private func askForKey() throws(PushBusFault) -> String {
    let key: String?
    do throws(LockstepError) {
      key = try relay.wakeKey()
    } catch {
      throw PushBusFault("\(error)", nextStep: localized("It is tried again."))
    }
    guard let key, WakeKeys.isWakeKey(key) else {
      throw PushBusFault(
        localized("the relay {relay} wakes no devices", ["relay": relay.relay.url]),
        nextStep: localized("Its owner can change that: docs/wake.md."))
    }
    return key
  }

  private func openBus() throws(PushBusFault) -> PushBus {
    if let bus { return bus }
    let opened = try PushBus(name: keys.name)
    bus = opened
    return opened
  }

  private func choose(of distributors: [String]) throws(PushBusFault) -> String {
    if let wanted = options.distributor {
      guard distributors.contains(wanted) else {
        throw PushBusFault(
          localized(
            "the distributor {distributor} is not on the session bus", ["distributor": wanted]),
          nextStep: distributors.isEmpty
            ? localized("Start it.")
            : localized(
              "Start it, or choose another: {others}",
              ["others": distributors.joined(separator: ", ")]))
      }
      return wanted
    }
    if let former = keys.distributor, distributors.contains(former) { return former }
    guard let first = distributors.first else {
      throw PushBusFault(
        localized("no UnifiedPush distributor is on the session bus"),
        nextStep: localized("Install and start one, for example KUnifiedPush."))
    }
    return first
  }

  private func registration(
    _ id: Name, _ endpoint: String, auth: [UInt8]
  ) -> WakeRegistrationBody {
    WakeRegistrationBody(
      WakeRegistration(
        id: id, endpoint: endpoint, p256dh: keys.push.key.publicKey.bytes, auth: auth),
      wakeKey: keys.wakeKey)
  }

  private func offer(_ endpoint: String) {
    do throws(LockstepError) {
      let answer = try relay.offerWake(
        registration(WakeRequest.registration, endpoint, auth: keys.push.auth), token: token)
      switch answer {
      case .success(let isVerified): handle(.offered(isVerified: isVerified))
      case .failure(let refusal): handle(.failed(WakeProblem(refusedRegistration: refusal)))
      }
    } catch {
      handle(.failed(WakeProblem(error)))
    }
  }

  private func prove(_ code: String) {
    do throws(LockstepError) {
      let refusal = try relay.proveWake(WakeRequest.registration, code: code, token: token)
      handle(WakeMachine.Event(proofAnswer: refusal))
    } catch {
      handle(WakeMachine.Event(proofFailure: error))
    }
  }

  // MARK: bus

  /// Returns true if there was anything.
  private func readBus() -> Bool {
    var hasRead = false
    for _ in 0..<Self.eventsMax {
      guard let event = bus?.next() else { break }
      hasRead = true
      switch event {
      case .endpoint(keys.token, let endpoint): handle(.endpoint(endpoint))
      case .message(keys.token, let body): receive(body)
      case .unregistered(keys.token):
        handle(
          .lost(
            WakeProblem(
              localized("the distributor has ended the registration"),
              nextStep: localized("It registers again."))))
      // Of a former registration, or of another program's making.
      case .endpoint, .message, .unregistered: break
      case .appeared: handle(.distributorAppeared)
      case .left(let distributor) where distributor == keys.distributor:
        handle(
          .lost(
            WakeProblem(
              localized(
                "the distributor {distributor} has left the session bus",
                ["distributor": distributor]),
              nextStep: localized("Start it again; this device then registers by itself."))))
      case .left: break
      case .ended:
        bus = nil
        handle(.lost(.busEnded))
      }
    }
    return hasRead
  }

  /// Handles a push. One that was not encrypted for this device is dropped: anyone who knows the
  /// endpoint can send it.
  private func receive(_ body: [UInt8]) {
    if let content = keys.push.decrypt(body) {
      if let payload = WakeCodePayload(content) { return handle(.code(payload.code)) }
      guard let payload = WakePayload(content) else { return }
      log.debug("woken by a push")
      handle(.woken)
      if let key = payload.newKey, key != keys.wakeKey { handle(.keyReplaced) }
      return
    }
    guard let test,
      let content = PushMessage.decrypt(body, key: keys.push.key, auth: test.auth),
      let payload = WakeCodePayload(content)
    else { return log.debug("dropped a push that is not for this device") }
    proveTest(payload.code)
  }

  // MARK: requests of commands

  private var state: JSONValue {
    WakeAgent.running(
      isReady: machine.stage == .ready, distributor: keys.distributor, machine.problem
    ).json
  }

  private func beginTest(_ client: ConnectionID) {
    guard test == nil else {
      return post(.answer(client, .failure(localized("another test is running; wait for its end"))))
    }
    guard machine.stage == .ready, let endpoint = machine.endpoint, let place = keys.distributor
    else {
      var report = WakeTestReport()
      report.fail(
        "registration",
        machine.problem
          ?? WakeProblem(
            localized("the device is still registering"),
            nextStep: localized("Repeat the test in a few seconds.")))
      return answer(client, report.json)
    }
    let auth = Entropy.secrets.bytes(PushRecipient.authBytes)
    test = (client, auth, WakeTest(distributor: place, at: SystemClock.instant()))
    do throws(LockstepError) {
      let answer = try relay.offerWake(
        registration(WakeRequest.testRegistration, endpoint, auth: auth), token: token)
      switch answer {
      case .success: test?.run.accepted(at: SystemClock.instant())
      case .failure(let refusal):
        endTest("relay", WakeProblem(refusedRegistration: refusal, retry: Self.repeatTest))
      }
    } catch {
      endTest("relay", WakeProblem(error, retry: Self.repeatTest))
    }
  }

  private func proveTest(_ code: String) {
    test?.run.received(at: SystemClock.instant())
    do throws(LockstepError) {
      try relay.verifyWake(WakeRequest.testRegistration, code: code, token: token)
      test?.run.proved(at: SystemClock.instant())
      endTest()
    } catch {
      endTest("proof", WakeProblem(error, retry: Self.repeatTest))
    }
  }

  private func endOverdueTest() {
    guard let deadline = test?.run.deadline, deadline <= SystemClock.instant() else { return }
    endTest("push", pushProblem)
  }

  /// Explains why no push came, with the relay's last error.
  private var pushProblem: WakeProblem {
    do throws(LockstepError) {
      let fault = try relay.wakes(token: token).first { $0.id == WakeRequest.testRegistration }?
        .fault
      if let fault { return WakeProblem(fault.reason, nextStep: fault.nextStep) }
    } catch {
      return WakeProblem(
        "\(error)", nextStep: localized("Repeat the test when the relay can be reached."))
    }
    return WakeProblem(
      localized("the push service took the push, and it did not arrive here in time"),
      nextStep: localized("Check that the distributor is connected to its push service."))
  }

  private func endTest(_ step: String, _ problem: WakeProblem) {
    test?.run.failed(step, problem)
    endTest()
  }

  private func endTest() {
    guard let ended = test else { return }
    test = nil
    answer(ended.client, ended.run.report.json)
    do throws(LockstepError) {
      try relay.removeWake(WakeRequest.testRegistration, token: token)
    } catch {
      log.debug("the test's registration stays at the relay: \(error)")
    }
  }
}
