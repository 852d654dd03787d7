public import LockstepModel
import LockstepWire

/// Checks of a relay's address and of the server that answers there.
extension DoctorCheck {
  /// Checks the name resolution. `addresses`: resolved addresses; empty if the resolver found none,
  /// for the reason `fault`.
  public static func name(
    _ host: String, addresses: [String], fault: String?, nanoseconds: Int64
  ) -> DoctorCheck {
    let figures = [JSONMember("resolveMilliseconds", .milliseconds(nanoseconds))]
    guard addresses.isEmpty else {
      let list = addresses.joined(separator: ", ")
      let words = addresses == [host] ? "\(host) is an address" : "\(host) is \(list)"
      return DoctorCheck(
        .relay, "name", .ok, "\(words), known after \(Figure.milliseconds(nanoseconds))",
        figures: figures)
    }
    return DoctorCheck(
      .relay, "name", .problem, "\(host) has no address: \(fault ?? "none is known")",
      nextStep: "Look whether the name is spelt right, and whether this machine is online.",
      figures: figures)
  }

  /// Checks a connection without TLS, on which nothing is sent.
  public static func connection(_ report: ProbeReport, to address: String) -> DoctorCheck {
    guard case .done = report.end, let took = report.lapse(report.begun.instant, report.opened)
    else {
      return DoctorCheck(
        .relay, "connection", .problem, "\(address) cannot be reached: \(report.reason)",
        nextStep: "Look whether the relay runs, listens at this address and port, and whether a "
          + "firewall lets it through.")
    }
    let figures = [JSONMember("connectMilliseconds", .milliseconds(took))]
    let seen = "\(address) was reached after \(Figure.milliseconds(took))"
    guard took > DoctorThresholds.connectMilliseconds * 1_000_000 else {
      return DoctorCheck(.relay, "connection", .ok, seen, figures: figures)
    }
    return DoctorCheck(
      .relay, "connection", .warning, seen,
      nextStep: "The way there is slow, and so is every sync. Look at this machine's network.",
      figures: figures)
  }

  /// Checks a connection with TLS. `wall`: this machine's clock, milliseconds.
  public static func security(_ report: ProbeReport, wall: Int64) -> DoctorCheck {
    switch report.end {
    case .done: break
    case .untrusted(let words):
      return DoctorCheck(
        .relay, "tls", .problem, words, nextStep: "See \"By TLS\" in docs/devices.md.")
    case .unreachable, .broken, .late:
      return DoctorCheck(
        .relay, "tls", .problem, "no secure connection came about: \(report.reason)",
        nextStep: "Look whether that port speaks TLS; a relay without --tls-cert has an http:// "
          + "address.")
    }
    let took = report.lapse(report.begun.instant, report.opened)
    var figures = [JSONMember("handshakeMilliseconds", .milliseconds(took))]
    let seen =
      "\(report.version ?? "TLS"), with a certificate that is trusted here, after "
      + Figure.milliseconds(took)
    guard let end = report.certificateEnd else {
      return DoctorCheck(.relay, "tls", .ok, seen, figures: figures)
    }
    let days = (end - wall) / 86_400_000
    figures.append(JSONMember("certificateDays", .whole(days)))
    let date = UniversalTime(end).date
    guard days < DoctorThresholds.certificateDays else {
      return DoctorCheck(.relay, "tls", .ok, "\(seen); it is good until \(date)", figures: figures)
    }
    return DoctorCheck(
      .relay, "tls", .warning, "\(seen); it is good for \(days) more days, until \(date)",
      nextStep: "Renew the certificate, then send the relay SIGHUP; devices refuse it afterwards.",
      figures: figures)
  }

  /// Checks the answer to `GET /v1/limits`. `usual`: the answer of a relay of this version with
  /// default settings.
  public static func relay(_ report: ProbeReport, usual: [JSONMember]) -> DoctorCheck {
    guard case .done = report.end, let limits = limits(report) else {
      var who = report.status.map { "the answer has status \($0)" } ?? report.reason
      if !report.signs.isEmpty { who += " (\(report.signs.joined(separator: ", ")))" }
      return DoctorCheck(
        .relay, "relay", .problem, "what answers there is no Lockstep relay: \(who)",
        nextStep: "Name the address that the relay prints when it starts (\"listening on …\"), or "
          + "have the proxy in front pass all paths on to it.")
    }
    let names = limits.map(\.name)
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
        nextStep: "Sync works across versions, but bring relay and devices to the newest one.",
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
      return isRelay ? members : nil
    } catch {
      return nil
    }
  }

  /// Checks the answers to `GET /v1/time`; the one with the shortest round trip counts.
  public static func clock(_ reports: [ProbeReport]) -> DoctorCheck {
    guard let best = reports.compactMap(\.clockOffset).min(by: { $0.error < $1.error }) else {
      return .skipped(
        .relay, "clock", "the relay did not tell its time",
        nextStep: "See what else is said of the relay.")
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
        ? "Set the clock of whichever is wrong (timedatectl): certificates seem to have ended or "
          + "not to have begun, and a relay's history ends too early."
        : "Set the clock of whichever is wrong (timedatectl). Devices go by the relay's time, so "
          + "no edit is harmed meanwhile.",
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
  public static func proxy(_ report: ProbeReport) -> DoctorCheck {
    let seen =
      report.signs.isEmpty
      ? "no sign of one in front of the relay"
      : "one stands in front of the relay (\(report.signs.joined(separator: ", ")))"
    return DoctorCheck(
      .relay, "proxy", .ok, seen,
      figures: [JSONMember("signs", .array(report.signs.map { .string($0) }))])
  }
}

extension ProbeReport {
  /// Relay time minus this machine's clock, and its uncertainty, in microseconds; nil if no time
  /// was received.
  var clockOffset: (offset: Int64, error: Int64)? {
    guard case .done = end, status == 200, let way = lapse(opened, ended.instant) else {
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
  var reason: String {
    switch end {
    case .done: "it answered otherwise than a relay does"
    case .unreachable(let words), .untrusted(let words), .broken(let words): words
    case .late: "no answer came within \(ProbePlan.milliseconds / 1_000) s"
    }
  }
}
