import Glibc
import Lockstep
import LockstepCommandLine
import LockstepEventLoop
import LockstepTerminal

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Runs a library bench: the library for apps on homes of a temporary folder, without a relay, and
/// in the same rounds bare SQLite on tables beside them.
struct LibraryBench: Sendable {
  let plan: LibraryPlan
  /// An existing folder, removed by the caller.
  let folder: String
  let progress: Progress

  /// Processes of each kind whose memory is measured.
  private static let memoryProcessesMost = 3

  func run() async throws -> LibraryTable {
    var table = LibraryTable(plan: plan)
    for part in plan.parts {
      try Task.checkCancellation()
      progress.show("measuring: \(part.rawValue)")
      switch part {
      case .save: table.results[.save] = try await measureSaves()
      case .transaction: table.results[.transaction] = try await measureTransactions()
      case .live: (table.results[.liveTotal], table.results[.live]) = try await measureLive()
      case .open: (table.results[.open], table.results[.read]) = try await measureOpening()
      case .memory: table.memory = try measureMemory()
      }
    }
    return table
  }

  // MARK: saves

  /// Number of different records that are saved, so that the outbox has room for any plan.
  private static let savedRecords = 20_000

  private func measureSaves() async throws -> [LibraryRound] {
    try await measureCommits("save", operations: plan.operations, records: 1)
  }

  private func measureTransactions() async throws -> [LibraryRound] {
    try await measureCommits(
      "transaction", operations: max(1, plan.operations / 10),
      records: LibraryPlan.transactionRecords)
  }

  private func measureCommits(_ name: String, operations: Int, records: Int) async throws
    -> [LibraryRound]
  {
    let lockstep = try await open(home(name))
    let table = try plan.isAlone ? nil : BareTable(path: tablePath(name))
    var number = 0
    var rounds: [LibraryRound] = []
    // The first round warms up.
    for round in 0...plan.rounds {
      var library: [Int64] = []
      var bare: [Int64] = []
      for _ in 0..<operations {
        let todos = (number..<number + records).map {
          BenchTodo.numbered($0 % Self.savedRecords)
        }
        number += records
        let start = Self.now
        if records == 1 {
          try await lockstep.save(todos[0])
        } else {
          try await lockstep.transaction { edit in for todo in todos { edit.save(todo) } }
        }
        let saved = Self.now
        library.append(saved - start)
        guard let table else { continue }
        try table.save(todos[...])
        bare.append(Self.now - saved)
      }
      if round > 0 { rounds.append(Self.round(library, bare)) }
    }
    await lockstep.close()
    table?.close()
    return rounds
  }

  // MARK: live queries

  /// Returns the rounds from the begin of a save until the query gives the change, and those from
  /// the end of the save.
  private func measureLive() async throws -> ([LibraryRound], [LibraryRound]) {
    let count = plan.liveRecords
    try BenchHome.fill(home("live"), count: count)
    let lockstep = try await open(home("live"))
    let table = try plan.isAlone ? nil : filledTable("live", count: count)
    let query = lockstep.live(BenchTodo.self, sortedBy: { $0.place < $1.place })
    var lists = query.makeAsyncIterator()
    // Held like the list on a screen, so that the next one is a copy.
    var list = await lists.next() ?? []
    var shown = try table?.todos() ?? []
    var totals: [LibraryRound] = []
    var rounds: [LibraryRound] = []
    for round in 0...plan.rounds {
      var library: (whole: [Int64], after: [Int64]) = ([], [])
      var bare: (whole: [Int64], after: [Int64]) = ([], [])
      for operation in 0..<plan.operations {
        let index = operation * 7_919 % count
        var todo = BenchTodo.numbered(index)
        todo.title = "changed \(round).\(operation)"
        let start = Self.now
        try await lockstep.save(todo)
        let saved = Self.now
        repeat {
          guard let next = await lists.next(), next.count == count else { throw Self.lost }
          list = next
        } while list[index] != todo
        library.whole.append(Self.now - start)
        library.after.append(Self.now - saved)
        guard let table else { continue }
        let begun = Self.now
        try table.save([todo][...])
        let committed = Self.now
        shown = try table.todos()
        guard shown.count == count, shown[index] == todo else { throw Self.lost }
        bare.whole.append(Self.now - begun)
        bare.after.append(Self.now - committed)
      }
      if round == 0 { continue }
      totals.append(Self.round(library.whole, bare.whole))
      rounds.append(Self.round(library.after, bare.after))
    }
    await lockstep.close()
    table?.close()
    return (totals, rounds)
  }

  // MARK: opening

