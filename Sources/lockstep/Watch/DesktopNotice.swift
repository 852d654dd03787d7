import Glibc

/// Tells a person at a desktop by `notify-send`, where there is one and a desktop to show it.
/// Nobody waits for it, and what has ended is cleared away.
struct DesktopNotice {
  private var running: [pid_t] = []

  /// A desktop that answers none of them must not gather processes.
  private static let runningMax = 4

  private static var hasDesktop: Bool {
    let variables = ["WAYLAND_DISPLAY", "DISPLAY", "DBUS_SESSION_BUS_ADDRESS"] as [String]
    return variables.contains { name in
      getenv(name).map { $0.pointee != 0 } ?? false
    }
  }

  /// Does nothing where there is nothing to tell it by.
  mutating func tell(_ title: String, _ text: String) {
    clear()
    guard Self.hasDesktop, running.count < Self.runningMax else { return }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] {
      posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
    }
    // This process holds signals back; the other one must hear them.
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

  /// Takes note of those that have ended.
  mutating func clear() {
    running.removeAll { process in
      var status: Int32 = 0
      return waitpid(process, &status, WNOHANG) != 0
    }
  }
}
