import Lockstep
import LockstepApps
import LockstepCommandLine
import LockstepEventLoop
import LockstepHome
import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepTerminal
import LockstepWire

/// `lockstep agent wake`: how a device is woken by pushes while it has no connection.
enum AgentWakeCommand {
  static let command = Command(
    name: "wake",
    summary: "Shows and tests how this device is woken while it has no connection.",
    discussion: """
      A device that runs with lockstep agent run --wake ends its connection while nothing happens. \
      The relay then wakes it by a push, through a push service and a UnifiedPush distributor on \
      this desktop. docs/wake.md explains it.
      """,
    subcommands: [status, test, off])

  // MARK: status

  private static let status = Command(
    name: "status",
    summary: "Shows this device's registrations for wakes, as the relay and the agent report them.",
    discussion: "The exit code is 1 if the relay or the agent does not answer.",
    options: AgentApp.options
  ) { arguments throws(CommandFailure) in
    try inHome(arguments) { session throws(CommandFailure) in
      let home = HomeStatus(json: try session.send(.status))
      let wakes = try registrations(HomeAccess(of: session))
      let agent = WakeAgent(of: session)
      let now = home.relayTime(atWall: SystemClock.moment().wall)
      _ = try TerminalOutput.printed(
        arguments[AgentCommand.json] ? json(wakes, agent).text : text(wakes, agent, at: now))
      if case .silent = agent { return .failure }
      if case .failure = wakes { return .failure }
      return .success
    }
  }

  /// Runs `body` in the home; in English for JSON, which has sentences of this program.
  private static func inHome(
    _ arguments: Arguments, _ body: (HomeSession) throws(CommandFailure) -> ExitCode
  ) throws(CommandFailure) -> ExitCode {
    let language = arguments[AgentCommand.json] ? Language.english : .current
    return try language { () throws(CommandFailure) in
      try AgentCommand.inHome(arguments, body)
    }
  }

  private static func registrations(_ member: HomeAccess) -> Result<[WakeStatus], LockstepError> {
    do throws(LockstepError) {
      return .success(try member.call.client.wakes(token: member.token))
    } catch {
      return .failure(error)
    }
  }

  private static func json(
    _ wakes: Result<[WakeStatus], LockstepError>, _ agent: WakeAgent
  ) -> JSONValue {
    var members: [JSONMember] = []
    switch wakes {
    case .success(let wakes):
      let list = JSONValue(ifJSON: WakeList(wakes).encodedBody())
      members.append(JSONMember("wakes", list?["wakes"] ?? .array([])))
    case .failure(let error):
      members.append(JSONMember("wakes", .null))
      members.append(JSONMember("relayProblem", .string("\(error)")))
    }
    return .object(members + [JSONMember("agent", agent.json)])
  }

  static func text(
    _ wakes: Result<[WakeStatus], LockstepError>, _ agent: WakeAgent, at now: Int64
  ) -> String {
    var lines = [text(of: wakes, at: now)]
    if let problem = agent.problem {
      let values = ["reason": Log.oneLine(translated(problem.reason))]
      lines.append(
        agent.isSilent
          ? localized("the agent does not say how it is woken: {reason}", values)
          : localized("the agent cannot be woken: {reason}", values))
      lines.append("→ " + Log.oneLine(translated(problem.nextStep)))
      return lines.joined(separator: "\n")
    }
    switch agent {
    case .running(true, let distributor?, _):
      lines.append(
        localized(
          "the agent is woken through {distributor}", ["distributor": Log.oneLine(distributor)]))
    case .running: lines.append(localized("the agent is registering"))
    case .none, .silent:
      lines.append(localized("no agent runs with --wake; start one with lockstep agent run --wake"))
    }
    return lines.joined(separator: "\n")
  }

  private static func text(
    of wakes: Result<[WakeStatus], LockstepError>, at now: Int64
  ) -> String {
    let list: [WakeStatus]
    switch wakes {
    case .success(let wakes): list = wakes
    case .failure(let error):
      return localized(
        "the registrations at the relay are not known: {reason}",
        ["reason": Log.oneLine(translated("\(error)"))])
    }
    guard !list.isEmpty else { return localized("the relay has no registration of this device") }
    var table = TextTable([
      (localized("REGISTRATION"), .left), (localized("STATE"), .left),
      (localized("LAST SENT"), .left), (localized("LAST ANSWERED"), .left),
    ])
    func age(_ time: Int64?) -> String {
      time.map { WakeSummary.age(of: $0, at: now) } ?? localized("never")
    }
    for wake in list {
      table.add(
        wake.id.text, WakeSummary(wake).text(at: now), age(wake.sentAt), age(wake.answeredAt))
    }
    return table.text
  }

