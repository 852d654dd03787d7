import LockstepApps
import LockstepClient
import LockstepCommandLine
import LockstepJSON
import LockstepModel
import LockstepSealing
import LockstepTerminal
import LockstepWire

/// One check of `lockstep doctor`.
package struct DoctorCheck: Hashable, Sendable {
  package enum Verdict: String, Hashable, Sendable, CaseIterable {
    case ok
    /// The check could not be made.
    case skipped
    /// Sync works, but not as well as it could, or will stop soon.
    case warning
    /// Sync does not work.
    case problem
  }

  /// Subject of a check; checks of one area are shown together.
  package enum Area: String, Hashable, Sendable {
    case relay, home, machine, database
    /// The raw value is the name in the output.
    case transport = "ladder"
  }

  package var area: Area
  /// Stable identifier, unique in its area.
  package var name: String
  package var verdict: Verdict
  /// Observation, with figures and their units.
  package var seen: String
  /// Advice in one or two sentences; nil only if the verdict is ok.
  package var nextStep: String?
  /// The same figures for programs; each name ends with its unit.
  package var figures: [JSONMember]

  package init(
    _ area: Area, _ name: String, _ verdict: Verdict, _ seen: String, nextStep: String? = nil,
    figures: [JSONMember] = []
  ) {
    self.area = area
    self.name = name
    self.verdict = verdict
    self.seen = seen
    self.nextStep = nextStep
    self.figures = figures
  }

  /// Reports a check that could not be made.
  package static func skipped(
    _ area: Area, _ name: String, _ why: String, nextStep: String
  ) -> DoctorCheck {
    DoctorCheck(area, name, .skipped, why, nextStep: nextStep)
  }

  package var json: JSONValue {
    .object([
      JSONMember("area", .string(area.rawValue)), JSONMember("name", .string(name)),
      JSONMember("verdict", .string(verdict.rawValue)), JSONMember("seen", .string(seen)),
      JSONMember("nextStep", nextStep.map { .string($0) } ?? .null),
      JSONMember("figures", .object(figures)),
    ])
  }
}

/// Thresholds of all checks.
package enum DoctorThresholds {
  /// Maximum difference between this machine's clock and the relay's, in milliseconds. Devices use
  /// relay time, so a wrong clock harms no edit, but it misleads people.
  package static let clockWarningMilliseconds: Int64 = 30_000
  /// A day: with such a clock certificates seem not yet valid or expired.
  package static let clockProblemMilliseconds: Int64 = 86_400_000
  /// Days before a certificate's end: the lead time that automatic renewal needs.
  package static let certificateDays: Int64 = 14
  /// Slower connections are slow for a person.
  package static let connectMilliseconds: Int64 = 1_000
  /// Later answers do not count as immediate.
  package static let promptMilliseconds: Int64 = 2_000
  /// Minimum free space of a home or a store; below it, it will stop soon. A write-ahead log grows
  /// to some tens of megabytes.
  package static let diskWarningBytes: Int64 = 256 << 20
  package static let diskProblemBytes: Int64 = 16 << 20
  /// If a change waits longer while a process syncs the home, it is stuck.
  package static let waitingMilliseconds: Int64 = 60_000
  /// Database sessions that a relay uses.
  package static let databaseConnections = 4
  /// Minimum number of open files; with fewer any program has problems.
  package static let openFiles = 256
  /// Time for which `--long` leaves a socket idle: longer than the usual timeout of proxies.
  package static let idleMilliseconds: Int64 = 75_000
}

/// Checks of a relay's address and of the server that answers there.
extension DoctorCheck {
  /// Checks the name resolution. `addresses`: resolved addresses; empty if the resolver found none,
  /// for the reason `fault`.
  package static func name(
    _ host: String, addresses: [String], fault: String?, nanoseconds: Int64
  ) -> DoctorCheck {
    let figures = [JSONMember("resolveMilliseconds", .milliseconds(nanoseconds))]
    guard addresses.isEmpty else {
      let list = addresses.joined(separator: ", ")
      let words = addresses == [host] ? "\(host) is an address" : "\(host) is \(list)"
      return DoctorCheck(
        .relay, "name", .ok, "\(words), resolved in \(Figure.milliseconds(nanoseconds))",
        figures: figures)
    }
    return DoctorCheck(
      .relay, "name", .problem, "\(host) has no address: \(fault ?? "the resolver returned none")",
      nextStep: "Check the spelling of the name, and that this machine is online.",
      figures: figures)
  }

  /// Checks a connection without TLS, on which nothing is sent.
  package static func connection(_ report: ProbeReport, to address: String) -> DoctorCheck {
    guard case .done = report.end,
      let took = report.nanoseconds(report.begun.instant, report.opened)
    else {
      return DoctorCheck(
        .relay, "connection", .problem, "\(address) cannot be reached: \(report.reason)",
        nextStep: "Check that the relay runs, that it listens at this address and port, and that "
          + "no firewall blocks it.")
    }
    let figures = [JSONMember("connectMilliseconds", .milliseconds(took))]
    let seen = "\(address) was reached after \(Figure.milliseconds(took))"
    guard took > DoctorThresholds.connectMilliseconds * 1_000_000 else {
      return DoctorCheck(.relay, "connection", .ok, seen, figures: figures)
    }
    return DoctorCheck(
      .relay, "connection", .warning, seen,
      nextStep: "The connection is slow, and so is every sync. Check this machine's network.",
      figures: figures)
  }

