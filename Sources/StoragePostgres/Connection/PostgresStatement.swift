import Glibc
import LockstepModel

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

  var beginsTransaction: Bool { sql.hasPrefix("BEGIN") }
  var endsTransaction: Bool { sql == PostgresStatement.commit.sql }

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

/// The parameters of a statement in PostgreSQL's binary format.
///
///     bigint       8 bytes, big-endian
///     text, bytea  their bytes
///     array        dimensions (1, or 0 if it is empty) · has NULL · type of an element, then
///                  with a dimension: count · 1 · elements, each preceded by its length, or -1
///                  for NULL; all of these 4 bytes
///
/// Source: the `_send` functions of PostgreSQL (src/backend/utils/adt).
struct PostgresParameters {
  /// All values, concatenated.
  private(set) var bytes: [UInt8] = []
  /// Byte range of each value; nil for NULL.
  private(set) var ranges: [Range<Int>?] = []

  /// Type of an element of an array (pg_type.dat).
  private enum Kind: Int32 {
    case bytes = 17
    case integer = 20
    case text = 25
  }

  consuming func bind(_ integer: Int64) -> Self { added { $0.put(integer) } }
  consuming func bind(_ bits: UInt64) -> Self { bind(Int64(bitPattern: bits)) }
  consuming func bind(_ text: String) -> Self {
    added { $0.bytes += Array(text.utf8) }
  }
  consuming func bind(_ content: [UInt8]) -> Self { added { $0.bytes += content } }

  consuming func bind(_ text: String?) -> Self {
    guard let text else {
      ranges.append(nil)
      return self
    }
    return bind(text)
  }

  consuming func bind(_ integers: [Int64]) -> Self {
    added { $0.put(integers, .integer) { $0.put($1) } }
  }

  consuming func bind(_ bits: [UInt64]) -> Self {
    added { $0.put(bits, .integer) { $0.put(Int64(bitPattern: $1)) } }
  }

  consuming func bind(_ integers: [Int64?]) -> Self {
    added { $0.put(optional: integers, .integer) { $0.put($1) } }
  }

  consuming func bind(_ texts: [String]) -> Self {
    added { $0.put(texts, .text) { $0.bytes += Array($1.utf8) } }
  }

  consuming func bind(_ texts: [String?]) -> Self {
    added { $0.put(optional: texts, .text) { $0.bytes += Array($1.utf8) } }
  }

  consuming func bind(_ contents: [[UInt8]]) -> Self {
    added { $0.put(contents, .bytes) { $0.bytes += $1 } }
  }

  consuming func bind(_ contents: [[UInt8]?]) -> Self {
    added { $0.put(optional: contents, .bytes) { $0.bytes += $1 } }
  }

  private consuming func added(_ put: (inout Self) -> Void) -> Self {
    let start = bytes.count
    put(&self)
    ranges.append(start..<bytes.count)
    return self
  }

  private mutating func put(_ integer: some FixedWidthInteger) {
    withUnsafeBytes(of: integer.bigEndian) { bytes += $0 }
  }

  private mutating func put<Element>(
    _ elements: [Element], _ kind: Kind, _ put: (inout Self, Element) -> Void
  ) {
    head(elements.count, kind, hasNull: false)
    for element in elements { self.element(element, put) }
  }

  private mutating func put<Element>(
    optional elements: [Element?], _ kind: Kind, _ put: (inout Self, Element) -> Void
  ) {
    head(elements.count, kind, hasNull: elements.contains { $0 == nil })
    for element in elements {
      guard let element else {
        self.put(Int32(-1))
        continue
      }
      self.element(element, put)
    }
  }

  private mutating func head(_ count: Int, _ kind: Kind, hasNull: Bool) {
    put(Int32(count == 0 ? 0 : 1))
    put(Int32(hasNull ? 1 : 0))
    put(kind.rawValue)
    guard count > 0 else { return }
    put(Int32(count))
    put(Int32(1))
  }

  /// Writes the length after the bytes are known.
  private mutating func element<Element>(
    _ element: Element, _ put: (inout Self, Element) -> Void
  ) {
    let start = bytes.count
    self.put(Int32(0))
    put(&self, element)
    let length = Int32(bytes.count - start - 4)
    withUnsafeBytes(of: length.bigEndian) { head in
      for index in 0..<4 { bytes[start + index] = head[index] }
    }
  }
}

/// A null-terminated array of C strings.
final class CStrings {
  private let copies: [UnsafeMutablePointer<CChar>?]

  init(_ texts: [String]) { copies = texts.map { strdup($0) } + [nil] }

  deinit { for copy in copies { free(copy) } }

  /// Valid for the lifetime of this object.
  var pointers: [UnsafePointer<CChar>?] { copies.map { $0.map { UnsafePointer($0) } } }
}
