import Apps
import Changes
import Loop

/// An app's rows as far as the terminal has room for them, sync below, and how to end it.
struct ListView: WatchView {
  let takesColours: Bool
  private var rows = ["…"]
  private var status: HomeStatus?
  private var area = DrawnArea()
  private var hasEnded = false

  init(takesColours: Bool) { self.takesColours = takesColours }

  mutating func take(_ line: JSONValue) {
    if line["view"] != nil { rows = HomeView(line).lines }
    if let reason = line["error"]?.string { rows = [reason] }
    if let status = line["status"] { self.status = HomeStatus(json: status) }
  }

  mutating func pressed(_ key: UInt8) -> WatchPress { .nothing }

  mutating func end() { hasEnded = true }

  mutating func drawn(columns: Int, rows height: Int) -> String {
    let room = max(1, height - 2)
    var lines = Array(rows.prefix(room))
    if rows.count > room {
      lines = Array(rows.prefix(max(0, room - 1))) + ["… and \(rows.count - room + 1) more"]
    }
    var foot =
      status.map {
        $0.isInSync ? "in sync" : $0.line(now: SystemClock.moment().wall)
      } ?? ""
    if !hasEnded { foot += foot.isEmpty ? "q quit" : " · q quit" }
    lines.append(foot)
    lines = lines.map { RowText.cut($0, to: columns - 1) }
    if takesColours, let last = lines.popLast() { lines.append("\u{1B}[2m\(last)\u{1B}[0m") }
    return area.drawn(lines)
  }
}
