import LockstepApps
import LockstepEventLoop
import LockstepModel

/// An app's rows as far as the terminal has room for them, then the sync status, and the key to
/// quit.
struct ListView: WatchView {
  private var lines = ["…"]
  private var status: HomeStatus?
  private var hasNewConnection = true

  mutating func take(_ line: JSONValue, at wall: Int64) {
    if line["view"] != nil { lines = HomeView(line).lines }
    if let reason = line["error"]?.string { lines = [RowText.line(reason)] }
    guard let status = line["status"].map(HomeStatus.init(json:)) else { return }
    if status.transport != nil, self.status?.transport == nil { hasNewConnection = true }
    self.status = status
  }

  /// Requests the devices after each new connection, because rows contain their names.
  mutating func takeWishForDevices(at wall: Int64) -> Bool {
    defer { hasNewConnection = false }
    return hasNewConnection
  }

  func rows(columns: Int, height: Int, at wall: Int64) -> [ScreenRow] {
    let room = max(1, height - 2)
    var shown = lines.prefix(room).map { ScreenRow($0) }
    if lines.count > room {
      shown =
        lines.prefix(room - 1).map { ScreenRow($0) }
        + [ScreenRow("… and \(lines.count - room + 1) more", .faint)]
    }
    let sync = status.map { $0.isInSync ? "in sync" : $0.line(wall: wall) } ?? ""
    let foot = ScreenRow((sync.isEmpty ? "" : sync + " · ") + "q quit", .faint)
    return height < 3
      ? Array((shown + [foot]).prefix(height))
      : shown + [ScreenRow](repeating: ScreenRow(), count: height - 1 - shown.count) + [foot]
  }
}
