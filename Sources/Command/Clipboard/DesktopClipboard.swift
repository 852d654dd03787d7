import Glibc
import LockstepApps
import LockstepCommandLine
import LockstepLanguage

/// The clipboard of the desktop's session, by programs that read and write it. The primary
/// selection (what is marked with the mouse) is left alone.
struct DesktopClipboard: Hashable {
  enum Tool: String, Hashable {
    /// `wl-copy` and `wl-paste`, under Wayland.
    case wlClipboard
    case xclip
    case xsel
  }

  let tool: Tool
  /// True if a program reports changes; otherwise the clipboard is read at intervals.
  var isWatched: Bool

  /// Finds the programs for the session in which this process runs. Throws, with the next step, if
  /// there is no session or no program.
  static func find(
    environment: (String) -> String?, hasProgram: (String) -> Bool
  ) throws(CommandFailure) -> DesktopClipboard {
    func isSet(_ name: String) -> Bool { environment(name).map { !$0.isEmpty } ?? false }
    let (isWayland, isX11) = (isSet("WAYLAND_DISPLAY"), isSet("DISPLAY"))
    if isWayland, hasProgram("wl-paste"), hasProgram("wl-copy") {
      return DesktopClipboard(tool: .wlClipboard, isWatched: true)
    }
    if isX11, let clipboard = ofX11(hasProgram) { return clipboard }
    if isWayland {
      throw CommandFailure(
        localized(
          "the clipboard of this Wayland desktop is read and written by wl-paste and wl-copy, "
            + "which are not installed; install the package wl-clipboard, then try again"))
    }
    if isX11 {
      throw CommandFailure(
        localized(
          "the clipboard of this X11 desktop is read and written by xclip or xsel, and neither is "
            + "installed; install the package xclip, then try again"))
    }
    throw CommandFailure(
      localized(
        "there is no desktop here, as neither WAYLAND_DISPLAY nor DISPLAY is set; run this "
          + "command in a terminal of the desktop, or as a service of its session"))
  }

  /// Returns nil if no program for X11 is installed.
  static func ofX11(_ hasProgram: (String) -> Bool) -> DesktopClipboard? {
    guard let tool = [Tool.xclip, .xsel].first(where: { hasProgram($0.rawValue) }) else {
      return nil
    }
    return DesktopClipboard(tool: tool, isWatched: hasProgram("clipnotify"))
  }

  /// True if PATH has a program of that name.
  static func isInstalled(_ name: String) -> Bool {
    let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
    return path.split(separator: ":").contains { access("\($0)/\(name)", X_OK) == 0 }
  }

  /// True if the program can tell what the clipboard has without reading it.
  var knowsPasswords: Bool { tool != .xsel }

  // MARK: Commands

  private var listTypes: [String]? {
    switch tool {
    case .wlClipboard: ["wl-paste", "--list-types"]
    case .xclip: ["xclip", "-selection", "clipboard", "-o", "-t", "TARGETS"]
    case .xsel: nil
    }
  }

  private func readText(_ type: String) -> [String] {
    switch tool {
    case .wlClipboard: ["wl-paste", "--no-newline", "--type", type]
    case .xclip: ["xclip", "-selection", "clipboard", "-o", "-t", type]
    case .xsel: ["xsel", "--clipboard", "--output"]
    }
  }

  /// Stays in the foreground: it holds the text until another program has something to copy.
  private var writeText: [String] {
    switch tool {
    case .wlClipboard: ["wl-copy", "--foreground", "--type", "text/plain;charset=utf-8"]
    case .xclip: ["xclip", "-selection", "clipboard", "-quiet", "-i"]
    case .xsel: ["xsel", "--clipboard", "--input", "--nodetach"]
    }
  }

  /// wl-paste runs the words after `--watch` at each change, and newer versions say there if it is
  /// marked as a password. clipnotify ends at a change.
  private var watch: [String] {
    tool == .wlClipboard
      ? ["wl-paste", "--watch", "sh", "-c", "echo \"changed $CLIPBOARD_STATE\""]
      : ["clipnotify", "-s", "clipboard"]
  }

  /// Types of text, the best one first. Under X11 these are atoms.
  private static let textTypes = [
    "text/plain;charset=utf-8", "UTF8_STRING", "text/plain", "STRING", "TEXT",
  ]
  /// Types by which password managers mark a copy (KDE's, which others use as well, and that of
  /// nspasteboard.org).
  private static let passwordTypes = [
    "x-kde-passwordManagerHint", "org.nspasteboard.ConcealedType",
  ]
  private static let typesBytesMax = 64 << 10

  // MARK: Reading and writing

  /// Result of a reading.
  enum Reading: Hashable {
    case contents(ClipboardMirror.Contents)
    /// The session does not answer. The program's words about it, on one line.
    case lost(String)
  }

  /// Reads the clipboard. `stopsAt`: see `ProgramOutput.of`.
  func read(stopsAt: Int32) throws(CommandFailure) -> Reading {
    var type = Self.textTypes[0]
    if let listTypes {
      let listed = try ProgramOutput.of(listTypes, atMost: Self.typesBytesMax, stopsAt: stopsAt)
      guard listed.exitCode == 0 else { return Self.reading(ofFailed: listed) }
      let types = Self.types(listed)
      if types.isEmpty { return .contents(.nothing) }
      if types.contains(where: Self.passwordTypes.contains) { return .contents(.secret) }
      guard let best = Self.textTypes.first(where: types.contains) else {
        return .contents(.notText)
      }
      type = best
    }
    let read = try ProgramOutput.of(
      readText(type), atMost: ClipboardMirror.textBytesMax, stopsAt: stopsAt)
    if read.isTooLarge { return .contents(.tooLarge) }
    guard read.exitCode == 0 else { return Self.reading(ofFailed: read) }
    if read.bytes.isEmpty { return .contents(.nothing) }
    guard let text = String(validating: read.bytes, as: UTF8.self) else {
      return .contents(.notText)
    }
    return .contents(.text(text))
  }

  /// True if what the clipboard has now is marked as a password: it may have changed between its
  /// types and its text.
  func isPassword(stopsAt: Int32) throws(CommandFailure) -> Bool {
    guard let listTypes else { return false }
    let listed = try ProgramOutput.of(listTypes, atMost: Self.typesBytesMax, stopsAt: stopsAt)
    return Self.types(listed).contains(where: Self.passwordTypes.contains)
  }

  private static func types(_ listed: ProgramOutput) -> [String] {
    String(decoding: listed.bytes, as: UTF8.self).split(separator: "\n").map {
      $0.split(separator: " ").joined(separator: " ")
    }
  }

  /// An empty clipboard is a failure for these programs, and so is a session that has ended: only
  /// their words differ.
  private static func reading(ofFailed output: ProgramOutput) -> Reading {
    let text = String(decoding: output.bytes.prefix(500), as: UTF8.self)
    let signs = ["display", "wayland server", "wayland display", "compositor"]
    let lowercased = text.lowercased()
    guard signs.contains(where: { lowercased.contains($0) }) else { return .contents(.nothing) }
    return .lost(
      Log.oneLine(text.split(separator: "\n").first.map(String.init) ?? localized("no answer")))
  }

  /// Starts a program that holds the text for others.
  func write(_ text: String) throws(CommandFailure) -> ChildProcess {
    try ChildProcess(writeText, input: .bytes(Array(text.utf8)), readsOutput: false)
  }

  /// Starts a program that reports changes in its output, or by its end.
  func startWatch() throws(CommandFailure) -> ChildProcess {
    try ChildProcess(watch, readsOutput: true)
  }
}
