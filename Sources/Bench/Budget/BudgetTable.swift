import LockstepClient
import LockstepJSON
import LockstepModel
import LockstepTerminal

/// Cost of working days, compared with the limits, as text and as JSON.
package struct BudgetTable: Sendable {
  package var rows: [BudgetRow]

  package init(rows: [BudgetRow]) { self.rows = rows }

  /// Maximum requests in the busiest hour, for every transport except polling.
  static let requestsMost = 100
  /// Maximum bytes of the timer per day, for every transport except polling.
  static let timerBytesMost = 1_000_000
  /// Maximum wake-ups per hour. A heartbeat every 25 s, which keeps a connection open through
  /// proxies, makes 144; some more are clock checks.
  static let idleWakesMost = 160
  /// Maximum wake-ups per day of a device that sleeps: a tenth of those for the heartbeat of a
  /// socket.
  static let sleeperWakeupsMost = 24 * 144 / 10

  package var isMet: Bool { rows.allSatisfy { row in checkedFigures(row).allSatisfy { $0.isMet } } }

  /// One figure and its limit; nil: no limit.
  struct CheckedFigure {
    var name: String
    var value: Int
    var most: Int?
    var isMet: Bool { most.map { value <= $0 } ?? true }
  }

  func checkedFigures(_ row: BudgetRow) -> [CheckedFigure] {
    let isPolling = row.way == .transport(.poll)
    let isTimer = row.app == .timer
    return [
      CheckedFigure(
        name: "requestsAnHour", value: row.requests,
        most: isPolling ? nil : BudgetTable.requestsMost - 1),
      CheckedFigure(
        name: "bytesADay", value: row.bytes,
        most: isTimer && !isPolling ? BudgetTable.timerBytesMost - 1 : nil),
      CheckedFigure(
        name: "idleWakesAnHour", value: row.idleWakes,
        most: row.way == .wake ? BudgetTable.idleWakesMost / 10 : BudgetTable.idleWakesMost),
      CheckedFigure(
        name: "wakeupsADay", value: row.wakeups,
        most: row.way == .wake ? BudgetTable.sleeperWakeupsMost : nil),
      CheckedFigure(name: "faults", value: row.faults.count, most: 0),
    ]
  }

  package var json: JSONValue {
    func number(_ value: Int) -> JSONValue { .number(JSONNumber(Int64(value))) }
    return [
      "devices": number(BudgetDay.devices), "met": .bool(isMet),
      "rows": .array(
        rows.map { row in
          var members = [
            JSONMember("app", .string(row.app.rawValue)),
            JSONMember("transport", .string(row.way.text)),
            JSONMember("edits", number(row.edits)),
          ]
          for figure in checkedFigures(row) where figure.name != "faults" {
            members.append(JSONMember(figure.name, number(figure.value)))
            let most = figure.most.map(number) ?? .null
            members.append(JSONMember(figure.name + "Most", most))
          }
          members.append(JSONMember("faults", .array(row.faults.map(JSONValue.string))))
          return .object(members)
        }),
    ]
  }

  package var text: String {
    var lines = [
      "A simulated working day of a user with three devices, per app: figures of the device with",
      "the highest cost. Requests are those of the busiest hour, including messages on a socket;",
      "wake-ups are those of an idle hour and of the day, without those by the user's own acts.",
      "",
      BudgetTable.columns(
        "app", "by", "edits", "requests/h", "KB/day", "idle wakeups/h", "wakeups/day", ""),
    ]
    for row in rows {
      let figures = checkedFigures(row)
      let misses = figures.filter { !$0.isMet }.map { miss in
        miss.name == "faults" ? row.faults[0] : "\(miss.value) > \(miss.most ?? 0)"
      }
      func cell(_ index: Int, in unit: Int = 1) -> String {
        let figure = figures[index]
        let value = unit == 1 ? "\(figure.value)" : BudgetTable.thousands(figure.value)
        return value + (figure.most.map { " ≤ \($0 / unit)" } ?? "")
      }
      lines.append(
        BudgetTable.columns(
          row.app.rawValue, row.way.text, "\(row.edits)", cell(0), cell(1, in: 1_000), cell(2),
          cell(3),
          misses.isEmpty ? "met" : "MISSED: " + misses.joined(separator: ", ")))
    }
    if rows.contains(where: { $0.way == .transport(.poll) }) {
      lines += [
        "",
        "poll is the last fallback: it sends a request every 30 s, 120 per hour, besides saves.",
      ]
    }
    if rows.contains(where: { $0.way == .wake }) {
      lines += [
        "",
        "wake: a device that sleeps; it is connected for 30 s after each act, and after each push.",
      ]
    }
    return lines.joined(separator: "\n")
  }

  private static func thousands(_ bytes: Int) -> String {
    Figure.decimal(thousandths: Int64(bytes))
  }

  private static func columns(
    _ app: String, _ transport: String, _ edits: String, _ requests: String, _ bytes: String,
    _ wakes: String, _ day: String, _ verdict: String
  ) -> String {
    func left(_ text: String, _ width: Int) -> String {
      text + String(repeating: " ", count: max(1, width - text.count))
    }
    func right(_ text: String, _ width: Int) -> String {
      String(repeating: " ", count: max(1, width - text.count)) + text
    }
    return left(app, 10) + left(transport, 10) + right(edits, 5) + right(requests, 13)
      + right(bytes, 14) + right(wakes, 16) + right(day, 14)
      + (verdict.isEmpty ? "" : "  " + verdict)
  }
}

/// Summary of a `changes` message for a load reader: the cursor, whether there is more, and the
/// number of records. The whole message is checked to be JSON, but no record is decoded, so that
/// the reader costs a small part of the relay's work.
struct PageSummary: Hashable {
  var token: ChangeToken
  var more: Bool
  var records: Int

  private static let token = JSONKey("token".utf8)
  private static let more = JSONKey("more".utf8)
  private static let changes = JSONKey("changes".utf8)

  /// Returns nil if the message is not a `changes` message.
  init?(_ message: [UInt8]) {
    guard message.starts(with: #"{"op":"changes""#.utf8) else { return nil }
    var token: ChangeToken?
    var more: Bool?
    var records = 0
    do throws(JSONFault) {
      var scanner = JSONScanner(message.span.bytes)
      try scanner.enterObject()
      while let key = try scanner.nextMember() {
        switch key {
        case Self.token: token = ChangeToken(text: try scanner.string())
        case Self.more: more = try scanner.bool()
        case Self.changes:
          try scanner.enterArray()
          while try scanner.nextElement() {
            try scanner.skipValue()
            records += 1
          }
        default: try scanner.skipValue()
        }
      }
      try scanner.finish()
    } catch {
      return nil
    }
    guard let token, let more else { return nil }
    self.token = token
    self.more = more
    self.records = records
  }
}
