import Changes
import Devices
import Glibc

/// A relay in a process of its own, on a temporary store: what a bench measures when it is not told
/// of another.
final class ChildRelay {
  let address: RelayAddress
  let process: Int32
  let store: String

  /// Starts this very program again, and waits until it listens.
  init() throws(CommandFailure) {
    store = try Self.temporaryFolder()
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw CommandFailure("pipe: \(Self.reason)") }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, ends[1], 2)
    posix_spawn_file_actions_addclose(&actions, ends[0])
    posix_spawn_file_actions_addclose(&actions, ends[1])
    let arguments = [
      "lockstep", "relay", "--open", "--listen", "127.0.0.1:0", "--store", store + "/relay",
      // Nobody reads what it says later.
      "--log-level", "error",
    ]
    var pointers = arguments.map { strdup($0) } + [nil]
    defer { for pointer in pointers { free(pointer) } }
    var process: pid_t = 0
    let code = posix_spawn(&process, "/proc/self/exe", &actions, nil, &pointers, environ)
    close(ends[1])
    guard code == 0 else {
      close(ends[0])
      throw CommandFailure("cannot start a relay: \(String(cString: strerror(code)))")
    }
    self.process = process
    let said = Self.read(ends[0], until: "listening on http://")
    guard let found = said.firstRange(of: "listening on "),
      let url = said[found.upperBound...].split(whereSeparator: \.isWhitespace).first,
      let address = RelayAddress(url: String(url))
    else {
      kill(process, SIGKILL)
      close(ends[0])
      throw CommandFailure("the relay did not start: \(said)")
    }
    self.address = address
    errors = ends[0]
  }

  /// Stays open, so that what the relay says later finds a reader's end.
  private let errors: Int32

  /// Ends it in order, and removes its store.
  func stop() {
    kill(process, SIGTERM)
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 && errno == EINTR {}
    close(errors)
    Self.remove(store)
  }

  private static var reason: String { String(cString: strerror(errno)) }

  private static func temporaryFolder() throws(CommandFailure) -> String {
    let root = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array((root + "/lockstep-bench.XXXXXX").utf8CString)
    guard let made = mkdtemp(&template) else {
      throw CommandFailure("cannot make a folder in \(root): \(reason); set TMPDIR to another")
    }
    return String(cString: made)
  }

  private static func read(_ descriptor: Int32, until mark: String) -> String {
    var text = ""
    var buffer = [UInt8](repeating: 0, count: 4 << 10)
    while !(text.contains(mark) && text.hasSuffix("\n")) {
      let count = Glibc.read(descriptor, &buffer, buffer.count)
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { break }
      text += String(decoding: buffer.prefix(count), as: UTF8.self)
    }
    return text
  }

  /// Depth first; what cannot be removed stays in the temporary folder.
  private static func remove(_ path: String) {
    if let folder = opendir(path) {
      defer { closedir(folder) }
      while let entry = readdir(folder) {
        let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
          String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        if name != "." && name != ".." { remove(path + "/" + name) }
      }
    }
    _ = Glibc.remove(path)
  }
}
