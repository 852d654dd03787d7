import LockstepApps
import LockstepJSON
import LockstepModel
import Testing

/// One device on which a person uses an app, without other devices.
struct AppTable {
  let app: any App
  let device: DeviceID
  var now: Int64 = 1_772_366_400_000
  var names: [DeviceID: String] = [:]
  private(set) var records: [RecordKey: Record] = [:]
  /// Versions from the relay that need a person's decision.
  var asking: [Record] = []
  private(set) var decisions: [(RecordKey, keepLocal: Bool)] = []
  private var drawn = 0

  init(_ app: any App, device: UInt64 = 0xA) {
    self.app = app
    self.device = DeviceID(rawValue: device)
  }

  var state: AppState {
    AppState(
      records: records.values.filter { !$0.isDeleted }.sorted {
        ($0.type, $0.name) < ($1.type, $1.name)
      },
      asking: asking, now: now, device: device, deviceNames: names)
  }

  /// Applies the person's order, then advances the time by a second.
  @discardableResult
  mutating func order(_ order: JSONValue) throws -> AppView {
    var order = order
    if order["do"] == "add", order["name"] == nil {
      drawn += 1
      order = order.setting("name", to: .string("r\(drawn)"))
    }
    let outcome = try app.outcome(of: order, on: state)
    for step in outcome.steps {
      switch step {
      case .edit(let edit): try perform(edit)
      case .decide(let key, let keepLocal): decisions.append((key, keepLocal))
      }
    }
    now += 1_000
    if case .view(let view) = outcome.answer { return view }
    if case .question(let question) = outcome.answer { return try view(question) }
    throw EditRefusal("nothing is answered")
  }

  func view(_ question: JSONValue) throws -> AppView { try app.view(question, of: state) }

  /// Returns the reason for which an order is refused; nil if it is accepted.
  func refusal(_ order: JSONValue) -> String? {
    do throws(EditRefusal) {
      _ = try app.outcome(of: order, on: state)
      return nil
    } catch {
      return error.reason
    }
  }

  /// Applies a record from another device.
  mutating func take(
    _ name: String, _ type: Name, _ fields: JSONValue?, at modifiedAt: Int64,
    by device: UInt64 = 0xB
  ) {
    let key = RecordKey(zone: app.zone, name: Name(trusted: name))
    records[key] = Record(
      zone: key.zone, name: key.name, type: type, fields: fields?.serialized(),
      modifiedAt: modifiedAt, device: DeviceID(rawValue: device), tag: 1)
  }

  func fields(_ name: String) -> JSONValue? {
    records[RecordKey(zone: app.zone, name: Name(trusted: name))]?.value
  }

  private mutating func perform(_ edit: EditRequest) throws {
    let current = records[edit.key].flatMap { $0.isDeleted ? nil : $0 }
    let context = EditContext(current: current, stamp: now, device: device)
    let fields = try edit.make(context)
    records[edit.key] = Record(
      zone: edit.key.zone, name: edit.key.name, type: edit.type, fields: fields?.serialized(),
      modifiedAt: now, device: device, tag: 0)
  }
}
