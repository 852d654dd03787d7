import LockstepCommandLine
import Testing

@testable import LockstepCommand

/// A person starts the sync of the clipboard on different desktops.
struct DesktopClipboardTests {
  private func find(_ variables: [String: String], _ programs: [String]) throws
    -> DesktopClipboard
  {
    try DesktopClipboard.find(environment: { variables[$0] }, hasProgram: programs.contains)
  }

  private func refusal(_ variables: [String: String], _ programs: [String]) -> String? {
    do throws(CommandFailure) {
      _ = try DesktopClipboard.find(environment: { variables[$0] }, hasProgram: programs.contains)
      return nil
    } catch {
      return error.exitCode == .failure ? error.message : nil
    }
  }

  private static let both = ["WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"]
  private static let all = ["wl-paste", "wl-copy", "xclip", "xsel", "clipnotify"]

  @Test func theProgramsOfTheSessionAreUsed() throws {
    #expect(
      try find(Self.both, Self.all) == DesktopClipboard(tool: .wlClipboard, isWatched: true))
    #expect(
      try find(["DISPLAY": ":0"], Self.all) == DesktopClipboard(tool: .xclip, isWatched: true))
    #expect(
      try find(["DISPLAY": ":0", "WAYLAND_DISPLAY": ""], ["xclip"])
        == DesktopClipboard(tool: .xclip, isWatched: false))
    #expect(
      try find(["DISPLAY": ":0"], ["xsel"]) == DesktopClipboard(tool: .xsel, isWatched: false))
    // A Wayland desktop with X11 for older programs, and half of wl-clipboard.
    #expect(
      try find(Self.both, ["wl-copy", "xclip"])
        == DesktopClipboard(tool: .xclip, isWatched: false))
  }

  @Test func whatIsMissingIsNamed() {
    #expect(refusal([:], Self.all)?.contains("neither WAYLAND_DISPLAY nor DISPLAY") == true)
    #expect(refusal(Self.both, ["wl-paste"])?.contains("package wl-clipboard") == true)
    #expect(refusal(["DISPLAY": ":0"], ["wl-paste"])?.contains("package xclip") == true)
  }
}