  /// Returns the rounds of opening, and those of reading all records for the first time.
  private func measureOpening() async throws -> ([LibraryRound], [LibraryRound]) {
    try fillLarge()
    var opening: [LibraryRound] = []
    var reading: [LibraryRound] = []
    for round in 0...plan.rounds {
      let start = Self.now
      let lockstep = try await open(largeHome)
      let opened = Self.now
      guard try await lockstep.records(BenchTodo.self).count == plan.records else {
        throw Self.lost
      }
      let read = Self.now
      await lockstep.close()
      var bare: (opening: Int64, reading: Int64)?
      if !plan.isAlone {
        let start = Self.now
        let table = try BareTable(path: largeTable)
        let opened = Self.now
        guard try table.todos().count == plan.records else { throw Self.lost }
        bare = (opened - start, Self.now - opened)
        table.close()
      }
      if round == 0 { continue }
      opening.append(LibraryRound(library: opened - start, bare: bare?.opening))
      reading.append(LibraryRound(library: read - opened, bare: bare?.reading))
    }
    return (opening, reading)
  }

  private var largeHome: String { home("large") }
  private var largeTable: String { tablePath("large") }

  private func fillLarge() throws(CommandFailure) {
    guard access(largeTable, F_OK) != 0 else { return }
    progress.show("writing \(plan.records) records")
    try BenchHome.fill(largeHome, count: plan.records)
    try BenchHome.fillTable(largeTable, count: plan.records)
  }

  // MARK: memory

  /// Measures processes of this program, which hold the records.
  private func measureMemory() throws(CommandFailure) -> [LibraryMemory.Holder: [LibraryMemory]] {
    try fillLarge()
    var found: [LibraryMemory.Holder: [LibraryMemory]] = [:]
    for _ in 0..<min(plan.rounds, Self.memoryProcessesMost) {
      for holder in LibraryMemory.Holder.allCases where holder != .bare || !plan.isAlone {
        let path = holder == .bare ? largeTable : largeHome
        let child = try ChildProcess(
          ["bench", "library", "--memory-of", holder.rawValue, "--folder", path],
          capturing: STDOUT_FILENO)
        let text = child.readOutput(until: "}")
        child.stop()
        guard let memory = LibraryMemory(text: text) else {
          throw CommandFailure(
            "a process that holds the records did not report its memory: \(text)")
        }
        found[holder, default: []].append(memory)
      }
    }
    return found
  }

  /// Returns the memory of this process before and after it holds the records in `path`.
  static func memory(of holder: LibraryMemory.Holder, in path: String) async throws
    -> LibraryMemory
  {
    let start = try resident()
    var opened = start
    var holding = start
    switch holder {
    case .bare:
      let table = try BareTable(path: path)
      opened = try resident()
      let todos = try table.todos()
      holding = try withExtendedLifetime(todos) { try resident() }
      table.close()
    case .records:
      let lockstep = try await open(path)
      opened = try resident()
      let todos = try await lockstep.records(BenchTodo.self)
      holding = try withExtendedLifetime(todos) { try resident() }
      await lockstep.close()
    case .live:
      let lockstep = try await open(path)
      opened = try resident()
      var lists = lockstep.live(BenchTodo.self, sortedBy: { $0.place < $1.place })
        .makeAsyncIterator()
      let todos = await lists.next()
      holding = try withExtendedLifetime(todos) { try resident() }
      await lockstep.close()
    }
    return LibraryMemory(atStart: start, opened: opened, holding: holding)
  }

  private static func resident() throws(CommandFailure) -> Int64 {
    guard let bytes = ProcessMemory.resident(getpid()) else {
      throw CommandFailure("this system does not report a process's memory")
    }
    return bytes
  }

  // MARK: parts of all

  private static var now: Int64 { SystemClock.instant().nanoseconds }

  private static let lost = CommandFailure(
    "a record is missing or the bench's Lockstep was closed; run the bench again")

  private static func round(_ library: [Int64], _ bare: [Int64]) -> LibraryRound {
    LibraryRound(library: Figure.median(library) ?? 0, bare: Figure.median(bare))
  }

  private func home(_ name: String) -> String { "\(folder)/\(name)" }
  private func tablePath(_ name: String) -> String { "\(folder)/\(name).sqlite" }

  private func filledTable(_ name: String, count: Int) throws(CommandFailure) -> BareTable {
    try BenchHome.fillTable(tablePath(name), count: count)
    return try BareTable(path: tablePath(name))
  }

  private func open(_ home: String) async throws -> Lockstep { try await Self.open(home) }

  /// Opens a home that has joined no account: nothing is sent.
  private static func open(_ home: String) async throws -> Lockstep {
    guard let relay = URL(string: "http://127.0.0.1:5625") else {
      throw CommandFailure("the address of the bench is no URL")
    }
    return try await Lockstep.open(
      at: URL(filePath: home), relay: relay, records: [BenchTodo.self])
  }
}
