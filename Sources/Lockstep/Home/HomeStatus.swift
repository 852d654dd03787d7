import LockstepClient
import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepSealing
import LockstepStorage

/// Identity and sync status of a home, as a line of JSON for other commands and `--json`, and as
/// sentences for a person.
package struct HomeStatus {
  package let json: JSONValue

  package init(identity: HomeIdentity, status: AgentStatus) {
    func number(_ value: Int64?) -> JSONValue { value.map { .number(JSONNumber($0)) } ?? .null }
    var members = [
      JSONMember("account", .string(identity.credentials.account.text)),
      JSONMember("device", .string(identity.credentials.device.text)),
      JSONMember("deviceName", .string(identity.deviceName)),
      JSONMember("relay", .string(identity.relay)),
      JSONMember("state", .string(status.state.word)),
      JSONMember("lastSync", number(status.lastSync)),
      JSONMember("transport", status.transport.map { .string($0.rawValue) } ?? .null),
      JSONMember("waiting", number(Int64(status.waiting))),
      JSONMember("parked", number(Int64(status.parkedCount))),
      JSONMember("asking", number(Int64(status.askingCount))),
      JSONMember("clockOffset", number(status.clockOffset)),
      JSONMember("conflicts", number(Int64(status.traffic.conflicts))),
    ]
    let scope = identity.credentials.scope
    if scope != .everything { members.append(JSONMember("scope", scope.json)) }
    switch status.state {
    case .offline(let since, let reason):
      members += [JSONMember("since", number(since)), JSONMember("reason", .string(reason))]
    case .asleep(let since): members.append(JSONMember("since", number(since)))
    case .failed(let reason): members.append(JSONMember("reason", .string(reason)))
    case .starting, .syncing, .inSync, .needsPerson, .stopped: break
    }
    let first = status.parked.map { parked in
      JSONValue.object([
        JSONMember("zone", .string(parked.key.zone.text)),
        JSONMember("name", .string(parked.key.name.text)),
        JSONMember("code", .string(parked.refusal.code.rawValue)),
        JSONMember("detail", .string(parked.refusal.detail)),
      ])
    }
    let held = [
      ("blockedZones", status.blockedZones), ("zonesOutOfScope", status.zonesOutOfScope),
    ]
    for (name, zones) in held where !zones.isEmpty {
      members.append(JSONMember(name, JSONValue(zones)))
    }
    if !status.switchedOff.isEmpty {
      let zones = status.switchedOff.map { off -> JSONValue in
        ["zone": .string(off.zone.text), "waiting": number(Int64(off.waiting))]
      }
      members.append(JSONMember("zonesOff", .array(zones)))
    }
    if !status.questions.isEmpty {
      let questions = status.questions.map { question -> JSONValue in
        ["app": .string(question.app), "count": number(Int64(question.count))]
      }
      members.append(JSONMember("restore", .array(questions)))
    }
    if status.setAsideCount > 0 {
      members.append(JSONMember("setAside", number(Int64(status.setAsideCount))))
    }
    members += HomeStatus.unreadableMembers(status)
    let refused = status.chunksRefused.map { JSONMember("piecesRefused", .string($0.detail)) }
    members += refused.map { [$0] } ?? []
    if !first.isEmpty { members.append(JSONMember("parkedRecords", .array(first))) }
    json = .object(members)
  }

  private static func unreadableMembers(_ status: AgentStatus) -> [JSONMember] {
    guard status.unreadableCount > 0 else { return [] }
    let records = status.unreadable.map { record -> JSONValue in
      [
        "zone": .string(record.key.zone.text), "name": .string(record.key.name.text),
        "fault": .string(record.fault.kind),
      ]
    }
    return [
      JSONMember("unreadable", .number(JSONNumber(Int64(status.unreadableCount)))),
      JSONMember("unreadableRecords", .array(records)),
    ]
  }

  package init(json: JSONValue) { self.json = json }

  /// Returns credentials for a command of the same person; they are sent through the home's socket
  /// only.
  package static func credentials(_ identity: HomeIdentity, cursor: ChangeToken?) -> JSONValue {
    .object([
      JSONMember("relay", .string(identity.relay)),
      JSONMember("token", .string(identity.credentials.token)),
      JSONMember("cursor", cursor.map { .string($0.text) } ?? .null),
    ])
  }

  private func text(_ name: String) -> String { json[name]?.string ?? "" }
  /// Returns a text that others chose, without characters that end its line or change the order of
  /// its letters.
  private func oneLine(_ name: String) -> String {
    String(
      String.UnicodeScalarView(
        text(name).unicodeScalars.map { scalar in
          switch scalar.properties.generalCategory {
          case .control, .format, .lineSeparator, .paragraphSeparator: "\u{FFFD}"
          default: scalar
          }
        }))
  }
  private func count(_ name: String) -> Int64 { json[name]?.int64 ?? 0 }

  package var isInSync: Bool { text("state") == "inSync" }
  /// True if the relay answers, even if it refuses single records or a person must decide.
  package var isInReach: Bool { json["transport"]?.string != nil }
  package var needsPerson: Bool { text("state") == "needsPerson" }
  package var isFailed: Bool { text("state") == "failed" }

  /// Part of the account that this device may use; nil if this program does not know the form in
  /// which the process that holds the home says it.
  package var scope: DeviceScope? { DeviceScope(json: json["scope"]) }

  package var device: String { text("device") }
  package var deviceName: String { text("deviceName") }
  package var transport: String? { json["transport"]?.string }
  /// Time of the last sync: relay time, in milliseconds.
  package var lastSync: Int64? { json["lastSync"]?.int64 }
  /// Number of conflicts resolved since the process that holds the home started.
  package var conflicts: Int64 { count("conflicts") }
  /// Reason why there is no connection; nil if there is one, or none was tried yet.
  package var connectionError: String? {
    ["offline", "failed"].contains(text("state")) ? text("reason") : nil
  }

  /// Returns the number of changes that wait in a zone that is switched off; nil if it is on.
  package func waitingChanges(inDisabled zone: Name) -> Int64? {
    (json["zonesOff"]?.array ?? []).first { $0["zone"]?.string == zone.text }?["waiting"]?.int64
  }

  /// Returns the number of the account's records of an app, if a person must decide about them
  /// first.
  package func restoreCount(of app: String) -> Int64? {
    (json["restore"]?.array ?? []).first { $0["app"]?.string == app }?["count"]?.int64
  }

  /// Returns the relay's time, in milliseconds, at the time `wall` of this machine's clock, right
  /// or wrong.
  package func relayTime(atWall wall: Int64) -> Int64 { wall + (json["clockOffset"]?.int64 ?? 0) }

  /// Returns the most important facts in one line. `wall`: this machine's clock.
  package func line(wall: Int64) -> String {
    (json["zonesOff"]?.array ?? []).reduce(state(now: relayTime(atWall: wall))) { line, off in
      let count = off["waiting"]?.int64 ?? 0
      let values = ["line": line, "zone": off["zone"]?.string ?? ""]
      return count == 0
        ? localized("{line}; {zone} is switched off", values)
        : localized(
          count: count, one: "{line}; {zone} is switched off ({count} change waits)",
          many: "{line}; {zone} is switched off ({count} changes wait)", values)
    }
  }

  private func state(now: Int64) -> String {
    let time = (json["since"]?.int64).flatMap { elapsedText(from: $0, to: now) }
    let reason = translated(text("reason"))
    switch text("state") {
    case "inSync":
      guard let last = json["lastSync"]?.int64 else { return localized("in sync") }
      return elapsedText(from: last, to: now)
        .map { localized("in sync, {time} ago", ["time": $0]) } ?? localized("in sync, just now")
    case "syncing", "starting": return withWaiting(localized("syncing"))
    case "asleep":
      return withWaiting(
        time.map { localized("asleep for {time}, and woken by changes", ["time": $0]) }
          ?? localized("asleep, and woken by changes"))
    case "offline":
      return withWaiting(
        time.map { localized("offline for {time} ({reason})", ["time": $0, "reason": reason]) }
          ?? localized("offline ({reason})", ["reason": reason]))
    case "failed": return withWaiting(localized("not syncing: {reason}", ["reason": reason]))
    case "needsPerson":
      let reasons = needs
      let all = reasons.dropFirst().reduce(reasons.first ?? "") {
        localized("{first}; and {second}", ["first": $0, "second": $1])
      }
      return localized("in sync, but {reasons}", ["reasons": all])
    default: return withWaiting(text("state"))
    }
  }

  /// Returns the text with the number of changes that wait, if any do.
  private func withWaiting(_ text: String) -> String {
    let waiting = count("waiting")
    guard waiting > 0 else { return text }
    return localized(
      count: waiting, one: "{state}, {count} change waits", many: "{state}, {count} changes wait",
      ["state": text])
  }

  /// Texts about what needs a person.
  private var needs: [String] {
    var needs: [String] = []
    let records = count("parked") + count("asking")
    if records > 0 {
      needs.append(
        localized(
          count: records, one: "{count} record waits for you", many: "{count} records wait for you"
        ))
    }
    for question in json["restore"]?.array ?? [] {
      needs.append(
        localized(
          "decide about the account's {app}: lockstep {app} restore yes|wipe",
          ["app": question["app"]?.string ?? ""]))
    }
    if let zones = list("blockedZones") {
      needs.append(
        withWaiting(
          localized("the account's plan does not include {zones}", ["zones": zones])))
    }
    if let zones = list("zonesOutOfScope") {
      needs.append(
        withWaiting(
          localized(
            "this device is not paired to change {zones}, pair it again", ["zones": zones])))
    }
    if count("setAside") > 0 {
      needs.append(
        withWaiting(
          localized(
            "something between this device and the relay refuses large requests (status 413)")))
    }
    if count("unreadable") > 0 { needs.append(unreadableText) }
    if let detail = json["piecesRefused"]?.string {
      needs.append(
        withWaiting(
          localized("files cannot be uploaded: {reason}", ["reason": translated(detail)])))
    }
    return needs
  }

  /// Text about records that cannot be read, with the next step, by the fault of the first listed
  /// record.
  private var unreadableText: String {
    let first = (json["unreadableRecords"]?.array ?? []).first
    let count = count("unreadable")
    return first?["fault"]?.string == SealFault.unknownKey("").kind
      ? localized(
        count: count,
        one: "{count} record of sealed zones cannot be read here: bring the account's keys with a "
          + "code of lockstep agent pair, or lockstep agent key restore",
        many: "{count} records of sealed zones cannot be read here: bring the account's keys with "
          + "a code of lockstep agent pair, or lockstep agent key restore")
      : localized(
        count: count,
        one: "{count} record of sealed zones cannot be read here: a device without the keys has "
          + "written them, or somebody has changed them at the relay",
        many: "{count} records of sealed zones cannot be read here: a device without the keys has "
          + "written them, or somebody has changed them at the relay")
  }

  /// Returns the zones of a member; nil if there are none.
  private func list(_ member: String) -> String? {
    let zones = (json[member]?.array ?? []).compactMap(\.string)
    return zones.isEmpty ? nil : zones.joined(separator: ", ")
  }

  /// Returns several lines for a person.
  package func text(wall: Int64) -> String {
    let device = "\(oneLine("deviceName")) (\(text("device")))"
    let relay =
      transport.map {
        localized("{relay} by {transport}", ["relay": text("relay"), "transport": $0])
      } ?? text("relay")
    let rows = [
      (localized("device"), device), (localized("account"), text("account")),
      (localized("relay"), relay), scopeRow, (localized("sync"), line(wall: wall)),
    ]
    return (rows.compactMap(\.self) + unreadableRows + parkedRows)
      .map { title, text in HomeStatus.row(title, text) }.joined(separator: "\n")
  }

  /// Returns a line of the status: the title in a column, and the text.
  package static func row(_ title: String, _ text: String) -> String {
    title + String(repeating: " ", count: max(1, titleColumns - width(of: title))) + text
  }

  /// Width of the titles' column: ten, or more in a language whose titles are wider.
  private static var titleColumns: Int {
    let titles = [localized("device"), localized("account"), localized("relay"), localized("sync")]
    return max(10, (titles.map(width).max() ?? 0) + 2)
  }

  private static func width(of title: String) -> Int {
    title.reduce(0) { $0 + ($1.isASCII ? 1 : 2) }
  }

  private var scopeRow: (String, String)? {
    guard let scope else {
      return (localized("scope"), localized("unknown to this version of the program"))
    }
    return scope == .everything ? nil : (localized("scope"), scope.summary)
  }

  /// One row for each zone and fault. The records' names at the relay say nothing to a person.
  private var unreadableRows: [(String, String)] {
    var counts: [(zone: String, kind: String, count: Int)] = []
    for record in json["unreadableRecords"]?.array ?? [] {
      let (zone, kind) = (record["zone"]?.string ?? "", record["fault"]?.string ?? "")
      if let index = counts.firstIndex(where: { $0.zone == zone && $0.kind == kind }) {
        counts[index].count += 1
      } else {
        counts.append((zone, kind, 1))
      }
    }
    return counts.map { line in
      let text = localized(
        count: line.count, one: "{zone}: {count} record {fault}",
        many: "{zone}: {count} records {fault}",
        ["zone": line.zone, "fault": SealFault.text(ofKind: line.kind)])
      return (localized("unread"), text)
    }
  }

  private var parkedRows: [(String, String)] {
    let rows = (json["parkedRecords"]?.array ?? []).map { parked in
      let refusal = parked["code"]?.string.flatMap(RefusalCode.init(rawValue:))
        .map { Refusal($0, parked["detail"]?.string ?? "").text }
      let reason = refusal ?? parked["detail"]?.string ?? ""
      let record = "\(parked["zone"]?.string ?? "")/\(parked["name"]?.string ?? "")"
      return (
        localized("parked"),
        localized("{source}: {reason}", ["source": record, "reason": reason])
      )
    }
    return count("parked") == 0 ? rows : rows + [(localized("retry"), "lockstep agent sync")]
  }

  /// Returns the time between two instants in a suitable unit, or nil if it is less than two
  /// seconds.
  private func elapsedText(from instant: Int64, to now: Int64) -> String? {
    let seconds = max(0, (now - instant) / 1_000)
    return switch seconds {
    case 0..<2: nil
    case 2..<120: localized("{count} s", ["count": "\(seconds)"])
    case 120..<7_200: localized("{count} min", ["count": "\(seconds / 60)"])
    default: localized("{count} h", ["count": "\(seconds / 3_600)"])
    }
  }
}

