import Glibc
import LockstepCommandLine
import LockstepEventLoop
import LockstepLanguage
import LockstepModel
import LockstepRuntime

/// Another program that runs beside this one, in a process group of its own. Whoever starts it ends
/// it by `stop`.
struct ChildProcess {
  /// Input of a program.
  enum Input {
    case nothing
    /// Bytes that are held in memory, so that a program that does not read delays nobody.
    case bytes([UInt8])
  }

  private let id: pid_t
  /// Descriptor of its standard output and error; nil if they are thrown away.
  let output: Int32?

  /// Starts a program that is looked for in PATH. `words`: its name and arguments.
  init(_ words: [String], input: Input = .nothing, readsOutput: Bool) throws(CommandFailure) {
    var ends: [Int32] = [-1, -1]
    let source = try Self.descriptor(of: input)
    if readsOutput {
      guard pipe(&ends) == 0 else { throw Self.failure(words, errno) }
      for end in ends { Self.closeInPrograms(end) }
    }
    defer {
      close(ends[1])
      if source >= 0 { close(source) }
    }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if source >= 0 {
      posix_spawn_file_actions_adddup2(&actions, source, STDIN_FILENO)
    } else {
      posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    }
    for descriptor in [STDOUT_FILENO, STDERR_FILENO] {
      if readsOutput {
        posix_spawn_file_actions_adddup2(&actions, ends[1], descriptor)
      } else {
        posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0)
      }
    }
    let (process, code) = Self.spawn(words, &actions)
    guard code == 0 else {
      close(ends[0])
      throw Self.failure(words, code)
    }
    id = process
    output = readsOutput ? ends[0] : nil
  }

  /// This process blocks signals and ignores SIGPIPE; the program must not.
  private static func spawn(
    _ words: [String], _ actions: inout posix_spawn_file_actions_t
  ) -> (pid_t, Int32) {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigaddset(&signals, SIGPIPE)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(
      &attributes,
      Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
    var pointers = words.map { strdup($0) } + [nil]
    defer { for pointer in pointers { free(pointer) } }
    var process: pid_t = 0
    let code = posix_spawnp(&process, words[0], &actions, &attributes, &pointers, environ)
    return (process, code)
  }

  /// Returns a descriptor from which the input is read; -1 if there is none.
  private static func descriptor(of input: Input) throws(CommandFailure) -> Int32 {
    guard case .bytes(let bytes) = input else { return -1 }
    // A file in memory that has no name once it is open.
    var template = Array("/dev/shm/lockstep-XXXXXX".utf8CString)
    let descriptor = mkstemp(&template)
    guard descriptor >= 0 else {
      throw CommandFailure(
        localized(
          "no file can be made in /dev/shm: {error}",
          ["error": systemReason(String(cString: strerror(errno)))]))
    }
    unlink(template)
    closeInPrograms(descriptor)
    var written = 0
    while written < bytes.count {
      let count = bytes[written...].withUnsafeBytes {
        write(descriptor, $0.baseAddress, $0.count)
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      written += count
    }
    lseek(descriptor, 0, SEEK_SET)
    return descriptor
  }

  /// Other programs that this process starts do not get the descriptor.
  private static func closeInPrograms(_ descriptor: Int32) {
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
  }

  private static func failure(_ words: [String], _ code: Int32) -> CommandFailure {
    CommandFailure(
      localized(
        "{program} cannot be run: {error}",
        ["program": words[0], "error": systemReason(String(cString: strerror(code)))]))
  }

  /// Returns the next bytes of its output, at most `count`; an empty list at its end. Blocks until
  /// there are some.
  func read(atMost count: Int) -> [UInt8] {
    guard let output else { return [] }
    var buffer = [UInt8](repeating: 0, count: count)
    while true {
      let count = buffer.withUnsafeMutableBytes { Glibc.read(output, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      return Array(buffer.prefix(max(0, count)))
    }
  }

  /// Returns its exit code, 128 and the signal's number if a signal ended it; nil while it runs.
  func exitCode() -> Int32? {
    var status: Int32 = 0
    let ended = waitpid(id, &status, WNOHANG)
    guard ended != 0 else { return nil }
    // Somebody else has waited for it.
    guard ended == id else { return 1 }
    return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
  }

  /// Closes its output, without waiting for it. For a process whose exit code is known.
  func release() {
    if let output { close(output) }
  }

  /// Ends it, with all that it has started, and waits for its end.
  func stop() {
    defer { release() }
    kill(-id, SIGTERM)
    guard awaitExitCode() == nil else { return }
    kill(-id, SIGKILL)
    var status: Int32 = 0
    while waitpid(id, &status, 0) < 0, errno == EINTR {}
  }

  /// Returns its exit code once it has closed its output and is about to end; nil if it does not
  /// end.
  func awaitExitCode() -> Int32? {
    for _ in 0..<Self.stopAttempts {
      if let code = exitCode() { return code }
      usleep(Self.stopMicroseconds)
    }
    return nil
  }

  /// Time for a program to end by itself: half a second in all.
  private static let stopAttempts = 50
  private static let stopMicroseconds: UInt32 = 10_000
}

/// Result of a program that ran to its end.
struct ProgramOutput {
  /// Nil if it was stopped: it had more output than is read, or did not end in time.
  var exitCode: Int32?
  var bytes: [UInt8]
  var isTooLarge = false

  /// Runs a program and returns its output.
  ///
  /// - Parameters:
  ///   - bytesMax: Bytes of output beyond which it is stopped.
  ///   - stopsAt: A descriptor; if it becomes readable, the program is stopped.
  static func of(
    _ words: [String], atMost bytesMax: Int, stopsAt: Int32
  ) throws(CommandFailure) -> ProgramOutput {
    let process = try ChildProcess(words, readsOutput: true)
    var result = ProgramOutput(exitCode: nil, bytes: [])
    let end = SystemClock.instant().advanced(milliseconds: patienceMilliseconds)
    while true {
      let left = end.milliseconds(since: SystemClock.instant())
      guard left > 0, let output = process.output else { break }
      var polled = [stopsAt, output].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      let count = poll(&polled, nfds_t(polled.count), Int32(clamping: left))
      if count < 0, errno == EINTR { continue }
      guard count > 0, polled[0].revents == 0 else { break }
      let bytes = process.read(atMost: 64 << 10)
      if bytes.isEmpty {
        result.exitCode = process.awaitExitCode()
        break
      }
      result.bytes += bytes
      result.isTooLarge = result.bytes.count > bytesMax
      if result.isTooLarge { break }
    }
    if result.exitCode == nil { process.stop() } else { process.release() }
    return result
  }

  /// Time for one program, in milliseconds. A copy may be offered by a program that hangs.
  private static let patienceMilliseconds: Int64 = 5_000
}