  /// Checks a connection with TLS. `wall`: this machine's clock, milliseconds.
  package static func security(_ report: ProbeReport, wall: Int64) -> DoctorCheck {
    switch report.end {
    case .done: break
    case .untrusted(let words):
      return DoctorCheck(
        .relay, "tls", .problem, words, nextStep: "See \"By TLS\" in docs/devices.md.")
    case .unreachable, .broken, .late:
      return DoctorCheck(
        .relay, "tls", .problem, "the TLS handshake failed: \(report.reason)",
        nextStep: "Check that this port uses TLS; a relay without --tls-cert has an http:// "
          + "address.")
    }
    let took = report.nanoseconds(report.begun.instant, report.opened)
    var figures = [JSONMember("handshakeMilliseconds", .milliseconds(took))]
    let seen =
      "\(report.version ?? "TLS"), with a certificate that is trusted here, in "
      + Figure.milliseconds(took)
    guard let end = report.certificateEnd else {
      return DoctorCheck(.relay, "tls", .ok, seen, figures: figures)
    }
    let days = (end - wall) / 86_400_000
    figures.append(JSONMember("certificateDays", .whole(days)))
    let date = UniversalTime(end).date
    guard days < DoctorThresholds.certificateDays else {
      return DoctorCheck(.relay, "tls", .ok, "\(seen); valid until \(date)", figures: figures)
    }
    return DoctorCheck(
      .relay, "tls", .warning, "\(seen); \(remaining(end - wall)), until \(date)",
      nextStep: "Renew the certificate, then send the relay SIGHUP; devices reject an expired one.",
      figures: figures)
  }

  /// Returns the remaining validity of a certificate: in hours for the last two days.
  private static func remaining(_ milliseconds: Int64) -> String {
    let hours = milliseconds / 3_600_000
    switch hours {
    case 48...: return "valid for \(hours / 24) more days"
    case 2...: return "valid for \(hours) more hours"
    case 1: return "valid for 1 more hour"
    default: return "valid for less than an hour"
    }
  }

  /// Explains an address without TLS at which nobody answers without TLS. Returns nil if nobody
  /// answers with TLS either. `handshake`: attempt to connect with TLS.
  package static func plainAddress(
    _ handshake: ProbeReport, url: String, secureURL: String
  ) -> DoctorCheck? {
    let isTrusted =
      switch handshake.end {
      case .done: true
      case .untrusted: false
      case .unreachable, .broken, .late: nil as Bool?
      }
    guard let isTrusted else { return nil }
    let trust =
      isTrusted
      ? "" : "; its certificate needs --ca FILE here: \(handshake.reason)"
    return DoctorCheck(
      .relay, "relay", .problem, "what answers at \(url) speaks TLS",
      nextStep: "Name it by https: \(secureURL)\(trust).")
  }

  /// Checks the answer to `GET /v1/limits`. `usual`: the answer of a relay of this version with
  /// default settings.
  package static func relay(_ report: ProbeReport, usual: [JSONMember]) -> DoctorCheck {
    guard case .done = report.end, let limits = limits(report) else {
      var detail = report.status.map { "the answer has status \($0)" } ?? report.reason
      if !report.proxyHeaders.isEmpty {
        detail += " (\(report.proxyHeaders.joined(separator: ", ")))"
      }
      return DoctorCheck(
        .relay, "relay", .problem, "the server at this address is no Lockstep relay: \(detail)",
        nextStep: "Name the address that the relay prints when it starts (\"listening on …\"), or "
          + "configure the proxy in front of it to forward all paths.")
    }
    let names = limits.map(\.name)
    let usual = self.limits(usual)
    let known = usual.map(\.name)
    let missing = known.filter { !names.contains($0) }
    let more = names.filter { !known.contains($0) }
    let set = limits.filter { limit in
      usual.contains { $0.name == limit.name && $0.value != limit.value }
    }
    let words = set.map { "\($0.name) \($0.value.text)" }
    let settings =
      set.isEmpty
      ? "with the usual limits" : "with limits of its own: \(words.joined(separator: ", "))"
    guard missing.isEmpty && more.isEmpty else {
      let which = (missing.map { "no \($0)" } + more).joined(separator: ", ")
      return DoctorCheck(
        .relay, "relay", .warning, "a Lockstep relay of another version (limits: \(which))",
        nextStep: "Sync works across versions, but update relay and devices to the newest one.",
        figures: limits)
    }
    return DoctorCheck(.relay, "relay", .ok, "a Lockstep relay, \(settings)", figures: limits)
  }

