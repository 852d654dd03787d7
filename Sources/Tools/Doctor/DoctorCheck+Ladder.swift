import LockstepModel
import LockstepWire

/// Checks of the transports, each tested separately.
extension DoctorCheck {
  private static let belowSocket =
    "Devices go on by long-poll, which costs more. "
  private static let proxyStep =
    "If a proxy stands in front of the relay, see \"Behind a proxy\" in docs/operations.md: "

  /// Checks a plain poll, the last fallback; it also detects a device that the relay does not know.
  /// Without it nothing syncs.
  public static func poll(_ report: ProbeReport) -> DoctorCheck {
    switch report.status {
    case 200 where report.end == .done:
      let took = report.lapse(report.opened, report.ended.instant)
      return DoctorCheck(
        .ladder, "poll", .ok, "answered after \(Figure.milliseconds(took))",
        figures: [JSONMember("answerMilliseconds", .milliseconds(took))])
    case 401:
      return DoctorCheck(
        .ladder, "poll", .problem, "the relay does not know this device any more",
        nextStep: "Let another device of the account make a code (lockstep agent pair), and join "
          + "this home with it again; nothing unsent is lost.")
    case 402:
      return DoctorCheck(
        .ladder, "poll", .problem, "the account's plan includes nothing",
        nextStep: "Ask the relay's owner (lockstep account plan); nothing unsent is lost.")
    default:
      let status = report.status.map { "it was answered with status \($0)" }
      return DoctorCheck(
        .ladder, "poll", .problem, status ?? report.reason,
        nextStep: "No changes can come by HTTP: look into the relay's log, and that of a proxy in "
          + "front of it.")
    }
  }

  /// Checks a request that waits for a change. `isTold`: a change was made while it waited.
  public static func longPoll(_ report: ProbeReport, isTold: Bool) -> DoctorCheck {
    let name = "long-poll"
    guard report.status == nil || report.status == 200 else {
      return rung(name, "it was answered with status \(report.status ?? 0)", step: holdStep)
    }
    guard case .done = report.end else {
      return rung(
        name,
        isTold && report.changed != nil
          ? "a change did not end the wait within \(ProbePlan.milliseconds / 1_000) s"
          : report.reason, step: holdStep)
    }
    let waited = report.lapse(report.opened, report.ended.instant)
    var figures = [JSONMember("heldMilliseconds", .milliseconds(waited))]
    if isTold {
      guard let push = report.pushNanoseconds else {
        return rung(
          name, "it did not wait: an answer came after \(Figure.milliseconds(waited))",
          step: holdStep, figures)
      }
      figures.append(JSONMember("pushMilliseconds", .milliseconds(push)))
      let seen = "waits, and told of a change after \(Figure.milliseconds(push))"
      return isPrompt(push)
        ? DoctorCheck(.ladder, name, .ok, seen, figures: figures)
        : rung(name, seen, step: holdStep, figures)
    }
    // Half of the requested time: a proxy or server that does not hold requests answers
    // immediately.
    guard report.hasChanges || (waited ?? 0) >= 500_000_000 else {
      return rung(
        name, "it did not wait: an empty answer came after \(Figure.milliseconds(waited))",
        step: holdStep, figures)
    }
    return DoctorCheck(
      .ladder, name, .ok,
      "waits (\(Figure.milliseconds(waited))); that a change ends the wait was not tried, as nothing "
        + "is written into this account", figures: figures)
  }

  private static let holdStep =
    proxyStep + "it must hold a request for 60 s. Devices poll every 30 s otherwise."

