/// One statement of SQL, and the name under which each session prepares it once.
///
/// The types of its parameters are told in it (`$1::bigint[]`), so that nothing else must agree
/// with them but `PostgresParameters`.
struct PostgresStatement: Sendable {
  let name: String
  let sql: String

  /// `name`: one of its own in the whole room; empty for one that is prepared anew each time.
  init(_ name: String, _ sql: String) {
    self.name = name
    self.sql = sql
  }

  /// Every read and every commit is an explicit transaction of a pipeline.
  static let begin = PostgresStatement("begin", "BEGIN ISOLATION LEVEL READ COMMITTED")
  /// All statements up to the end see one state of the database.
  static let beginReading = PostgresStatement(
    "begin reading", "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
  static let commit = PostgresStatement("commit", "COMMIT")
  static let rollBack = PostgresStatement("roll back", "ROLLBACK")
  static let discardPlans = PostgresStatement("discard plans", "DISCARD PLANS")
}

/// Statements that are sent together and answered together: one round trip, however many.
struct PostgresPipeline {
  struct Step {
    let statement: PostgresStatement
    let parameters: PostgresParameters
  }

  private(set) var steps: [Step] = []

  var isEmpty: Bool { steps.isEmpty }
  /// What the parameters hold, about.
  private(set) var bytes = 0

  /// Gives the place of its rows in the answer.
  @discardableResult mutating func add(
    _ statement: PostgresStatement, _ parameters: PostgresParameters = PostgresParameters()
  ) -> Int {
    steps.append(Step(statement: statement, parameters: parameters))
    bytes += parameters.bytes.count
    return steps.count - 1
  }
}