  // MARK: test

  private static let test = Command(
    name: "test",
    summary: "Tests the whole way of a push: relay, push service, distributor, this device.",
    discussion: """
      The agent that runs with --wake registers once more, with keys of its own, and waits for the \
      push that the relay then sends. Each step is shown, and the next step if one fails. The exit \
      code is 1 if one fails.
      """,
    options: AgentApp.options
  ) { arguments throws(CommandFailure) in
    try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      let answer = try session.send(
        .wakes(WakeRequest.test), milliseconds: WakeRequest.testMilliseconds)
      guard let report = WakeTestReport(answer) else {
        throw CommandFailure(
          localized("the process that holds the home has another version; stop it"))
      }
      _ = try TerminalOutput.printed(
        arguments[AgentCommand.json] ? report.json.text : text(of: report))
      return report.isGood ? .success : .failure
    }
  }

  static func text(of report: WakeTestReport) -> String {
    var lines = report.steps.map { step in
      let seen = Log.oneLine(translated(step.seen))
      let text = step.milliseconds.map {
        localized("{seen}, after {time} ms", ["seen": seen, "time": "\($0)"])
      }
      let mark = step.isGood ? localized("ok") : localized("FAILED")
      return "\(RowText.left(mark, 7))  \(RowText.left(step.name, 12)) \(text ?? seen)"
    }
    if let step = report.nextStep { lines.append("         → " + Log.oneLine(translated(step))) }
    lines.append(
      report.isGood
        ? localized("pushes wake this device") : localized("pushes do not wake this device"))
    return lines.joined(separator: "\n")
  }

  // MARK: off

  private static let off = Command(
    name: "off",
    summary: "Ends this device's registrations for wakes, and removes its keys.",
    discussion: """
      Stop lockstep agent run --wake first, or it registers again. The registration at the \
      distributor ends, too, if the command runs in the desktop session.
      """,
    options: AgentApp.options
  ) { arguments throws(CommandFailure) in
    try inHome(arguments) { session throws(CommandFailure) in
      try requireNoneRuns(WakeAgent(of: session))
      let member = try HomeAccess(of: session)
      try CommandFailure.wrap { () throws(LockstepError) in
        for id in [WakeRequest.registration, WakeRequest.testRegistration] {
          try member.call.client.removeWake(id, token: member.token)
        }
      }
      let end = WakeRegistrationEnd(in: session.folder)
      try WakeKeys.remove(from: session.folder)
      return try TerminalOutput.printed(
        arguments[AgentCommand.json] ? json(of: end).text : text(of: end))
    }
  }

  /// Throws if the agent would register again, or may.
  static func requireNoneRuns(_ agent: WakeAgent) throws(CommandFailure) {
    switch agent {
    case .none: return
    case .running:
      throw CommandFailure(
        localized(
          "an agent of this home runs with --wake; stop it, then run it without, "
            + "and try again"))
    case .silent(let reason):
      throw CommandFailure(
        localized(
          "it is not known if an agent of this home runs with --wake, so nothing "
            + "was changed: {reason}; if it stays so, stop that process", ["reason": reason]))
    }
  }

  static func text(of end: WakeRegistrationEnd) -> String {
    let first = localized("this device is not woken by pushes any more")
    return switch end {
    case .notRegistered, .ended: first
    case .unknown(let problem):
      first + "\n"
        + localized(
          "the distributor may keep a registration: {reason}",
          ["reason": Log.oneLine(problem.reason)]) + "\n→ " + Log.oneLine(problem.nextStep)
    }
  }

  private static func json(of end: WakeRegistrationEnd) -> JSONValue {
    var distributor: String?
    var problem: WakeProblem?
    switch end {
    case .notRegistered: break
    case .ended(let name): distributor = name
    case .unknown(let found): problem = found
    }
    return .object([
      JSONMember("distributor", distributor.map { .string($0) } ?? .null),
      JSONMember("problem", problem?.json ?? .null),
    ])
  }
}