extension AgentStatus.State {
  package var word: String {
    switch self {
    case .starting: "starting"
    case .syncing: "syncing"
    case .inSync: "inSync"
    case .needsPerson: "needsPerson"
    case .asleep: "asleep"
    case .offline: "offline"
    case .failed: "failed"
    case .stopped: "stopped"
    }
  }
}

extension EditFailure {
  /// One sentence that includes the next step.
  package var explanation: String {
    switch self {
    case .refused(let refusal): refusal.reason
    case .tooLarge(let bytes):
      localized(
        "the record would have {bytes} bytes; the limit is {limit}",
        ["bytes": "\(bytes)", "limit": "\(Limits.recordBytes)"])
    case .outboxFull: localized("too many changes wait for the relay; sync first, then try again")
    case .notJoined:
      localized("this home has not joined an account; see lockstep agent join --help")
    case .outOfScope(let zone, let scope): scope.explanation(ofEditIn: zone)
    case .nothingToDecide: localized("that record has no open conflict")
    case .restoreFirst(let app, let count): Self.restoreExplanation(app, Int64(count))
    // A change that reached a disk that failed to sync it reappears if the process ends before it
    // has overwritten it.
    case .storage(let error):
      if case .failed = error {
        localized(
          "{reason}; the change may have been applied: check before you repeat it",
          ["reason": "\(error)"])
      } else {
        "\(error)"
      }
    case .stopping: localized("this home is being closed; try again")
    }
  }

  /// Returns the error text of a command that cannot continue before the answer to a restore.
  package static func restoreExplanation(_ app: String, _ count: Int64) -> String {
    localized(
      "other devices of this account have {records}, and this one started with none; lockstep {app} "
        + "restore yes accepts them, restore wipe deletes them everywhere",
      ["records": records(of: app, count), "app": app])
  }

  /// Returns the number of an app's records, such as `3 habits`.
  package static func records(of app: String, _ count: Int64) -> String {
    switch app {
    case "habits": localized(count: count, one: "{count} habit", many: "{count} habits")
    default: "\(count) \(count == 1 && app.hasSuffix("s") ? String(app.dropLast()) : app)"
    }
  }
}
