import LockstepModel
import LockstepStorage

/// Orders of a user to an app: computed from the device's records, in one transaction.
extension ReplicaState {
  mutating func performed(_ order: JSONValue, by name: String, _ clock: ClockReading)
    throws(StorageError) -> Result<AppView, EditFailure>
  {
    guard identity != nil else { return .failure(.notJoined) }
    guard let app = app(name) else { return .failure(ReplicaState.noApp(name)) }
    if let question = try unanswered(of: app) { return .failure(question) }
    let state = try state(of: app, clock)
    let outcome: AppOutcome
    do throws(EditRefusal) {
      outcome = try app.outcome(of: order, on: state)
    } catch {
      return .failure(.refused(error))
    }
    for step in outcome.steps {
      let result =
        switch step {
        case .edit(let request): try edit(request, clock)
        case .decide(let key, let keepLocal): try decide(key, keepLocal: keepLocal, clock)
        }
      if case .failure(let failure) = result {
        try discard()
        return .failure(failure)
      }
    }
    switch outcome.answer {
    case .view(let view): return .success(view)
    case .question(let question): return try shown(question, by: name, clock)
    }
  }

  func shown(_ question: JSONValue, by name: String, _ clock: ClockReading)
    throws(StorageError) -> Result<AppView, EditFailure>
  {
    guard let app = app(name) else { return .failure(ReplicaState.noApp(name)) }
    if let question = try unanswered(of: app) { return .failure(question) }
    let state = try state(of: app, clock)
    do throws(EditRefusal) {
      return .success(try app.view(question, of: state))
    } catch {
      return .failure(.refused(error))
    }
  }

  /// Removes surplus records of types with a maximum count. Requires that the device is caught up,
  /// and holds nothing back.
  mutating func trim(_ clock: ClockReading) throws(StorageError) {
    for app in apps where ledger.hasWritten(in: app.zone) && !isOff(app.zone) {
      for type in app.boundedTypes {
        let records = try ledger.records(zone: app.zone, type: type)
        for key in app.surplus(of: type, among: records) {
          _ = try edit(EditRequest(key: key, type: type) { _ throws(EditRefusal) in nil }, clock)
        }
      }
    }
  }

  mutating func nameDevices(_ names: [DeviceID: String]) throws(StorageError) {
    let members = names.sorted { $0.key < $1.key }.prefix(Limits.devicesPerAccount).map {
      JSONMember($0.key.text, .string($0.value))
    }
    let text = JSONValue.object(members).text
    // The names are set again with each list of devices, and rarely differ.
    if try ledger.store.value(ReplicaState.deviceNamesKey) == text { return }
    ledger.setValue(ReplicaState.deviceNamesKey, text)
  }

  private func deviceNames() throws(StorageError) -> [DeviceID: String] {
    guard let text = try ledger.store.value(ReplicaState.deviceNamesKey),
      let members = Merging.value(Array(text.utf8))?.members
    else { return [:] }
    var names: [DeviceID: String] = [:]
    for member in members {
      if let device = DeviceID(text: member.name) { names[device] = member.value.string }
    }
    return names
  }

  private func app(_ name: String) -> (any App)? { apps.first { $0.name == name } }

  private static func noApp(_ name: String) -> EditFailure {
    .refused(EditRefusal("the process that holds this home has no app \(name); start it anew"))
  }

  private func state(of app: any App, _ clock: ClockReading) throws(StorageError) -> AppState {
    var records: [Record] = []
    for type in app.types { records += try ledger.records(zone: app.zone, type: type) }
    var names = try deviceNames()
    if let identity, names[identity.credentials.device] == nil {
      names[identity.credentials.device] = identity.deviceName
    }
    return AppState(
      records: records, asking: ledger.outbox.asked(in: app.zone), now: clock.relayTime,
      device: device, deviceNames: names)
  }
}
