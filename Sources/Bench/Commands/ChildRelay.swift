import Glibc
import LockstepClient
import LockstepCommandLine
import LockstepModel

/// A relay in a child process, on a temporary store. Benches measure it if they are given no other.
final class ChildRelay {
  let address: RelayAddress
  let store: String
  var process: Int32 { child.process }
  private let child: ChildProcess
  private let folder: ScratchFolder

  /// Starts this program as a relay and waits until it listens. `options`: additional ones.
  /// `environment`: additional variables. `prepare`: called before, with the folder of the store,
  /// which does not exist yet.
  init(
    _ options: [String] = [], environment: [(name: String, value: String)] = [],
    prepare: (_ store: String) throws(CommandFailure) -> Void = { _ in }
  ) throws(CommandFailure) {
    folder = try ScratchFolder()
    store = folder.path
    do {
      try prepare(store + "/relay")
    } catch {
      folder.remove()
      throw error
    }
    child = try ChildProcess(
      [
        "relay", "--open", "--listen", "127.0.0.1:0", "--store", store + "/relay",
        // Its log is not read after the start.
        "--log-level", "error",
      ] + options, environment: environment)
    let output = child.readOutput(until: "listening on http://")
    guard let found = output.firstRange(of: "listening on "),
      let url = output[found.upperBound...].split(whereSeparator: \.isWhitespace).first,
      let address = RelayAddress(url: String(url))
    else {
      child.stop(by: SIGKILL)
      folder.remove()
      throw CommandFailure("the relay did not start: \(output)")
    }
    self.address = address
  }

  /// Stops the relay in order, and removes its store.
  func stop() {
    child.stop()
    folder.remove()
  }
}

/// This program, started again as a child process, so that a bench can measure the costs of each
/// side.
final class ChildProcess {
  let process: Int32
  /// Read end of the child's output. Stays open, so that later writes of the child succeed.
  private let output: Int32

  /// `arguments`: words after the program's name. `environment`: additional variables.
  /// `descriptor`: the output that is read; standard error if not given.
  init(
    _ arguments: [String], environment: [(name: String, value: String)] = [],
    capturing descriptor: Int32 = STDERR_FILENO
  ) throws(CommandFailure) {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else {
      throw CommandFailure("pipe: \(String(cString: strerror(errno)))")
    }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, ends[1], descriptor)
    posix_spawn_file_actions_addclose(&actions, ends[0])
    posix_spawn_file_actions_addclose(&actions, ends[1])
    var pointers = (["lockstep"] + arguments).map { strdup($0) } + [nil]
    defer { for pointer in pointers { free(pointer) } }
    // Before any other thread starts. The child inherits them.
    for (name, value) in environment { setenv(name, value, 1) }
    var process: pid_t = 0
    let code = posix_spawn(&process, "/proc/self/exe", &actions, nil, &pointers, environ)
    for (name, _) in environment { unsetenv(name) }
    close(ends[1])
    guard code == 0 else {
      close(ends[0])
      throw CommandFailure("cannot start \(arguments[0]): \(String(cString: strerror(code)))")
    }
    self.process = process
    output = ends[0]
  }

  /// Returns the child's output up to the line that contains `mark`, or up to its end.
  func readOutput(until mark: String) -> String {
    var text = ""
    var buffer = [UInt8](repeating: 0, count: 4 << 10)
    while !(text.contains(mark) && text.hasSuffix("\n")) {
      let count = read(output, &buffer, buffer.count)
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { break }
      text += String(decoding: buffer.prefix(count), as: UTF8.self)
    }
    return text
  }

  /// Sends the signal, and waits until the process has ended. Must be called once.
  func stop(by signal: Int32 = SIGTERM) {
    kill(process, signal)
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 && errno == EINTR {}
    close(output)
  }
}

/// A temporary folder of a bench.
struct ScratchFolder {
  let path: String

  init() throws(CommandFailure) {
    let root = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array((root + "/lockstep-bench.XXXXXX").utf8CString)
    guard let made = mkdtemp(&template) else {
      throw CommandFailure(
        "cannot make a folder in \(root): \(String(cString: strerror(errno))); "
          + "set TMPDIR to another")
    }
    path = String(cString: made)
  }

  func remove() { Self.remove(path) }

  /// Removes the folder depth first; files that cannot be removed stay.
  static func remove(_ path: String) {
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
