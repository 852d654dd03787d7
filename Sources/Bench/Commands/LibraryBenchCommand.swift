import Glibc
import LockstepCommandLine
import LockstepEventLoop
import LockstepJSON
import Synchronization

/// `lockstep bench library`: measures the library for apps beside bare SQLite.
enum LibraryBenchCommand {
  static let only = CommandOption<[LibraryPlan.Part]>.repeatable(
    "only", .choice, "Measure only this part; may be repeated.")
  static let rounds = CommandOption.defaulted(
    "rounds", .integer(1...50), default: "\(LibraryPlan().rounds)", "Number of rounds of each part."
  )
  static let operations = CommandOption.defaulted(
    "operations", .integer(1...1_000), default: "\(LibraryPlan().operations)",
    "Saves of each kind in a round.")
  static let records = CommandOption.defaulted(
    "records", .integer(10...1_000_000), default: "\(LibraryPlan().records)",
    "Records of the home that is opened; the live query has a tenth of them.")
  static let isAlone = CommandOption.flag(
    "alone", "Leave bare SQLite out, so that a profiler counts the library alone.")
  static let memoryOf = CommandOption.optional(
    "memory-of", ValueKind<LibraryMemory.Holder>.choice,
    "Only print the memory of this process with the records of --folder. The bench starts such "
      + "processes itself.")
  static let folder = CommandOption.optional(
    "folder", ValueKind.folder, "Home, or file of the bare table, for --memory-of.")
  static let json = CommandOption.flag("json", "Print one JSON object.")

  /// Maximum length of a bench; the largest plan takes a quarter of it.
  private static let secondsMost: Int64 = 3_600

  static let command = Command(
    name: "library",
    summary: "Measures the library for apps beside bare SQLite.",
    discussion: """
      Saves, reads and observes records with the library, on homes of a temporary folder and \
      without a relay, and does the same with SQLite alone: the same SQLite library and file \
      system, prepared statements, a write-ahead log, and a full sync with every commit. The two \
      alternate, so that both meet the same machine. A ratio is the median of the rounds' ratios.

      TMPDIR names another file system to measure. The folder is removed at the end.
      """,
    options: [
      only.entry, rounds.entry, operations.entry, records.entry, isAlone.entry, memoryOf.entry,
      folder.entry, json.entry,
    ]
  ) { arguments throws(CommandFailure) in
    if let holder = arguments[memoryOf] {
      guard let path = arguments[folder] else {
        throw CommandFailure("--memory-of needs --folder; name a home", exitCode: .usage)
      }
      let memory = try run { try await LibraryBench.memory(of: holder, in: path) }
      return try TerminalOutput.printed(memory.json.text)
    }
    var plan = LibraryPlan()
    if !arguments[only].isEmpty {
      plan.parts = LibraryPlan.Part.allCases.filter { arguments[only].contains($0) }
    }
    plan.rounds = arguments[rounds]
    plan.operations = arguments[operations]
    plan.records = arguments[records]
    plan.isAlone = arguments[isAlone]
    let table = try measure(plan)
    return try TerminalOutput.printed(arguments[json] ? table.json.text : table.text)
  }

  private static func measure(_ plan: LibraryPlan) throws(CommandFailure) -> LibraryTable {
    let folder = try ScratchFolder()
    defer { folder.remove() }
    let progress = Progress()
    defer { progress.clear() }
    let bench = LibraryBench(plan: plan, folder: folder.path, progress: progress)
    return try run { try await bench.run() }
  }

  /// Runs asynchronous work and waits for it. A signal cancels it, and then its end is waited for,
  /// so that its files can be removed.
  private static func run<Value: Sendable>(
    _ work: @escaping @Sendable () async throws -> Value
  ) throws(CommandFailure) -> Value {
    let wait = try BenchWait(pauseMilliseconds: 50, timeoutSeconds: secondsMost)
    let outcome = Outcome<Value>()
    let task = Task.detached {
      do {
        let value = try await work()
        outcome.set(.success(value))
      } catch {
        outcome.set(.failure(error))
      }
    }
    do throws(CommandFailure) {
      return try wait.wait(for: "the bench") { () throws(CommandFailure) -> Value? in
        try outcome.value()
      }
    } catch {
      task.cancel()
      outcome.waitForEnd()
      throw error
    }
  }

  /// Result of the asynchronous work, once there is one.
  private final class Outcome<Value: Sendable>: Sendable {
    private let result = Mutex<Result<Value, any Error>?>(nil)

    /// Pauses of `waitForEnd`, and their number: ten seconds.
    private static var pauseMicroseconds: UInt32 { 10_000 }
    private static var pausesMost: Int { 1_000 }

    func set(_ new: Result<Value, any Error>) { result.withLock { $0 = new } }

    /// Returns nil if the work has not ended. Throws its error.
    func value() throws(CommandFailure) -> Value? {
      switch result.withLock({ $0 }) {
      case nil: return nil
      case .success(let value): return value
      case .failure(let error as CommandFailure): throw error
      case .failure(let error): throw CommandFailure("\(error)")
      }
    }

    func waitForEnd() {
      for _ in 0..<Self.pausesMost where result.withLock({ $0 == nil }) {
        usleep(Self.pauseMicroseconds)
      }
    }
  }
}