  /// Checks an event stream; the first event must arrive immediately.
  public static func events(_ report: ProbeReport, isTold: Bool) -> DoctorCheck {
    let name = "events"
    let step =
      proxyStep + "it must pass a stream on as it comes (nginx: proxy_buffering off). Devices use "
      + "it only where --transport events says so."
    guard report.status == nil || report.status == 200 else {
      return rung(name, "it was answered with status \(report.status ?? 0)", step: step)
    }
    let first = report.lapse(report.opened, report.greeted)
    var figures = [JSONMember("firstMilliseconds", .milliseconds(first))]
    guard let first else {
      let isHeld = report.end == .late
      return rung(
        name,
        isHeld
          ? "the first event is held back: it did not come within "
            + "\(ProbePlan.milliseconds / 1_000) s, as where a proxy collects what it passes on"
          : report.reason, step: step)
    }
    var seen = "the first came after \(Figure.milliseconds(first))"
    if isTold {
      guard let push = report.pushNanoseconds else {
        return rung(name, "\(seen), but none of a change: \(report.reason)", step: step, figures)
      }
      figures.append(JSONMember("pushMilliseconds", .milliseconds(push)))
      seen += ", that of a change after \(Figure.milliseconds(push))"
      if !isPrompt(push) { return rung(name, seen + ", which is late", step: step, figures) }
    } else {
      seen += "; a change was not tried, as nothing is written into this account"
    }
    guard isPrompt(first) else { return rung(name, seen + ", which is late", step: step, figures) }
    return DoctorCheck(.ladder, name, .ok, seen, figures: figures)
  }

  /// Checks a WebSocket, from its upgrade to the answer to a time request.
  public static func socket(_ report: ProbeReport, isTold: Bool) -> DoctorCheck {
    let name = "websocket"
    let step = belowSocket + proxyStep + "it must pass Upgrade and Connection on."
    let upgrade = report.lapse(report.opened, report.answered)
    let greeted = report.lapse(report.opened, report.greeted)
    let timed = report.lapse(report.greeted, report.timed)
    guard let upgrade, let greeted, let timed else {
      let stage =
        upgrade == nil
        ? "it was not opened" : greeted == nil ? "no welcome came" : "no time came"
      return rung(name, "\(stage): \(report.reason)", step: step)
    }
    var figures = [
      JSONMember("upgradeMilliseconds", .milliseconds(upgrade)),
      JSONMember("welcomeMilliseconds", .milliseconds(greeted)),
      JSONMember("timeMilliseconds", .milliseconds(timed)),
    ]
    var seen =
      "upgrade after \(Figure.milliseconds(upgrade)), welcome after "
      + "\(Figure.milliseconds(greeted)), the time in \(Figure.milliseconds(timed))"
    if isTold {
      guard let push = report.pushNanoseconds else {
        return rung(name, "\(seen), but no word of a change: \(report.reason)", step: step, figures)
      }
      figures.append(JSONMember("pushMilliseconds", .milliseconds(push)))
      seen += ", word of a change after \(Figure.milliseconds(push))"
      if !isPrompt(push) { return rung(name, seen + ", which is late", step: step, figures) }
    }
    return DoctorCheck(.ladder, name, .ok, seen, figures: figures)
  }

  /// Checks the same socket while only pings are sent.
  public static func idle(_ report: ProbeReport) -> DoctorCheck {
    let stood = report.lapse(report.idleSince, report.ended.instant)
    guard let stood else {
      return .skipped(
        .ladder, "idle", "no WebSocket stood",
        nextStep: "Look at what is said of the WebSocket first.")
    }
    let seconds = stood / 1_000_000_000
    let figures = [
      JSONMember("stoodMilliseconds", .milliseconds(stood)),
      JSONMember("pings", .whole(Int64(report.pings))),
    ]
    guard case .done = report.end else {
      return DoctorCheck(
        .ladder, "idle", .warning, "an idle WebSocket was cut after \(seconds) s: \(report.reason)",
        nextStep: proxyStep + "it must let a connection be idle for 60 s; or have the relay speak "
          + "more often (--keep-alive).", figures: figures)
    }
    return DoctorCheck(
      .ladder, "idle", .ok, "an idle WebSocket stood for \(seconds) s, with \(report.pings) pings",
      figures: figures)
  }

  private static func rung(
    _ name: String, _ seen: String, step: String, _ figures: [JSONMember] = []
  ) -> DoctorCheck {
    DoctorCheck(.ladder, name, .warning, seen, nextStep: step, figures: figures)
  }

  private static func isPrompt(_ nanoseconds: Int64) -> Bool {
    nanoseconds <= DoctorThresholds.promptMilliseconds * 1_000_000
  }
}

extension ProbeReport {
  /// True if the answer is a page with changes.
  fileprivate var hasChanges: Bool {
    do throws(Refusal) {
      return try !ChangePage.decoded(body: body).changes.isEmpty
    } catch {
      return false
    }
  }
}
