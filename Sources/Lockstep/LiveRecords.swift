import Observation

/// The records of a live query, for SwiftUI and other observers on the main actor.
///
/// ```swift
/// @State private var todos = lockstep.liveRecords(Todo.self, where: { !$0.done })
/// var body: some View { List(todos.records) { Text($0.title) } }
/// ```
@MainActor
public final class LiveRecords<Record: SyncedRecord>: Observable {
  private let registrar = ObservationRegistrar()
  private var current: [Record] = []
  private var task: Task<Void, Never>?

  /// The records now; empty until the first are read.
  public var records: [Record] {
    registrar.access(self, keyPath: \.records)
    return current
  }

  init(_ query: LiveQuery<Record>) {
    task = Task { [weak self] in
      for await records in query {
        guard let self else { return }
        show(records)
      }
    }
  }

  deinit { task?.cancel() }

  private func show(_ records: [Record]) {
    registrar.withMutation(of: self, keyPath: \.records) { current = records }
  }
}

extension Lockstep {
  /// Returns the records of a live query as an observable object; see `live`.
  @MainActor
  public func liveRecords<Record: SyncedRecord>(
    _ type: Record.Type, where isIncluded: @escaping @Sendable (Record) -> Bool = { _ in true },
    sortedBy isBefore: (@Sendable (Record, Record) -> Bool)? = nil
  ) -> LiveRecords<Record> {
    LiveRecords(live(type, where: isIncluded, sortedBy: isBefore))
  }
}