  private static func limits(_ report: ProbeReport) -> [JSONMember]? {
    guard report.status == 200 else { return nil }
    do throws(JSONFault) {
      let members = try JSONValue(parsing: report.body).members
      // Every version of the relay sends these members.
      let isRelay = members?.contains { $0.name == "batchRecords" } == true
      return isRelay ? members.map(limits) : nil
    } catch {
      return nil
    }
  }

  /// Removes the members that are no limits.
  private static func limits(_ members: [JSONMember]) -> [JSONMember] {
    members.filter { !["isOpen", "wakeKey"].contains($0.name) }
  }

  /// Checks the answers to `GET /v1/time`; the one with the shortest round trip counts.
  package static func clock(_ reports: [ProbeReport]) -> DoctorCheck {
    guard let best = reports.compactMap(\.clockOffset).min(by: { $0.error < $1.error }) else {
      return .skipped(
        .relay, "clock", "the relay did not report its time",
        nextStep: "See the other checks of the relay.")
    }
    let figures = [
      JSONMember("offsetMilliseconds", .decimal(thousandths: best.offset)),
      JSONMember("uncertaintyMilliseconds", .decimal(thousandths: best.error)),
    ]
    let size = span(thousandths: Int64(clamping: best.offset.magnitude))
    let side = best.offset > 0 ? "behind" : "ahead of"
    let seen =
      "this machine's clock is \(size) \(side) the relay's, "
      + "give or take \(Figure.decimal(thousandths: best.error)) ms"
    let milliseconds = Int64(clamping: best.offset.magnitude / 1_000)
    guard milliseconds >= DoctorThresholds.clockWarningMilliseconds else {
      return DoctorCheck(.relay, "clock", .ok, seen, figures: figures)
    }
    let isFar = milliseconds >= DoctorThresholds.clockProblemMilliseconds
    return DoctorCheck(
      .relay, "clock", isFar ? .problem : .warning, seen,
      nextStep: isFar
        ? "Set the clock that is wrong (timedatectl): certificates appear to be expired or not "
          + "yet valid, and a relay's history expires too early."
        : "Set the clock that is wrong (timedatectl). Devices use the relay's time, so edits are "
          + "not affected.",
      figures: figures)
  }

  /// Formats milliseconds in a suitable unit.
  private static func span(thousandths: Int64) -> String {
    let seconds = thousandths / 1_000_000
    return switch seconds {
    case ..<10: Figure.decimal(thousandths: thousandths) + " ms"
    case ..<600: "\(seconds) s"
    case ..<36_000: "\(seconds / 60) min"
    default: "\(seconds / 3_600) h"
    }
  }

  /// Reports signs of a proxy in front of the relay.
  package static func proxy(_ report: ProbeReport) -> DoctorCheck {
    let seen =
      report.proxyHeaders.isEmpty
      ? "none detected in front of the relay"
      : "one is in front of the relay (\(report.proxyHeaders.joined(separator: ", ")))"
    return DoctorCheck(
      .relay, "proxy", .ok, seen,
      figures: [JSONMember("signs", .array(report.proxyHeaders.map { .string($0) }))])
  }
}

extension ProbeReport {
  /// Relay time minus this machine's clock, and its uncertainty, in microseconds; nil if no time
  /// was received.
  package var clockOffset: (offset: Int64, error: Int64)? {
    guard case .done = end, status == 200, let way = nanoseconds(opened, ended.instant) else {
      return nil
    }
    do throws(Refusal) {
      let told = try TimeAnswer.decoded(body: body).time
      let (away, isFar) = told.subtractingReportingOverflow(ended.wall)
      // Larger offsets are not plausible, and in microseconds they would overflow.
      guard !isFar, away.magnitude < 1 << 43 else { return nil }
      // Both clocks are truncated to whole milliseconds.
      return (away * 1_000 + way / 2_000, way / 2_000 + 1_000)
    } catch {
      return nil
    }
  }

  /// Reason for the failure, as text.
  package var reason: String {
    switch end {
    case .done: "it sent an unexpected answer"
    case .unreachable(let words), .untrusted(let words), .broken(let words): words
    case .late: "no answer within \(ProbePlan.milliseconds / 1_000) s"
    }
  }
}

/// Checks of the transports, each tested separately.
extension DoctorCheck {
  private static let longPollFallback =
    "Devices fall back to long-polling, which costs more. "
  private static let proxyStep =
    "If there is a proxy in front of the relay, see docs/relay/proxies.md: "

  /// Checks a plain poll, the last fallback; it also detects a device that the relay does not know.
  /// Without it nothing syncs.
  package static func poll(_ report: ProbeReport) -> DoctorCheck {
    switch report.status {
    case 200 where report.end == .done:
      let took = report.nanoseconds(report.opened, report.ended.instant)
      return DoctorCheck(
        .transport, "poll", .ok, "answered after \(Figure.milliseconds(took))",
        figures: [JSONMember("answerMilliseconds", .milliseconds(took))])
    case 401:
      return DoctorCheck(
        .transport, "poll", .problem, "the relay no longer knows this device",
        nextStep: "Create a code on another device of the account (lockstep agent pair), and join "
          + "this home with it again; no unsent change is lost.")
    case 402:
      return DoctorCheck(
        .transport, "poll", .problem, "the account's plan includes no zone",
        nextStep: "Ask the relay's owner (lockstep account plan); no unsent change is lost.")
    default:
      let status = report.status.map { "the answer has status \($0)" }
      return DoctorCheck(
        .transport, "poll", .problem, status ?? report.reason,
        nextStep: "No changes can be received by HTTP: see the log of the relay, and that "
          + "of a proxy in front of it.")
    }
  }

