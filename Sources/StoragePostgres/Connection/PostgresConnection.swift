import CPostgres
import LockstepModel
import LockstepStorage

/// A session with a PostgreSQL server, a thin layer over libpq; for one thread at a time.
///
/// All statements are sent in pipelines: one pipeline costs one round trip. Every wait is bounded,
/// even if the network fails in one direction only: the server limits statements and lock waits
/// (`statement_timeout`, `lock_timeout`), the kernel closes a silent connection
/// (`tcp_user_timeout`, keepalives), and each answer has a deadline here.
///
/// A lost connection stays lost until `open`, which `perform` calls first.
///
/// Behind a pooler (PgBouncer in transaction mode) each transaction may run in another session of
/// the server, and other programs use these sessions too. So each transaction begins with its own
/// settings there (`PostgresSession.pooledSettings`), and no statement is prepared by name, unless
/// the address says that the pooler knows them: an older one would run what another program has
/// prepared under that name.
final class PostgresConnection {
  typealias SessionSetup = @Sendable (PostgresConnection) throws(PostgresFault) -> Void

  let address: PostgresAddress
  private var session: OpaquePointer?
  private var prepared: Set<String> = []
  /// Runs once in every new session, before anything else.
  var sessionSetup: SessionSetup?
  /// Schema of the tables: the first schema of the search path.
  private(set) var schema = ""
  /// True if a pooler is between this program and the server.
  var isPooled = false
  /// True if its user reads `notices`. Otherwise those that another program's LISTEN brings, in a
  /// session that a pooler lends, are dropped.
  var listens = false
  /// Start of the server, in microseconds since 1970.
  var serverStartedAt: Int64 = 0
  private(set) var roundTrips = 0
  private var plansEnd = PostgresSession.firstPlans
  private var begunAt = 0
  /// Number of sessions that were begun.
  private(set) var openings = 0
  private(set) var isClosed = false

  init(_ address: PostgresAddress) { self.address = address }

  deinit { drop() }

  var isOpen: Bool { session != nil }
  /// Socket to wait on for unsolicited messages of the server; -1 if there is no session.
  var descriptor: Int32 { session.map(PQsocket) ?? -1 }

  /// Number of the server's process, as the peer of the connection told it: a pooler tells a number
  /// of its own.
  var backend: Int64 { session.map { Int64(PQbackendPID($0)) } ?? 0 }

  /// Ends the session for good: later requests fail.
  func close() {
    drop()
    isClosed = true
  }

  /// Ends the session, and any transaction with it.
  func drop() {
    if let session { PQfinish(session) }
    session = nil
    prepared = []
  }

  /// Begins a session if there is none. Uses the first of several hosts that accepts the
  /// connection.
  func open() throws(PostgresFault) {
    if session != nil { return }
    guard !isClosed else { throw PostgresFault(cause: .lost, message: "it was closed") }
    let hosts = address.hosts
    for (index, host) in hosts.enumerated() {
      do throws(PostgresFault) {
        try open(host)
        return
      } catch {
        drop()
        guard index + 1 < hosts.count else { throw error }
      }
    }
  }

  private func open(_ host: PostgresAddress) throws(PostgresFault) {
    session = try PostgresConnection.connect(host)
    openings += 1
    begunAt = roundTrips
    plansEnd = PostgresSession.firstPlans
    isPooled = false
    let prepared = try PostgresSession.prepare(self)
    schema = prepared.schema
    serverStartedAt = prepared.serverStartedAt
    isPooled = prepared.backend != backend
    try sessionSetup?(self)
  }

  /// Sends all statements and returns their rows, one entry per statement, in order. If a statement
  /// fails, those after it are not executed, and a transaction stays open, to be rolled back.
  ///
  /// `commit`: index of the `COMMIT` that makes something durable; if its outcome is unknown, the
  /// thrown fault says so. Statements after it may fail: they have no rows then.
  func run(
    _ pipeline: PostgresPipeline, within milliseconds: Int64 = Limits.databaseAnswerMilliseconds,
    commit: Int? = nil
  ) throws(PostgresFault) -> [PostgresRows] {
    guard let session else {
      throw PostgresFault(cause: .lost, message: "there is no connection")
    }
    roundTrips += 1
    let deadline = lockstep_postgres_milliseconds() + milliseconds
    var rows: [PostgresRows] = []
    do throws(PostgresFault) {
      let answers = try send(pipeline, on: session)
      try receive(answers, into: &rows, until: deadline, on: session)
      if isPooled, !listens { dropNotices() }
      return rows
    } catch {
      var fault = error
      if fault.endsSession || PQstatus(session) != CONNECTION_OK { drop() }
      guard let commit else { throw fault }
      if rows.count > commit { return rows }
      let isBefore = fault.step.map { $0 < commit } ?? false
      fault.isUnknown = fault.endsSession && !isBefore
      throw fault
    }
  }

