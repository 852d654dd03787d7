import LockstepClient
public import LockstepModel

/// Cost of working days, compared with the limits, as text and as JSON.
public struct BudgetTable: Sendable {
  public var rows: [BudgetRow]

  public init(rows: [BudgetRow]) { self.rows = rows }

  /// Maximum requests in the busiest hour, for every transport except polling.
  static let requestsMost = 100
  /// Maximum bytes of the timer per day, for every transport except polling.
  static let timerBytesMost = 1_000_000
  /// Maximum wake-ups per hour. A heartbeat every 25 s, which keeps a connection open through
  /// proxies, makes 144; some more are clock checks.
  static let idleWakesMost = 160

  public var isMet: Bool { rows.allSatisfy { row in judged(row).allSatisfy { $0.isMet } } }

  /// One figure and its limit; nil: no limit.
  struct Judged {
    var name: String
    var value: Int
    var most: Int?
    var isMet: Bool { most.map { value <= $0 } ?? true }
  }

  func judged(_ row: BudgetRow) -> [Judged] {
    let isLastRung = row.transport == .poll
    let isTimer = row.app == .timer
    return [
      Judged(
        name: "requestsAnHour", value: row.requests,
        most: isLastRung ? nil : BudgetTable.requestsMost - 1),
      Judged(
        name: "bytesADay", value: row.bytes,
        most: isTimer && !isLastRung ? BudgetTable.timerBytesMost - 1 : nil),
      Judged(name: "idleWakesAnHour", value: row.idleWakes, most: BudgetTable.idleWakesMost),
      Judged(name: "faults", value: row.faults.count, most: 0),
    ]
  }

  public var json: JSONValue {
    func number(_ value: Int) -> JSONValue { .number(JSONNumber(Int64(value))) }
    return [
      "devices": number(BudgetDay.devices), "met": .bool(isMet),
      "rows": .array(
        rows.map { row in
          var members = [
            JSONMember("app", .string(row.app.rawValue)),
            JSONMember("transport", .string(row.transport.rawValue)),
            JSONMember("edits", number(row.edits)),
          ]
          for figure in judged(row) where figure.name != "faults" {
            members.append(JSONMember(figure.name, number(figure.value)))
            let most = figure.most.map(number) ?? .null
            members.append(JSONMember(figure.name + "Most", most))
          }
          members.append(JSONMember("faults", .array(row.faults.map(JSONValue.string))))
          return .object(members)
        }),
    ]
  }

  public var text: String {
    var lines = [
      "A working day of a person with three devices, an app at a time; what it cost the device",
      "that it cost most. Requests are those of the busiest hour, messages on a socket among them;",
      "wakings those of an hour in which nobody touches anything.",
      "",
      BudgetTable.columns("app", "by", "edits", "requests/h", "KB/day", "idle wakings/h", ""),
    ]
    for row in rows {
      let figures = judged(row)
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
          row.app.rawValue, row.transport.rawValue, "\(row.edits)", cell(0), cell(1, in: 1_000),
          cell(2),
          misses.isEmpty ? "met" : "MISSED: " + misses.joined(separator: ", ")))
    }
    if rows.contains(where: { $0.transport == .poll }) {
      lines += ["", "poll is the last rung: it asks every 30 s, 120 times an hour, and saves."]
    }
    return lines.joined(separator: "\n")
  }

  private static func thousands(_ bytes: Int) -> String {
    Figure.decimal(thousandths: Int64(bytes))
  }

  private static func columns(
    _ app: String, _ transport: String, _ edits: String, _ requests: String, _ bytes: String,
    _ wakes: String, _ verdict: String
  ) -> String {
    func left(_ text: String, _ width: Int) -> String {
      text + String(repeating: " ", count: max(1, width - text.count))
    }
    func right(_ text: String, _ width: Int) -> String {
      String(repeating: " ", count: max(1, width - text.count)) + text
    }
    return left(app, 10) + left(transport, 10) + right(edits, 5) + right(requests, 13)
      + right(bytes, 14) + right(wakes, 16) + (verdict.isEmpty ? "" : "  " + verdict)
  }
}