  /// Checks a request that waits for a change. `hasChange`: a change was made while it waited.
  package static func longPoll(_ report: ProbeReport, hasChange: Bool) -> DoctorCheck {
    let name = "long-poll"
    guard report.status == nil || report.status == 200 else {
      return warning(name, "the answer has status \(report.status ?? 0)", step: longPollStep)
    }
    guard case .done = report.end else {
      return warning(
        name,
        hasChange && report.changeRequested != nil
          ? "a change did not end the wait within \(ProbePlan.milliseconds / 1_000) s"
          : report.reason, step: longPollStep)
    }
    let waited = report.nanoseconds(report.opened, report.ended.instant)
    var figures = [JSONMember("heldMilliseconds", .milliseconds(waited))]
    if hasChange {
      guard let push = report.pushNanoseconds else {
        return warning(
          name, "it did not wait: an answer came after \(Figure.milliseconds(waited))",
          step: longPollStep, figures)
      }
      figures.append(JSONMember("pushMilliseconds", .milliseconds(push)))
      let seen = "waits, and reported a change after \(Figure.milliseconds(push))"
      return isPrompt(push)
        ? DoctorCheck(.transport, name, .ok, seen, figures: figures)
        : warning(name, seen, step: longPollStep, figures)
    }
    // Half of the requested time: a proxy or server that does not hold requests answers
    // immediately.
    guard report.hasChanges || (waited ?? 0) >= 500_000_000 else {
      return warning(
        name, "it did not wait: an empty answer came after \(Figure.milliseconds(waited))",
        step: longPollStep, figures)
    }
    return DoctorCheck(
      .transport, name, .ok,
      "waits (\(Figure.milliseconds(waited))); not tested with a change, because "
        + "nothing is written into this account", figures: figures)
  }

  private static let longPollStep =
    proxyStep + "it must hold a request for 60 s. Otherwise devices poll every 30 s."

  /// Checks an event stream; the first event must arrive immediately.
  package static func events(_ report: ProbeReport, hasChange: Bool) -> DoctorCheck {
    let name = "events"
    let step =
      proxyStep + "it must forward a stream without buffering (nginx: proxy_buffering off). "
      + "Devices use it only with --transport events."
    guard report.status == nil || report.status == 200 else {
      return warning(name, "the answer has status \(report.status ?? 0)", step: step)
    }
    let first = report.nanoseconds(report.opened, report.welcomed)
    var figures = [JSONMember("firstMilliseconds", .milliseconds(first))]
    guard let first else {
      let isHeld = report.end == .late
      return warning(
        name,
        isHeld
          ? "the first event is held back: it did not arrive within "
            + "\(ProbePlan.milliseconds / 1_000) s, as if a proxy buffers the stream"
          : report.reason, step: step)
    }
    var seen = "the first event after \(Figure.milliseconds(first))"
    if hasChange {
      guard let push = report.pushNanoseconds else {
        return warning(
          name, "\(seen), but none for a change: \(report.reason)", step: step, figures)
      }
      figures.append(JSONMember("pushMilliseconds", .milliseconds(push)))
      seen += ", the event for a change after \(Figure.milliseconds(push))"
      if !isPrompt(push) { return warning(name, seen + ", which is late", step: step, figures) }
    } else {
      seen += "; not tested with a change, because nothing is written into this account"
    }
    guard isPrompt(first) else {
      return warning(name, seen + ", which is late", step: step, figures)
    }
    return DoctorCheck(.transport, name, .ok, seen, figures: figures)
  }

  /// Checks a WebSocket, from its upgrade to the answer to a time request.
  package static func socket(_ report: ProbeReport, hasChange: Bool) -> DoctorCheck {
    let name = "websocket"
    let step = longPollFallback + proxyStep + "it must forward the fields Upgrade and Connection."
    let upgrade = report.nanoseconds(report.opened, report.answered)
    let welcomed = report.nanoseconds(report.opened, report.welcomed)
    let timeAnswered = report.nanoseconds(report.welcomed, report.timeAnswered)
    guard let upgrade, let welcomed, let timeAnswered else {
      let stage =
        upgrade == nil
        ? "it was not opened" : welcomed == nil ? "no welcome" : "no answer to the time request"
      return warning(name, "\(stage): \(report.reason)", step: step)
    }
    var figures = [
      JSONMember("upgradeMilliseconds", .milliseconds(upgrade)),
      JSONMember("welcomeMilliseconds", .milliseconds(welcomed)),
      JSONMember("timeMilliseconds", .milliseconds(timeAnswered)),
    ]
    var seen =
      "upgrade after \(Figure.milliseconds(upgrade)), welcome after "
      + "\(Figure.milliseconds(welcomed)), the time in \(Figure.milliseconds(timeAnswered))"
    if hasChange {
      guard let push = report.pushNanoseconds else {
        return warning(
          name, "\(seen), but no notice of a change: \(report.reason)", step: step, figures)
      }
      figures.append(JSONMember("pushMilliseconds", .milliseconds(push)))
      seen += ", notice of a change after \(Figure.milliseconds(push))"
      if !isPrompt(push) { return warning(name, seen + ", which is late", step: step, figures) }
    }
    return DoctorCheck(.transport, name, .ok, seen, figures: figures)
  }