  /// Makes the server renew its plans now and then (`PostgresSession`), between two transactions.
  func renewPlans() throws(PostgresFault) {
    let made = roundTrips - begunAt
    guard made >= plansEnd, preparesStatements else { return }
    plansEnd = made + min(made, PostgresSession.lastingPlans)
    _ = try run(.discardPlans)
  }

  private var preparesStatements: Bool { !isPooled || address.preparesBehindPooler }

  /// Runs one statement alone.
  func run(
    _ statement: PostgresStatement, _ parameters: PostgresParameters = PostgresParameters(),
    within milliseconds: Int64 = Limits.databaseAnswerMilliseconds
  ) throws(PostgresFault) -> PostgresRows {
    var pipeline = PostgresPipeline()
    pipeline.add(statement, parameters)
    guard let rows = try run(pipeline, within: milliseconds).first else {
      throw PostgresFault(cause: .lost, message: "a statement was not answered")
    }
    return rows
  }

  // MARK: Connecting

  private static func connect(_ host: PostgresAddress) throws(PostgresFault) -> OpaquePointer {
    if let reason = lockstep_postgres_load() {
      throw PostgresFault(
        cause: .unfit,
        message: "libpq, PostgreSQL's client library, cannot be loaded "
          + "(\(String(cString: reason))); Debian's package is 'libpq5'")
    }
    let parameters = host.libraryParameters + PostgresSession.parameters(of: host)
    let keywords = CStrings(parameters.map(\.keyword))
    let values = CStrings(parameters.map(\.value))
    guard let session = PQconnectStartParams(keywords.pointers, values.pointers, 0) else {
      throw PostgresFault(cause: .lost, message: "no memory is left")
    }
    PQsetNoticeReceiver(session, { _, _ in }, nil)
    // Includes the five-character SQLSTATE, which is not available otherwise for a refused
    // connection.
    _ = PQsetErrorVerbosity(session, PQERRORS_VERBOSE)
    let deadline = lockstep_postgres_milliseconds() + Limits.databaseConnectMilliseconds
    var state = PQstatus(session) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING
    while state != PGRES_POLLING_OK {
      guard state != PGRES_POLLING_FAILED else {
        let fault = PostgresSession.fault(ofConnecting: errorText(of: session, lines: .max))
        PQfinish(session)
        throw fault
      }
      let isWriting = state == PGRES_POLLING_WRITING
      guard waitUntilReady(PQsocket(session), isWriting, until: deadline) else {
        PQfinish(session)
        let seconds = Limits.databaseConnectMilliseconds / 1_000
        throw PostgresFault(cause: .lost, message: "it did not answer within \(seconds) s")
      }
      state = PQconnectPoll(session)
    }
    _ = PQsetErrorVerbosity(session, PQERRORS_DEFAULT)
    guard PQsetnonblocking(session, 1) == 0, PQenterPipelineMode(session) == 1 else {
      PQfinish(session)
      throw PostgresFault(cause: .lost, message: "the connection cannot be used")
    }
    return session
  }

  /// Waits for one direction only: a connecting socket becomes writable once it is connected.
  private static func waitUntilReady(
    _ socket: Int32, _ isWriting: Bool, until deadline: Int64
  ) -> Bool {
    while true {
      let ready = lockstep_postgres_wait(socket, isWriting, -1, deadline)
      if ready != 0 { return true }
      if lockstep_postgres_milliseconds() >= deadline { return false }
    }
  }

  // MARK: Sending

  /// An answer that is expected.
  private enum Answer {
    /// That a statement with this name is prepared.
    case preparation(String)
    /// The rows of a statement of the pipeline.
    case rows
    /// That the settings of a pooled transaction are made.
    case settings
  }

