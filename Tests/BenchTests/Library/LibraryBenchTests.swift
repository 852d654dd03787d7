import LockstepCommandLine
import LockstepEventLoop
import Testing

@testable import LockstepBench

struct LibraryBenchTests {
  private func inFolder<Value>(_ body: (String) async throws -> Value) async throws -> Value {
    let folder = try ScratchFolder()
    defer { folder.remove() }
    return try await body(folder.path)
  }

  private func bench(_ plan: LibraryPlan, in folder: String) -> LibraryBench {
    LibraryBench(plan: plan, folder: folder, progress: Progress(isShown: false) { _ in })
  }

  private var smallPlan: LibraryPlan {
    var plan = LibraryPlan()
    plan.parts = plan.parts.filter { $0 != .memory }
    plan.rounds = 2
    plan.operations = 3
    plan.records = 40
    return plan
  }

  @Test func everyPartIsMeasuredWithoutARelay() async throws {
    let table = try await inFolder { try await bench(smallPlan, in: $0).run() }
    for measure in LibraryTable.Measure.allCases {
      #expect(table.results[measure]?.count == 2, "\(measure)")
      #expect(table.results[measure]?.allSatisfy { $0.library > 0 } == true, "\(measure)")
      #expect(table.results[measure]?.allSatisfy { $0.bare ?? 0 > 0 } == true, "\(measure)")
    }
  }

  @Test func sqliteIsLeftOutWhereTheLibraryIsAlone() async throws {
    var plan = smallPlan
    plan.parts = [.save]
    plan.isAlone = true
    let table = try await inFolder { try await bench(plan, in: $0).run() }
    #expect(table.results.count == 1)
    #expect(table.results[.save]?.allSatisfy { $0.bare == nil } == true)
  }

  @Test func aProcessReportsTheMemoryOfTheRecordsThatItHolds() async throws {
    try await inFolder { folder in
      try BenchHome.fill(folder + "/home", count: 20)
      try BenchHome.fillTable(folder + "/table.sqlite", count: 20)
      for holder in LibraryMemory.Holder.allCases {
        let path = folder + (holder == .bare ? "/table.sqlite" : "/home")
        let memory = try await LibraryBench.memory(of: holder, in: path)
        #expect(memory.atStart > 1 << 20, "\(holder)")
      }
    }
  }

  @Test func aBareTableKeepsItsRowsInOrderAndReplacesThem() async throws {
    try await inFolder { folder in
      let path = folder + "/table.sqlite"
      try BenchHome.fillTable(path, count: 5)
      let table = try BareTable(path: path)
      var changed = BenchTodo.numbered(3)
      changed.title = "tea"
      try table.save([changed][...])
      table.close()
      let again = try BareTable(path: path)
      let todos = try again.todos()
      #expect(todos.map(\.place) == [0, 1, 2, 3, 4])
      #expect(todos[3] == changed)
      #expect(todos[4] == .numbered(4))
    }
  }

  @Test func aFolderThatIsNotThereIsAFailure() {
    #expect(throws: CommandFailure.self) { try BareTable(path: "/nowhere/table.sqlite") }
  }
}
