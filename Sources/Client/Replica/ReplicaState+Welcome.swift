import LockstepModel
import LockstepStorage

/// A new device finds records that other devices have made: some apps ask the user whether to use
/// them (`App.asksToRestore`). Until then the records are stored in the home, and are neither shown
/// nor overwritten.
extension ReplicaState {
  enum RestoreConsent: String {
    /// The first snapshot contained records of other devices, and the user has not answered.
    case asked
    /// The user has answered, or there was nothing to ask.
    case answered
  }

  private static let welcomePrefix = "welcome."

  /// Loads the states. A home that was read completely before the question existed has nothing to
  /// ask.
  mutating func loadWelcomes() throws(StorageError) {
    welcomes = [:]
    let hasRead = try ledger.store.cursor() != nil
    for app in apps where !app.asksToRestore.isEmpty {
      let text = try ledger.store.value(Self.welcomePrefix + app.zone.text)
      welcomes[app.zone] =
        text.flatMap(RestoreConsent.init(rawValue:)) ?? (hasRead ? .answered : nil)
    }
  }

  /// Examines a page of a snapshot before it is applied.
  mutating func meet(_ page: ChangePage) throws(StorageError) {
    for app in apps where welcomes[app.zone] == nil && !isOff(app.zone) {
      let types = app.asksToRestore
      let isFound = page.changes.contains {
        $0.zone == app.zone && types.contains($0.type) && !$0.isDeleted
      }
      guard isFound else { continue }
      welcome(app.zone, try holdsAnything(of: app) ? .answered : .asked)
    }
  }

  /// Handles the end of a snapshot that contained nothing to ask about.
  mutating func endWelcomes() {
    for app in apps where !app.asksToRestore.isEmpty {
      if welcomes[app.zone] == nil, !isOff(app.zone) { welcome(app.zone, .answered) }
    }
  }

  /// Records that the user has made something here before anything was found: this device is not
  /// empty.
  mutating func noteOwn(_ zone: Name) {
    let isAsking = apps.contains { $0.zone == zone && !$0.asksToRestore.isEmpty }
    if isAsking, welcomes[zone] != .answered { welcome(zone, .answered) }
  }

  /// Returns true if there was a question.
  mutating func answerRestore(of name: String) throws(StorageError) -> Result<Bool, EditFailure> {
    guard let app = apps.first(where: { $0.name == name }) else {
      return .failure(.refused(EditRefusal("this home has no app \(name)")))
    }
    let isAsked = try question(of: app) != nil
    if welcomes[app.zone] == .asked { welcome(app.zone, .answered) }
    return .success(isAsked)
  }

  /// Returns nil if nothing is asked, or all records in question are gone.
  func question(of app: any App) throws(StorageError) -> RestoreQuestion? {
    guard welcomes[app.zone] == .asked else { return nil }
    var count = 0
    for type in app.asksToRestore {
      count += try ledger.records(zone: app.zone, type: type).count
    }
    return count == 0 ? nil : RestoreQuestion(app: app.name, zone: app.zone, count: count)
  }

  func questions() throws(StorageError) -> [RestoreQuestion] {
    var questions: [RestoreQuestion] = []
    for app in apps {
      if let question = try question(of: app) { questions.append(question) }
    }
    return questions
  }

  /// Returns the failure of orders and views while the question is unanswered; nil if there is
  /// none.
  func unanswered(of app: any App) throws(StorageError) -> EditFailure? {
    try question(of: app).map { .restoreFirst(app: $0.app, count: $0.count) }
  }

  private func holdsAnything(of app: any App) throws(StorageError) -> Bool {
    if ledger.outbox.entries.contains(where: { $0.key.zone == app.zone }) { return true }
    for type in app.asksToRestore {
      if try !ledger.records(zone: app.zone, type: type).isEmpty { return true }
    }
    return false
  }

  private mutating func welcome(_ zone: Name, _ welcome: RestoreConsent) {
    welcomes[zone] = welcome
    ledger.setValue(Self.welcomePrefix + zone.text, welcome.rawValue)
  }
}
