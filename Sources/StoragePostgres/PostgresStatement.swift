/// One SQL statement, and the name under which each session prepares it once.
///
/// Its text contains the types of its parameters (`$1::bigint[]`), so that only
/// `PostgresParameters` must agree with them.
struct PostgresStatement: Sendable {
  let name: String
  let sql: String

  /// `name`: unique in the module; empty for a statement that is prepared anew each time.
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

/// Statements that are sent together and answered together, in one round trip.
struct PostgresPipeline {
  struct Step {
    let statement: PostgresStatement
    let parameters: PostgresParameters
  }

  private(set) var steps: [Step] = []

  var isEmpty: Bool { steps.isEmpty }
  /// Approximate size of the parameters.
  private(set) var bytes = 0

  /// Returns the index of the statement's rows in the answer.
  @discardableResult mutating func add(
    _ statement: PostgresStatement, _ parameters: PostgresParameters = PostgresParameters()
  ) -> Int {
    steps.append(Step(statement: statement, parameters: parameters))
    bytes += parameters.bytes.count
    return steps.count - 1
  }
}
