import LockstepJSON
import Testing

@testable import LockstepBench

struct LibraryTableTests {
  private func table(_ rounds: [LibraryTable.Measure: [LibraryRound]]) -> LibraryTable {
    var table = LibraryTable(plan: LibraryPlan())
    table.results = rounds
    return table
  }

  private func measure(_ name: String, in table: LibraryTable) -> JSONValue? {
    table.json["measures"]?.array?.first { $0["measure"]?.string == name }
  }

  @Test func aRatioIsTheMedianOfTheRoundsRatios() {
    let table = table([
      .save: [
        LibraryRound(library: 300_000, bare: 200_000),
        LibraryRound(library: 900_000, bare: 300_000),
        LibraryRound(library: 130_000, bare: 100_000),
      ]
    ])
    let save = measure("save", in: table)
    #expect(save?["libraryMs"]?.text == "0.3")
    #expect(save?["bareMs"]?.text == "0.2")
    #expect(save?["ratio"]?.text == "1.5")
    #expect(save?["leastRatio"]?.text == "1.3")
    #expect(save?["greatestRatio"]?.text == "3")
    #expect(table.text.contains("1.50 (1.30–3.00)"))
    #expect(table.text.contains("≤ 1.5 met"))
  }

  @Test func aSaveThatCostsMoreThanOneAndAHalfCommitsIsSaidSo() {
    let table = table([.save: [LibraryRound(library: 1_501, bare: 1_000)]])
    #expect(table.judgement(of: .save)?.isMet == false)
    #expect(table.text.contains("≤ 1.5 MISSED"))
    #expect(measure("save", in: table)?["met"] == false)
  }

  @Test func aLiveQueryIsJudgedByItsOwnTime() {
    let quick = table([.live: [LibraryRound(library: 999_999, bare: 5_000_000)]])
    #expect(quick.judgement(of: .live)?.isMet == true)
    let slow = table([.live: [LibraryRound(library: 1_000_000, bare: nil)]])
    #expect(slow.judgement(of: .live)?.isMet == false)
  }

  @Test func partsThatWereNotMeasuredAreLeftOut() {
    let table = table([.open: [LibraryRound(library: 1_000_000, bare: nil)]])
    #expect(table.json["measures"]?.array?.map { $0["measure"]?.string } == ["open"])
    #expect(measure("open", in: table)?["bareMs"] == .null)
    #expect(measure("open", in: table)?["ratio"] == .null)
    #expect(measure("open", in: table)?["met"] == .null)
    #expect(table.json["memory"] == [])
    #expect(!table.text.contains("resident memory"))
    #expect(!table.text.contains("a durable save"))
  }

  @Test func memoryIsTheDifferenceToTheProcessBefore() throws {
    var table = LibraryTable(plan: LibraryPlan())
    table.plan.records = 1_000
    let memory = LibraryMemory(
      atStart: 10 << 20, opened: 12 << 20, holding: (12 << 20) + 300_000)
    table.memory = [.records: [memory]]
    #expect(LibraryMemory(text: memory.json.text + "\n") == memory)
    let first = try #require(table.json["memory"]?.array?.first)
    #expect(first["openedBytes"]?.int64 == 2 << 20)
    #expect(first["recordsBytes"]?.int64 == 300_000)
    #expect(table.text.contains("2.00 MiB"))
    #expect(table.text.contains("300"))
  }

  @Test(arguments: ["", "lockstep: error", #"{"atStart":1,"opened":2}"#])
  func whatIsNoMemoryIsRefused(_ text: String) {
    #expect(LibraryMemory(text: text) == nil)
  }
}