  /// Returns the expected answers in order.
  private func send(
    _ pipeline: PostgresPipeline, on session: OpaquePointer
  ) throws(PostgresFault) -> [Answer] {
    var answers: [Answer] = []
    var preparing: Set<String> = []
    let isNamed = preparesStatements
    func send(_ step: PostgresPipeline.Step, _ answer: Answer) throws(PostgresFault) {
      let name = step.statement.name
      if isNamed, !name.isEmpty, !prepared.contains(name), preparing.insert(name).inserted {
        guard PQsendPrepare(session, name, step.statement.sql, 0, nil) == 1 else {
          throw connectionFault(session)
        }
        answers.append(.preparation(name))
      }
      guard PostgresConnection.send(step, isNamed: isNamed, on: session) else {
        throw connectionFault(session)
      }
      answers.append(answer)
    }
    func sendSettings() throws(PostgresFault) {
      try send(PostgresSession.pooledSettings(serverStartedAt: serverStartedAt), .settings)
    }
    // Statements without BEGIN are one transaction, too, up to the end of the pipeline.
    let isImplicit = pipeline.steps.first?.statement.beginsTransaction == false
    if isPooled, isImplicit, !isInTransaction { try sendSettings() }
    for (index, step) in pipeline.steps.enumerated() {
      try send(step, .rows)
      guard isPooled else { continue }
      let next = pipeline.steps.dropFirst(index + 1).first?.statement
      let isBeforeImplicit = step.statement.endsTransaction && next?.beginsTransaction == false
      if step.statement.beginsTransaction || isBeforeImplicit { try sendSettings() }
    }
    guard PQpipelineSync(session) == 1 else { throw connectionFault(session) }
    return answers
  }

  private static func send(
    _ step: PostgresPipeline.Step, isNamed: Bool, on session: OpaquePointer
  ) -> Bool {
    let ranges = step.parameters.ranges
    let lengths = ranges.map { Int32(clamping: $0?.count ?? 0) }
    let formats = [Int32](repeating: 1, count: ranges.count)
    return step.parameters.bytes.withUnsafeBytes { bytes in
      // An empty value is not NULL: its pointer must not be null.
      withUnsafeBytes(of: 0 as UInt8) { nothing in
        let start = (bytes.baseAddress ?? nothing.baseAddress)?.assumingMemoryBound(to: CChar.self)
        let values = ranges.map { range in range.flatMap { start?.advanced(by: $0.lowerBound) } }
        let count = Int32(ranges.count)
        let name = step.statement.name
        if name.isEmpty || !isNamed {
          return PQsendQueryParams(
            session, step.statement.sql, count, nil, values, lengths, formats, 1) == 1
        }
        return PQsendQueryPrepared(session, name, count, values, lengths, formats, 1) == 1
      }
    }
  }

  // MARK: Receiving

  private func receive(
    _ answers: [Answer], into all: inout [PostgresRows], until deadline: Int64,
    on session: OpaquePointer
  ) throws(PostgresFault) {
    var refusal: PostgresFault?
    for expected in answers {
      do throws(PostgresFault) {
        let rows = try answer(until: deadline, on: session)
        switch expected {
        case .preparation(let name): prepared.insert(name)
        case .rows: all.append(rows)
        case .settings: break
        }
      } catch {
        guard case .refused(let state) = error.cause else { throw refusal ?? error }
        // The server skips the statements after the first error, without messages of their own.
        if refusal == nil {
          refusal = error
          // A pooler that lost the server does not know which statements were executed.
          refusal?.step = isPooled && state.hasPrefix("08") ? nil : all.count
          if isPooled, PostgresSession.unknownStatementStates.contains(state) {
            refusal?.cause = .unfit
            refusal?.message = PostgresSession.unknownStatementMessage
          }
          if case .settings = expected, state == PostgresSession.replacedServerState {
            refusal?.cause = .lost
            refusal?.message = "the server behind the pooler was started again or replaced"
          }
        }
        if refusal?.endsSession == true { break }
      }
    }
    if let refusal, refusal.endsSession { throw refusal }
    do throws(PostgresFault) {
      try synchronize(until: deadline, on: session)
    } catch {
      // All answers arrived before the connection was lost.
      drop()
    }
    if let refusal { throw refusal }
  }

