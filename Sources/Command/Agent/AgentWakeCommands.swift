import Lockstep
import LockstepApps
import LockstepCommandLine
import LockstepEventLoop
import LockstepHome
import LockstepJSON
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
    summary: "Shows this device's registrations for wakes, as the relay has them.",
    options: AgentApp.options
  ) { arguments throws(CommandFailure) in
    try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      let member = try HomeAccess(of: session)
      let home = HomeStatus(json: try session.send(.status))
      let wakes = try CommandFailure.wrap { () throws(LockstepError) in
        try member.call.client.wakes(token: member.token)
      }
      let state = runningState(session)
      if arguments[AgentCommand.json] {
        return try TerminalOutput.printed(json(wakes, state).text)
      }
      let now = home.relayTime(atWall: SystemClock.moment().wall)
      return try TerminalOutput.printed(text(wakes, state, at: now))
    }
  }

  /// Returns the state in the process that holds the home; nil if none runs with --wake.
  private static func runningState(_ session: HomeSession) -> JSONValue? {
    do throws(CommandFailure) {
      return session.isHolder ? nil : try session.send(.wakes(WakeRequest.state))
    } catch {
      return nil
    }
  }

  private static func json(_ wakes: [WakeStatus], _ state: JSONValue?) -> JSONValue {
    let list = JSONValue(ifJSON: WakeList(wakes).encodedBody())
    return .object([
      JSONMember("wakes", list?["wakes"] ?? .array([])), JSONMember("agent", state ?? .null),
    ])
  }

  static func text(_ wakes: [WakeStatus], _ state: JSONValue?, at now: Int64) -> String {
    var lines: [String] = []
    if wakes.isEmpty {
      lines.append("the relay has no registration of this device")
    } else {
      var table = TextTable([
        ("REGISTRATION", .left), ("STATE", .left), ("LAST SENT", .left), ("LAST ANSWERED", .left),
      ])
      func age(_ time: Int64?) -> String {
        time.map { WakeSummary.age(of: $0, at: now) } ?? "never"
      }
      for wake in wakes {
        table.add(
          wake.id.text, WakeSummary(wake).text(at: now), age(wake.sentAt), age(wake.answeredAt))
      }
      lines.append(table.text)
    }
    if let problem = state?["problem"], let reason = problem["reason"]?.string {
      lines.append("the agent cannot be woken: \(Log.oneLine(reason))")
      lines.append("→ " + Log.oneLine(problem["nextStep"]?.string ?? ""))
    } else if let distributor = state?["distributor"]?.string, state?["isReady"]?.bool == true {
      lines.append("the agent is woken through \(Log.oneLine(distributor))")
    } else if state != nil {
      lines.append("the agent is registering")
    } else {
      lines.append("no agent runs with --wake; start one with lockstep agent run --wake")
    }
    return lines.joined(separator: "\n")
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
        throw CommandFailure("the process that holds the home has another version; stop it")
      }
      _ = try TerminalOutput.printed(
        arguments[AgentCommand.json] ? report.json.text : text(of: report))
      return report.isGood ? .success : .failure
    }
  }

  static func text(of report: WakeTestReport) -> String {
    var lines = report.steps.map { step in
      let time = step.milliseconds.map { ", after \($0) ms" } ?? ""
      return "\(step.isGood ? "ok     " : "FAILED ")  \(RowText.left(step.name, 12)) "
        + Log.oneLine(step.seen) + time
    }
    if let step = report.nextStep { lines.append("         → " + Log.oneLine(step)) }
    lines.append(report.isGood ? "pushes wake this device" : "pushes do not wake this device")
    return lines.joined(separator: "\n")
  }

  // MARK: off

  private static let off = Command(
    name: "off",
    summary: "Ends this device's registration for wakes, and removes its keys.",
    discussion: "Stop lockstep agent run --wake first, or it registers again.",
    options: AgentApp.options
  ) { arguments throws(CommandFailure) in
    try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      guard runningState(session) == nil else {
        throw CommandFailure(
          "an agent of this home runs with --wake; stop it, then run it without, and try again")
      }
      let member = try HomeAccess(of: session)
      try CommandFailure.wrap { () throws(LockstepError) in
        try member.call.client.removeWake(WakeRequest.registration, token: member.token)
      }
      try WakeKeys.remove(from: session.folder)
      return try TerminalOutput.printed(
        arguments[AgentCommand.json] ? "{}" : "this device is not woken by pushes any more")
    }
  }
}