  /// Checks the same socket while only pings are sent.
  package static func idle(_ report: ProbeReport) -> DoctorCheck {
    let idle = report.nanoseconds(report.idleSince, report.ended.instant)
    guard let idle else {
      return .skipped(
        .transport, "idle", "no WebSocket was open",
        nextStep: "See the check of the WebSocket first.")
    }
    let seconds = idle / 1_000_000_000
    let figures = [
      JSONMember("stoodMilliseconds", .milliseconds(idle)),
      JSONMember("pings", .whole(Int64(report.pings))),
    ]
    guard case .done = report.end else {
      return DoctorCheck(
        .transport, "idle", .warning,
        "an idle WebSocket was cut after \(seconds) s: \(report.reason)",
        nextStep: proxyStep + "it must allow a connection to be idle for 60 s; or let the relay "
          + "send pings more often (--keep-alive).", figures: figures)
    }
    return DoctorCheck(
      .transport, "idle", .ok,
      "an idle WebSocket stayed open for \(seconds) s, with \(report.pings) pings",
      figures: figures)
  }

  private static func warning(
    _ name: String, _ seen: String, step: String, _ figures: [JSONMember] = []
  ) -> DoctorCheck {
    DoctorCheck(.transport, name, .warning, seen, nextStep: step, figures: figures)
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

/// State of a device's home.
package struct HomeFindings: Hashable, Sendable {
  /// State of the process that has the home open.
  package enum Holder: Hashable, Sendable {
    case unheld
    /// A process that answers.
    case process
    /// A process that does not answer.
    case silent
  }

  package var folder: String
  package var holder = Holder.unheld
  /// Process id, if known.
  package var process: Int?
  package var relay = ""
  package var deviceName = ""
  package var schema = 0
  /// Changes that wait for the relay, and the relay time since which the oldest one waits.
  package var waiting = 0
  package var waitingSince: Int64?
  /// Number of records that need a person's decision.
  package var undecided = 0
  /// Part of the account that the device may use.
  package var scope = DeviceScope.everything
  /// Changes that wait and that the scope does not let the device make, and their zones, in order.
  package var waitingOutside = 0
  package var zonesOutside: [Name] = []
  /// Relay time of the last sync; nil: never.
  package var lastSync: Int64?
  /// Current relay time as estimated from the home, milliseconds.
  package var relayTime: Int64
  /// Sync problem as reported by the holder; nil if there is none.
  package var fault: String?
  /// True if sync has stopped until a person acts.
  package var isFailed = false
  /// Errors that SQLite finds in the database.
  package var damages: [String] = []
  /// Reason why the home's merge rules cannot be read; nil if they can, or there are none.
  package var rulesFault: String?
  /// Files that others than the owner may read, or that have another owner.
  package var exposed: [String] = []
  package var sealing = SealingState()

  package init(folder: String, relayTime: Int64) {
    self.folder = folder
    self.relayTime = relayTime
  }
}

extension DoctorCheck {
  /// Reports a home that cannot be read, with the reason.
  package static func noHome(_ reason: String) -> DoctorCheck {
    DoctorCheck(
      .home, "store", .problem, reason,
      nextStep: "Without its home the device cannot sync; \"What is in a home\" in docs/devices.md "
        + "lists its files.")
  }

  package static func checks(of home: HomeFindings) -> [DoctorCheck] {
    let checks =
      [
        store(home), scope(home), holder(home), waiting(home), sync(home), keys(home),
        secrets(home),
      ].compactMap(\.self)
    guard let fault = home.rulesFault else { return checks }
    return checks + [
      DoctorCheck(
        .home, "rules", .problem, fault,
        nextStep: "Until then no command can hold the home; its records and changes are safe.")
    ]
  }

  private static func store(_ home: HomeFindings) -> DoctorCheck {
    let figures = [JSONMember("schema", .whole(Int64(home.schema)))]
    guard let first = home.damages.first else {
      return DoctorCheck(
        .home, "store", .ok,
        "\(Log.oneLine(home.deviceName))'s, at \(home.relay); schema \(home.schema); its database is intact",
        figures: figures)
    }
    return DoctorCheck(
      .home, "store", .problem, "its database is damaged: \(first)",
      nextStep: "Export what can be read (lockstep agent export --home \(home.folder) DIR), then "
        + "restore a backup, or join the account again with a new home.", figures: figures)
  }

  /// Reports the part of the account that the device may use; nil if that is all of it.
  private static func scope(_ home: HomeFindings) -> DoctorCheck? {
    if home.scope == .everything { return nil }
    let abilities = "it may \(home.scope.abilities)"
    let figures = [
      JSONMember("scope", home.scope.json),
      JSONMember("waitingOutside", .whole(Int64(home.waitingOutside))),
    ]
    guard home.waitingOutside > 0 else {
      return DoctorCheck(.home, "scope", .ok, abilities, figures: figures)
    }
    let zones = home.zonesOutside.map(\.text).joined(separator: ", ")
    let count = "\(home.waitingOutside) \(home.waitingOutside == 1 ? "change" : "changes") in"
    let wanted = home.scope.zones.map { own in
      " --zones " + Set(own + home.zonesOutside).sorted().map(\.text).joined(separator: ",")
    }
    return DoctorCheck(
      .home, "scope", .warning, "\(count) \(zones) cannot be sent: \(abilities)",
      nextStep: "They are safe in the home; lockstep agent export --home \(home.folder) DIR reads "
        + "them. To send them, pair the device again: lockstep agent pair\(wanted ?? "") on a "
        + "device that may do so, then lockstep agent join --home \(home.folder) here.",
      figures: figures)
  }

  private static func holder(_ home: HomeFindings) -> DoctorCheck {
    let process = home.process.map { "process \($0)" } ?? "a process"
    switch home.holder {
    case .process:
      return DoctorCheck(
        .home, "holder", .ok, "\(process) keeps it in sync",
        figures: [JSONMember("process", .whole(home.process.map(Int64.init)))])
    case .unheld:
      return DoctorCheck(
        .home, "holder", .ok, "no process keeps it in sync; each command syncs while it runs")
    case .silent:
      return DoctorCheck(
        .home, "holder", .problem, "\(process) has it open and does not answer",
        nextStep: "Stop that process (if Ctrl-Z suspended it, continue it with fg), then try "
          + "again.")
    }
  }

  private static func waiting(_ home: HomeFindings) -> DoctorCheck {
    let age = home.waitingSince.map { max(0, home.relayTime - $0) }
    let figures = [
      JSONMember("waiting", .whole(Int64(home.waiting))),
      JSONMember("oldestMilliseconds", .whole(age)),
      JSONMember("undecided", .whole(Int64(home.undecided))),
    ]
    let count = "\(home.waiting) \(home.waiting == 1 ? "change waits" : "changes wait")"
    let since = age.map { ", the oldest for \($0 / 1_000) s" } ?? ""
    if home.waiting > 0,
      home.holder != .process || (age ?? 0) > DoctorThresholds.waitingMilliseconds
    {
      return DoctorCheck(
        .home, "waiting", .warning, "\(count) for the relay\(since)",
        nextStep: home.holder == .process
          ? "See the checks of sync and of the relay; waiting changes are safe in the home."
          : "Sync with lockstep agent sync --home \(home.folder), or keep the home in sync with "
            + "lockstep agent run.",
        figures: figures)
    }
    if home.undecided > 0 {
      return DoctorCheck(
        .home, "waiting", .warning,
        "\(home.undecided) \(home.undecided == 1 ? "record waits" : "records wait") for you",
        nextStep: "lockstep agent status --home \(home.folder) lists them.", figures: figures)
    }
    let seen = home.waiting == 0 ? "nothing waits to be sent" : count + since
    return DoctorCheck(.home, "waiting", .ok, seen, figures: figures)
  }

  private static func sync(_ home: HomeFindings) -> DoctorCheck {
    let age = home.lastSync.map { max(0, home.relayTime - $0) }
    let figures = [JSONMember("lastSyncMilliseconds", .whole(age))]
    let last = age.map { "last in sync \($0 / 1_000) s ago" } ?? "it was never in sync"
    if let fault = home.fault {
      return DoctorCheck(
        .home, "sync", home.isFailed ? .problem : .warning, "\(last); \(fault)",
        nextStep: home.isFailed
          ? "It does not retry by itself: follow that advice, then lockstep agent sync --home "
            + "\(home.folder)."
          : "It retries by itself; lockstep agent sync --home \(home.folder) retries at once.",
        figures: figures)
    }
    guard age != nil else {
      return DoctorCheck(
        .home, "sync", .warning, last,
        nextStep: "Sync with lockstep agent sync --home \(home.folder).", figures: figures)
    }
    return DoctorCheck(.home, "sync", .ok, last, figures: figures)
  }

  /// Reports if the account's records are sealed, and which of them the device cannot read. It
  /// cannot know if a person has written the phrase down.
  private static func keys(_ home: HomeFindings) -> DoctorCheck {
    let sealing = home.sealing
    let figures = [
      JSONMember("hasKeys", .bool(sealing.held != nil)),
      JSONMember("isAccountLocked", .bool(sealing.isAccountLocked)),
      JSONMember("lockedZones", .array(sealing.lockedZones.map { .string($0.text) })),
      JSONMember("unreadable", .whole(Int64(sealing.unreadable.count))),
      JSONMember("hasMoreUnreadable", .bool(sealing.hasMoreUnreadable)),
    ]
    if let locked = lockedText(sealing) {
      return DoctorCheck(
        .home, "keys", .problem, locked, nextStep: keysStep(home), figures: figures)
    }
    let seen = keysText(sealing)
    guard !sealing.unreadable.isEmpty || sealing.hasMoreUnreadable else {
      return DoctorCheck(.home, "keys", .ok, seen, figures: figures)
    }
    let step =
      sealing.unreadable.contains { $0.keyID != nil }
      ? keysStep(home)
      : "A program without the keys has written them, or somebody has changed them at the relay; "
        + "nothing here was overwritten. lockstep agent status --home \(home.folder) names their "
        + "zones."
    return DoctorCheck(
      .home, "keys", .warning, "\(seen); \(unreadableText(sealing))", nextStep: step,
      figures: figures)
  }

  /// Returns nil if nothing is locked.
  private static func lockedText(_ sealing: SealingState) -> String? {
    let rest = "does not have the keys: it reads and sends none of them"
    if sealing.isAccountLocked {
      return "the account's records are sealed, and this device \(rest)"
    }
    guard !sealing.lockedZones.isEmpty else { return nil }
    let zones = sealing.lockedZones.map(\.text).joined(separator: ", ")
    return "records of \(zones) are sealed, and this device \(rest)"
  }

  private static func keysText(_ sealing: SealingState) -> String {
    switch sealing.held {
    case nil:
      "this device knows of no sealed records: the relay's owner can read all but the vault's files"
    case .account(_, let zones)?:
      "\(sealedText(zones)), and this device has the keys: "
        + (sealing.held?.current?.checkWords ?? "")
    case .zones(let zones)?:
      "records are sealed, and this device has the keys of "
        + zones.map(\.zone).sorted().map(\.text).joined(separator: ", ") + " alone"
    }
  }

  private static func sealedText(_ zones: ZoneSet) -> String {
    switch zones {
    case .all: "the account's records are sealed"
    case .only(let zones) where zones.isEmpty: "no records of the account are sealed yet"
    case .only(let zones):
      "the account's records of \(zones.sorted().map(\.text).joined(separator: ", ")) are sealed"
    }
  }

  private static func unreadableText(_ sealing: SealingState) -> String {
    let kinds = sealing.unreadable.map(\.kind)
    let parts = Set(kinds).sorted().map { kind in
      "\(kinds.count { $0 == kind }) \(SealFault.text(ofKind: kind))"
    }
    let count = kinds.count
    let more = sealing.hasMoreUnreadable ? "more than " : ""
    return "it cannot read \(more)\(count) \(count == 1 ? "record" : "records") at the relay: "
      + parts.joined(separator: ", ")
  }

  private static func keysStep(_ home: HomeFindings) -> String {
    "Make a code on a device that has them (lockstep agent pair), and join with it here (lockstep "
      + "agent join --home \(home.folder) --code -); or restore them from the phrase (lockstep "
      + "agent key restore --home \(home.folder)). What waits here stays."
  }

  private static func secrets(_ home: HomeFindings) -> DoctorCheck {
    guard !home.exposed.isEmpty else {
      return DoctorCheck(.home, "secrets", .ok, "only their owner can read the token and the key")
    }
    return DoctorCheck(
      .home, "secrets", .warning,
      "other users own or may read \(home.exposed.joined(separator: ", "))",
      nextStep: "Restrict the access with chown and chmod go-rwx; revoke the device if another "
        + "user may have read its token.",
      figures: [JSONMember("exposed", .array(home.exposed.map { .string($0) }))])
  }
}

/// Checks of this machine.
extension DoctorCheck {
  /// Checks the free space for a home or a store; `free`: nil if the system does not report it.
  package static func disk(_ area: Area, of folder: String, free: Int64?) -> DoctorCheck {
    guard let free else {
      return .skipped(
        area, "disk", "the system does not report the free space of \(folder)",
        nextStep: "Check it with df \(folder).")
    }
    let figures = [JSONMember("freeBytes", .whole(free))]
    let seen = "\(RowText.bytes(free)) are free in \(folder)"
    let verdict: Verdict =
      free < DoctorThresholds.diskProblemBytes
      ? .problem : free < DoctorThresholds.diskWarningBytes ? .warning : .ok
    return DoctorCheck(
      area, "disk", verdict, seen,
      nextStep: verdict == .ok
        ? nil : "Free some space: on a full disk nothing is saved, and sync stops.",
      figures: figures)
  }

  /// Reports that the devices of the test account could not be revoked.
  package static func leftDevices(_ reason: String) -> DoctorCheck {
    DoctorCheck(
      .transport, "account", .warning,
      "the test devices \"device 1\" and \"device 2\" could not be revoked: \(reason)",
      nextStep: "They are harmless; the relay's owner may remove their account (lockstep account "
        + "list).")
  }

  /// Checks the limit of open files. `needed`: open files of a relay with all its usual
  /// connections; nil if no relay is checked here.
  package static func openFiles(soft: Int, hard: Int, needed: Int?) -> DoctorCheck {
    var figures = [
      JSONMember("soft", .whole(Int64(soft))), JSONMember("hard", .whole(Int64(hard))),
    ]
    let seen = "a process may open \(soft) files, and may raise the limit to \(hard)"
    guard let needed else {
      let isEnough = hard >= DoctorThresholds.openFiles
      return DoctorCheck(
        .machine, "open-files", isEnough ? .ok : .warning, seen,
        nextStep: isEnough ? nil : "Raise it (ulimit -n): a device opens some tens of files.",
        figures: figures)
    }
    figures.append(JSONMember("needed", .whole(Int64(needed))))
    let isEnough = hard >= needed
    return DoctorCheck(
      .machine, "open-files", isEnough ? .ok : .warning,
      "\(seen); a relay with all its usual connections opens \(needed)",
      nextStep: isEnough
        ? nil
        : "A relay then accepts fewer connections; to allow more, raise it (LimitNOFILE, or "
          + "ulimit -n).",
      figures: figures)
  }

  /// Checks a relay's store on this machine. `contents`: amount of data, as text; `faults`: as
  /// text.
  package static func relayStore(_ contents: String, faults: [String]) -> DoctorCheck {
    guard let first = faults.first else {
      return DoctorCheck(
        .machine, "store", .ok,
        "\(contents); its database is intact, and all chunks exist")
    }
    let more = faults.count > 1 ? ", and \(faults.count - 1) more" : ""
    return DoctorCheck(
      .machine, "store", .problem, "\(first)\(more)",
      nextStep: "lockstep relay check lists all; restore a backup (lockstep relay restore), or see "
        + "docs/relay/backup.md.",
      figures: [JSONMember("faults", .array(faults.map { .string($0) }))])
  }

  /// Reports a store that cannot be read.
  package static func noRelayStore(_ reason: String) -> DoctorCheck {
    DoctorCheck(
      .machine, "store", .problem, reason,
      nextStep: "Name the relay's own folder (--store), and run as its owner.")
  }
}

/// Checks of a relay's database.
extension DoctorCheck {
  /// Reports a database that cannot be opened; `reason` is a complete sentence.
  package static func noDatabase(_ reason: String) -> DoctorCheck {
    DoctorCheck(
      .database, "store", .problem, reason,
      nextStep: "Try psql with the same URL, as the relay's user: the server must run, accept the "
        + "login, and not be a standby. The password comes from PGPASSWORD or ~/.pgpass.")
  }

  /// Checks the database. `accounts`: nil if no relay has created its tables yet.
  package static func database(
    _ name: String, server: String, accounts: Int?, isOlderCopy: Bool
  ) -> DoctorCheck {
    let seen = "\(name): PostgreSQL \(server)"
    guard let accounts else {
      return DoctorCheck(
        .database, "store", .warning, "\(seen), without tables of a relay",
        nextStep: "A relay creates them when it starts; if one has run here, check that the URL "
          + "names its database, user and schema.")
    }
    let figures = [JSONMember("accounts", .whole(Int64(accounts)))]
    let contents = "\(seen), \(accounts) account\(accounts == 1 ? "" : "s")"
    if isOlderCopy {
      return DoctorCheck(
        .database, "store", .warning,
        "\(contents); it is another copy than the one that relays last used",
        nextStep: "If a backup was restored, or a standby was promoted, nothing needs to be done: "
          + "the next relay detects it, and devices bring back what it lacks.", figures: figures)
    }
    return DoctorCheck(.database, "store", .ok, contents, figures: figures)
  }

  /// Checks the durability. `lossy`: settings that are off although they are needed to keep
  /// answered writes after a crash.
  package static func durability(lossy: [String]) -> DoctorCheck {
    guard let first = lossy.first else {
      return DoctorCheck(.database, "durability", .ok, "commits survive a crash of its machine")
    }
    let all = lossy.joined(separator: " and ")
    return DoctorCheck(
      .database, "durability", .warning,
      "\(all) \(lossy.count == 1 ? "is" : "are") off: a crash of its machine loses or damages "
        + "saved data",
      nextStep: "Except for tests, set it to on (ALTER SYSTEM SET \(first) = on), and reload the "
        + "configuration (SELECT pg_reload_conf()).",
      figures: [JSONMember("off", .array(lossy.map { .string($0) }))])
  }

  /// Checks the number of server sessions that are not reserved for administrators.
  package static func databaseConnections(free: Int, of all: Int) -> DoctorCheck {
    let isEnough = free >= DoctorThresholds.databaseConnections
    return DoctorCheck(
      .database, "connections", isEnough ? .ok : .warning, "\(free) of \(all) sessions are free",
      nextStep: isEnough
        ? nil
        : "Raise max_connections, or end other sessions: a relay needs "
          + "\(DoctorThresholds.databaseConnections), and must open them again after a restart.",
      figures: [
        JSONMember("free", .whole(Int64(free))), JSONMember("all", .whole(Int64(all))),
      ])
  }
}
