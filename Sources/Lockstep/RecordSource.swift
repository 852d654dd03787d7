import LockstepClient
import LockstepModel

/// Records of a home and their changes, from the process itself or from the one that holds it.
protocol RecordSource: AnyObject, Sendable {
  /// Called with changes; must not block.
  typealias Handler = @Sendable (AgentReport) -> Void

  /// Calls `handler` with every report from now on, until `stopListening`. After the end it is
  /// called once with `stopped`. Returns 0 after the end.
  func listen(_ handler: @escaping Handler) -> UInt64

  func stopListening(_ number: UInt64)

  /// Reads the live records of a type.
  ///
  /// - Parameter handle: Called with the records, after every report that they include, and before
  ///   any later one.
  func read(
    zone: Name, type: Name, handle: @escaping @Sendable ([Record]) -> Void
  ) async throws(LockstepError)
}

extension DeviceEngine: RecordSource {
  func read(
    zone: Name, type: Name, handle: @escaping @Sendable ([Record]) -> Void
  ) async throws(LockstepError) {
    _ = try await perform(
      { .readRecords($0, zone: zone, type: type) },
      handle: { report in
        if case .read(_, .success(let records)) = report { handle(records) }
      })
  }
}
