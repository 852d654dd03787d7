import Glibc
import Simulator

/// A process of this same program that plays a slice, and its output.
final class SliceProcess {
  let slice: Slice
  /// Read end of the pipe from the process's standard output.
  let descriptor: Int32
  /// Seed that the process is playing.
  private(set) var seed: UInt64?
  private let process: pid_t
  private var rest: [UInt8] = []

  init(_ slice: Slice, _ options: Options) throws(ProcessFault) {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else {
      throw ProcessFault(description: "no pipe can be made: \(String(cString: strerror(errno)))")
    }
    // Processes of other slices must not keep the pipe open.
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
    var words = (["simulate"] + slice.arguments(options)).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var process: pid_t = 0
    let code = posix_spawn(&process, "/proc/self/exe", &actions, nil, &words, environ)
    close(ends[1])
    guard code == 0 else {
      close(ends[0])
      throw ProcessFault(
        description: "no process can be started: \(String(cString: strerror(code)))")
    }
    self.slice = slice
    self.process = process
    descriptor = ends[0]
  }

  /// Returns the seeds that were played since the last call; nil at the end of the output.
  func read() -> [PlayedSeed]? {
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    let count = Glibc.read(descriptor, &buffer, buffer.count)
    if count < 0 && errno == EINTR { return [] }
    guard count > 0 else { return nil }
    rest += buffer[..<count]
    var played: [PlayedSeed] = []
    while let end = rest.firstIndex(of: 10) {
      let line = String(decoding: rest[..<end], as: UTF8.self)
      rest.removeSubrange(...end)
      if let begun = PlayedSeed.begun(line) {
        seed = begun
      } else if let one = PlayedSeed(line: line) {
        seed = nil
        played.append(one)
      }
    }
    return played
  }

  /// Waits for the process to end. Returns nil if it succeeded, or else how it ended.
  func end() -> String? {
    close(descriptor)
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 && errno == EINTR {}
    let signal = status & 0x7F
    if signal != 0 { return "the process was ended by signal \(signal)" }
    let code = status >> 8 & 0xFF
    return code == 0 ? nil : "the process ended with \(code)"
  }

  /// Kills the process, which is not needed any more.
  func stop() {
    kill(process, SIGKILL)
    _ = end()
  }
}

/// The system cannot create a process or a pipe.
struct ProcessFault: Error, CustomStringConvertible {
  var description: String
}
