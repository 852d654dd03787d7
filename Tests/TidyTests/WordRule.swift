/// Forbids certain words in certain folders.
enum WordRule {
  struct Ban {
    var words: [String]
    var reason: String
    /// Folders in which the words are allowed.
    var allowed: [String] = []
    /// True if only calls are forbidden: the word followed by a parenthesis.
    var callOnly = false
  }

  /// Modules that touch the system: the event loop, and those that run as part of a process. Of the
  /// instruments only the commands do.
  static let outer = [
    "EventLoop", "CommandLine", "Home", "RelayService", "Bench/Commands", "Doctor/Commands",
    "Dashboard/Commands", "Command", "Lockstep", "DispatchDriver",
  ]

  /// Readers on other threads have the saves of the commit log written to the database.
  static let commitLog = "StorageSQLite/CommitLog/CommitLog.swift"

  static let bans: [Ban] = [
    Ban(
      words: ["async", "await", "Task", "TaskGroup", "actor", "MainActor", "AsyncStream"],
      reason: "a node is a plain value that a simulator drives; nothing in it runs by itself",
      allowed: outer),
    Ban(
      words: [
        "Mutex", "Atomic", "NSLock", "Thread", "DispatchQueue", "OperationQueue",
        "pthread_create", "pthread_mutex_lock", "sem_wait",
      ],
      reason: "locks, atomics and threads live in EventLoop and the outer modules alone",
      allowed: outer + [commitLog]),
    Ban(
      words: ["Date", "time", "clock_gettime", "gettimeofday", "usleep", "nanosleep", "sleep"],
      reason: "time comes in as a Moment", allowed: outer + ["LockstepTesting"], callOnly: true),
    Ban(
      words: ["ContinuousClock", "SuspendingClock"],
      reason: "time comes in as a Moment", allowed: outer),
    Ban(
      words: [
        "fopen", "FileManager", "FileHandle", "URLSession", "ProcessInfo", "getenv", "readLine",
        "print", "debugPrint",
      ],
      reason: "files, sockets and terminals are reached through the outer modules alone",
      allowed: outer),
    Ban(
      words: ["SystemRandomNumberGenerator", "UUID", "arc4random", "hashValue"],
      reason: "randomness comes from SeededRandom or SecretSource, so that a seed is repeatable",
      allowed: outer),
    Ban(
      words: ["Foundation", "FoundationEssentials", "Dispatch"],
      reason: "the relay and the commands of a device run without Foundation",
      allowed: [
        "Lockstep", "LockstepTesting", "DispatchDriver", "Bench/Commands/LibraryBench.swift",
      ]),
    Ban(
      words: ["Synchronization"],
      reason: "locks and atomics live in EventLoop and the outer modules alone",
      allowed: outer + [commitLog]),
    Ban(
      words: ["Glibc", "Darwin"],
      reason: "I/O is done by EventLoop, the stores and the outer modules alone",
      allowed: outer + ["StorageSQLite", "StoragePostgres", "StorageFiles", "wire-echo"]),
    Ban(
      words: ["fatalError"],
      reason: "a bug is a precondition, and what comes from outside is handled by name"),
  ]

  /// Words of the product, which the event loop must not contain.
  static let productWords = [
    "zone", "zones", "record", "records", "session", "sessions", "account", "accounts", "replica",
    "outbox",
  ]

  static func faults(in file: SourceFile) -> [Fault] {
    banned(in: file) + unseededRandomness(in: file)
      + (file.path.hasPrefix("Sources/EventLoop/") ? productWords(in: file) : [])
  }

  private static func banned(in file: SourceFile) -> [Fault] {
    let text = file.text
    return bans.filter { !file.stands(in: $0.allowed) }.flatMap { ban in
      text.tokens.indices.compactMap { index -> Fault? in
        let token = text.tokens[index]
        guard token.kind == .word, ban.words.contains(token.text) else { return nil }
        let isMember = text.has(".", at: index - 1) && token.text != "hashValue"
        let isDeclared = ["case", "func", "var", "let"].contains { text.has($0, at: index - 1) }
        let isLabel = text.has(":", at: index + 1)
        if text.has("canImport", at: index - 2) { return nil }
        if isMember || isDeclared || isLabel { return nil }
        if ban.callOnly && !text.has("(", at: index + 1) { return nil }
        return Fault(
          path: file.path, line: token.line,
          reason: "`\(token.text)` does not belong in \(file.room): \(ban.reason)")
      }
    }
  }

  /// Finds `random(in:)`, `shuffled()`, `shuffle()` and `randomElement()` that name no generator.
  private static func unseededRandomness(in file: SourceFile) -> [Fault] {
    let text = file.text
    let calls = ["random", "shuffled", "shuffle", "randomElement"]
    return text.tokens.indices.compactMap { index in
      guard calls.contains(text.tokens[index].text), text.has(".", at: index - 1),
        text.has("(", at: index + 1)
      else { return nil }
      let arguments = (index + 1)...text.closing(index + 1)
      if arguments.contains(where: { text.has("using", at: $0) }) { return nil }
      return Fault(
        path: file.path, line: text.tokens[index].line,
        reason: "`\(text.tokens[index].text)` draws from the system; name a SeededRandom")
    }
  }

  private static func productWords(in file: SourceFile) -> [Fault] {
    file.text.tokens.compactMap { token in
      let words: [String] =
        switch token.kind {
        case .word: camelWords(token.text)
        case .string: token.text.split { !$0.isLetter }.map(String.init)
        case .number, .symbol: []
        }
      guard let word = words.first(where: { productWords.contains($0.lowercased()) }) else {
        return nil
      }
      return Fault(
        path: file.path, line: token.line,
        reason: "`\(word)` is a word of the product; the loop carries bytes and knows none")
    }
  }
}