  /// Receives the complete answer of the next statement.
  private func answer(
    until deadline: Int64, on session: OpaquePointer
  ) throws(PostgresFault) -> PostgresRows {
    // Between two answers libpq returns null, once or twice.
    var result = try next(until: deadline, on: session)
    if result == nil { result = try next(until: deadline, on: session) }
    guard let result else { throw connectionFault(session) }
    let rows = PostgresRows(result)
    if let fault = rows.fault { throw fault.cause == .lost ? connectionFault(session) : fault }
    guard try next(until: deadline, on: session) == nil else { throw connectionFault(session) }
    return rows
  }

  private func synchronize(
    until deadline: Int64, on session: OpaquePointer
  ) throws(PostgresFault) {
    for _ in 0..<3 {
      guard let result = try next(until: deadline, on: session) else { continue }
      defer { PQclear(result) }
      if PQresultStatus(result) == PGRES_PIPELINE_SYNC { return }
    }
    throw connectionFault(session)
  }

  private func next(
    until deadline: Int64, on session: OpaquePointer
  ) throws(PostgresFault) -> OpaquePointer? {
    while PQisBusy(session) == 1 {
      let unsent = PQflush(session)
      guard unsent >= 0 else { throw connectionFault(session) }
      let ready = lockstep_postgres_wait(PQsocket(session), unsent == 1, -1, deadline)
      guard ready != 0 else {
        throw PostgresFault(cause: .late, message: "it did not answer in time")
      }
      guard Int(ready) & LOCKSTEP_READABLE == 0 || PQconsumeInput(session) == 1
      else { throw connectionFault(session) }
    }
    return PQgetResult(session)
  }

  // MARK: Notices

  /// Returns the notifications of other sessions since the last call.
  func notices(atMost limit: Int) throws(PostgresFault) -> [String] {
    guard let session, PQconsumeInput(session) == 1 else {
      let fault =
        session.map(connectionFault)
        ?? PostgresFault(cause: .lost, message: "there is no connection")
      drop()
      throw fault
    }
    var payloads: [String] = []
    while payloads.count < limit, let notify = PQnotifies(session) {
      if let payload = notify.pointee.extra { payloads.append(String(cString: payload)) }
      PQfreemem(notify)
    }
    return payloads
  }

  /// Frees the notifications that arrived with answers.
  private func dropNotices() {
    guard let session else { return }
    while let notify = PQnotifies(session) { PQfreemem(notify) }
  }

  /// True if a transaction is open, or has failed and must be rolled back.
  var isInTransaction: Bool { session.map { PQtransactionStatus($0) != PQTRANS_IDLE } ?? false }

  private func connectionFault(_ session: OpaquePointer) -> PostgresFault {
    PostgresFault(cause: .lost, message: PostgresConnection.errorText(of: session, lines: 1))
  }

  private static func errorText(of session: OpaquePointer, lines: Int) -> String {
    let text = PQerrorMessage(session).map { String(cString: $0) } ?? ""
    let message = text.split(separator: "\n").prefix(lines).joined(separator: "\n")
    return message.isEmpty ? "the connection was lost" : message
  }
}

extension PostgresConnection {
  /// Runs `body` in a session, after connecting if there is none. Repeats it a few times if another
  /// relay or a restart of the server prevented it and nothing was changed. A transaction that
  /// `body` leaves open is rolled back.
  ///
  /// `operation`: the text for the error, as in "failed to read".
  func perform<Value>(
    _ operation: String, _ body: () throws(PostgresFault) -> Value
  ) throws(StorageError) -> Value {
    let startedAt = lockstep_postgres_milliseconds()
    var attempt = 1
    while true {
      let fault: PostgresFault
      do throws(PostgresFault) {
        try open()
        try renewPlans()
        return try body()
      } catch {
        fault = error
      }
      clear()
      let elapsed = lockstep_postgres_milliseconds() - startedAt
      guard fault.mayRepeat, attempt < Limits.databaseAttempts,
        elapsed < Limits.databaseAnswerMilliseconds / 2, !isClosed
      else { throw StorageError(fault, path: address.shown, operation: operation) }
      // A connection that was lost while idle is restored without a pause.
      if attempt > 1 { pause() }
      attempt += 1
    }
  }

  /// Rolls back an open transaction.
  private func clear() {
    guard isOpen, isInTransaction else { return }
    do throws(PostgresFault) {
      _ = try run(.rollBack)
    } catch {
      drop()
    }
  }

  private func pause() {
    let end = lockstep_postgres_milliseconds() + Limits.databasePauseMilliseconds
    _ = lockstep_postgres_wait(-1, false, -1, end)
  }
}
