/// Parameters of a library bench.
package struct LibraryPlan: Hashable, Sendable {
  /// Parts of the bench, in the order in which they run.
  package enum Part: String, CaseIterable, Sendable {
    case save, transaction, live, open, memory
  }

  package var parts = Part.allCases
  /// Rounds of each part; in each the library and SQLite alternate.
  package var rounds = 7
  /// Operations of each kind in a round.
  package var operations = 100
  /// Records of the home that is opened; the live query has a tenth of them.
  package var records = 100_000
  /// True to leave SQLite out, so that a profiler counts the library alone.
  package var isAlone = false

  /// Records of one transaction.
  package static let transactionRecords = 100

  package init() {}

  package var liveRecords: Int { max(1, records / 10) }
}

/// Durations of one round, in nanoseconds: medians of its operations. Nil where SQLite was left
/// out.
package struct LibraryRound: Hashable, Sendable {
  package var library: Int64
  package var bare: Int64?

  package init(library: Int64, bare: Int64?) {
    self.library = library
    self.bare = bare
  }

  /// Relation of the library to SQLite in thousandths; nil if there is none.
  var ratio: Int64? {
    guard let bare, bare > 0 else { return nil }
    return library * 1_000 / bare
  }
}

/// Memory of one process in bytes.
package struct LibraryMemory: Hashable, Sendable {
  /// Content of the process.
  package enum Holder: String, CaseIterable, Sendable {
    /// The array of all records.
    case records
    /// A live query of all records, and its array.
    case live
    /// The array of all rows of a bare table.
    case bare
  }

  /// Before anything is opened, after opening, and with the records.
  package var atStart: Int64
  package var opened: Int64
  package var holding: Int64

  package init(atStart: Int64, opened: Int64, holding: Int64) {
    self.atStart = atStart
    self.opened = opened
    self.holding = holding
  }
}
