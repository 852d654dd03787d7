import Glibc

/// Notifications on the desktop by `notify-send`, if both exist. Does not wait for its processes,
/// and reaps those that have ended.
struct DesktopNotice {
  private var running: [pid_t] = []

  /// Maximum number of running processes, in case the desktop does not respond.
  private static let runningMax = 4

  private static var hasDesktop: Bool {
    let variables = ["WAYLAND_DISPLAY", "DISPLAY", "DBUS_SESSION_BUS_ADDRESS"] as [String]
    return variables.contains { name in
      getenv(name).map { $0.pointee != 0 } ?? false
    }
  }

  /// Shows a notification. Does nothing if that is not possible.
  mutating func tell(_ title: String, _ text: String) {
    clear()
    guard Self.hasDesktop, running.count < Self.runningMax else { return }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] {
      posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
    }
    // This process blocks signals; the child must receive them.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    let command = ["notify-send", "--app-name=Lockstep", title, text] as [String]
    var words = command.map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var process = pid_t()
    guard posix_spawnp(&process, "notify-send", &actions, &attributes, &words, environ) == 0
    else { return }
    running.append(process)
  }

  /// Reaps the processes that have ended.
  mutating func clear() {
    running.removeAll { process in
      var status: Int32 = 0
      return waitpid(process, &status, WNOHANG) != 0
    }
  }
}
