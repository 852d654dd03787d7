import Glibc
import LockstepCommandLine
import LockstepRuntime

/// The relay's service in systemd, if this machine has both.
struct SetupService {
  static let unit = "lockstep-relay.service"
  private static let folder = "/etc/systemd/system/lockstep-relay.service.d"
  /// Ports below this one need a privilege.
  private static let firstOpenPort = 1_024

  /// Returns nil if systemd does not run here, does not have the unit, or this is not root.
  init?() {
    guard geteuid() == 0, access("/run/systemd/system", F_OK) == 0,
      Program.run("systemctl", ["cat", Self.unit], isSilent: true) == 0
    else { return nil }
  }

  /// Starts the service with its new settings, now and whenever the machine starts. Throws if it
  /// does not start.
  func start() throws(CommandFailure) {
    _ = Program.run("systemctl", ["--quiet", "enable", Self.unit])
    guard Program.run("systemctl", ["restart", Self.unit]) != 0 else { return }
    TerminalOutput.writeToStandardError("\nIts log:\n")
    _ = Program.run(
      "journalctl",
      ["--unit", Self.unit, "--lines", "8", "--no-pager", "--output", "cat", "--quiet"])
    throw CommandFailure(
      "the relay does not start; see its log above, or all of it: journalctl --unit "
        + "\(Self.unit); then give this command again")
  }

  /// Allows the service to listen on the port, if that needs a privilege.
  func allowPort(of address: PeerAddress) throws(CommandFailure) {
    if case .host(_, let port) = address, port < Self.firstOpenPort { try allowLowPorts() }
  }

  private func allowLowPorts() throws(CommandFailure) {
    let text = """
      # Written by lockstep setup: a port below 1024 needs this privilege.
      [Service]
      AmbientCapabilities=CAP_NET_BIND_SERVICE
      CapabilityBoundingSet=CAP_NET_BIND_SERVICE
      PrivateUsers=no

      """
    guard mkdir(Self.folder, 0o755) == 0 || errno == EEXIST else {
      throw CommandFailure("\(Self.folder) cannot be made: \(String(cString: strerror(errno)))")
    }
    let path = Self.folder + "/ports.conf"
    try SettingsOnDisk.write(text, replacing: try SettingsOnDisk.read(path), at: path)
    _ = Program.run("systemctl", ["daemon-reload"])
  }
}

/// A program that runs with this process's output, and no input.
enum Program {
  /// Returns the program's exit code, or nil if it could not be started or a signal ended it.
  ///
  /// - Parameters:
  ///   - name: A name that is looked for in PATH, or a path.
  ///   - isSilent: Whether its output is thrown away.
  static func run(_ name: String, _ arguments: [String], isSilent: Bool = false) -> Int32? {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    if isSilent {
      for descriptor in [STDOUT_FILENO, STDERR_FILENO] {
        posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0)
      }
    }
    var pointers = ([name] + arguments).map { strdup($0) } + [nil]
    defer { for pointer in pointers { free(pointer) } }
    var process: pid_t = 0
    guard posix_spawnp(&process, name, &actions, nil, &pointers, environ) == 0 else { return nil }
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 {
      guard errno == EINTR else { return nil }
    }
    return status & 0x7F == 0 ? (status >> 8) & 0xFF : nil
  }
}
