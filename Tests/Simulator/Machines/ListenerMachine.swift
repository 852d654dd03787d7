import LockstepModel
import LockstepSimulation
import LockstepStorage
import LockstepWire

/// A device with a subscription, or one that was paired for some zones, that checks what it is
/// told: only changes that match may wake it, and each of them must.
package final class ListenerMachine {
  package let name: String
  package let account: AccountID
  package let device: DeviceID
  private let environment: WorldEnvironment
  private let ledger: CommitLedger
  private let watched: Watched
  private let credentials: Credentials
  private let clock: VirtualClock
  private var driver: NodeDriver<ListenerNode>?
  /// Newest sequence of the account at the relay's welcome; changes up to it are sent as backlog.
  private var welcomedAt: Int64 = 0
  private var cursor: ChangeToken?
  /// Records of a device that was paired for some zones, as it was told of them.
  private var held: [RecordKey: Record] = [:]

  /// Scope of a listener that was paired for one zone, which it may only read.
  package static let scope = DeviceScope(zones: [NotesApp.zone], isReadOnly: true)

  /// Subscription of the listener, or its scope.
  package enum Watched: CaseIterable {
    case zoneOfNotes
    case deletesOfNotes
    case statesOfTimers
    /// Without a subscription: `ListenerMachine.scope`.
    case scopeOfNotes

    /// Those of devices that have the whole account.
    package static let subscriptions: [Watched] = [.zoneOfNotes, .deletesOfNotes, .statesOfTimers]
  }

  /// Creates a listener. `number`: its index in the simulation.
  package init(
    number: Int, credentials: Credentials, watched: Watched, environment: WorldEnvironment,
    ledger: CommitLedger,
    clock: VirtualClock
  ) {
    name = "listener\(number)"
    account = credentials.account
    device = credentials.device
    self.environment = environment
    self.ledger = ledger
    self.watched = watched
    self.credentials = credentials
    self.clock = clock
  }

  package func start() {
    guard driver == nil else { return }
    let node = ListenerNode(
      token: credentials.token, firstNumber: 1 << 32,
      at: clock.moment(at: environment.timeline.now))
    let driver = NodeDriver(
      name: name, environment: environment, clock: { [clock] in clock }, node: node)
    driver.onReport = { [unowned self] report in handleReport(report) }
    self.driver = driver
    driver.begin()
  }

  /// Ends the process. The next one starts without a cursor.
  package func stop() {
    guard let driver else { return }
    driver.kill()
    environment.network.removeNode(driver, isMachineGone: false)
    self.driver = nil
    cursor = nil
    held = [:]
  }

  /// nil: all that the device may see.
  package var subscription: Subscription? {
    let kind: Subscription.Kind? =
      switch watched {
      case .scopeOfNotes: nil
      case .zoneOfNotes: .zone(NotesApp.zone)
      case .deletesOfNotes:
        .query(
          .init(recordType: NotesApp.type, zone: nil, conditions: [], events: .delete))
      case .statesOfTimers:
        .query(
          .init(recordType: Name(trusted: "TimerState"), zone: nil, conditions: [], events: .all))
      }
    return kind.map { Subscription(id: Name(trusted: "simulated"), kind: $0) }
  }

  private func handleReport(_ report: ListenerNode.Report) {
    switch report {
    case .welcomed(let newest): welcomedAt = newest.sequence
    case .pushed(let page):
      let isBacklog = page.since.map { $0.sequence < welcomedAt } ?? true
      take(page)
      if !isBacklog && !page.more && !isWanted(page) {
        fault("was woken by what it did not subscribe to: \(page.changes.map(\.key.name))")
      }
      if page.changes.contains(where: matches) { environment.tally.note(.listenerWoken) }
    case .hinted(let token):
      environment.tally.note(.listenerHinted)
      if cursor != nil { checkHint(token) }
    case .fetched(let page): take(page)
    case .gap(let page):
      fault("was told what follows \(page.since?.text ?? "nothing") and stands elsewhere")
    case .invalid(let reason): fault("cannot understand the relay: \(reason)")
    }
  }

  private func take(_ page: ChangePage) {
    cursor = page.token
    guard watched == .scopeOfNotes else { return }
    if page.since == nil { held = [:] }
    for record in page.changes {
      if !matches(record) { fault("is told of \(record.key), which is outside of its scope") }
      held[record.key] = record.isDeleted ? nil : record
    }
  }

  /// True if the page has a matching change, or if a change in its range matched when it was saved:
  /// it may have been changed again before the page was sent.
  private func isWanted(_ page: ChangePage) -> Bool {
    page.changes.contains(where: matches)
      || ledger.saved(account, after: page.since?.sequence ?? 0, through: page.token)
        .contains(where: matches)
  }

  private func checkHint(_ token: ChangeToken) {
    guard let cursor, token.sequence > welcomedAt else { return }
    let isRight = ledger.saved(account, after: min(cursor.sequence, welcomedAt), through: token)
      .contains(where: matches)
    if !isRight { fault("was hinted at \(token.text), and nothing that it watches had changed") }
  }

  private func matches(_ record: Record) -> Bool {
    switch watched {
    case .zoneOfNotes, .scopeOfNotes: record.zone == NotesApp.zone
    case .deletesOfNotes: record.type == NotesApp.type && record.isDeleted
    case .statesOfTimers: record.type.text == "TimerState"
    }
  }

  /// Description of what is missing; nil if the listener has received all that it watches.
  package var difference: String? {
    let wanted = ledger.newest(account).filter(matches)
    let last = wanted.map(\.tag).max() ?? 0
    guard (cursor?.sequence ?? 0) >= last else {
      return "\(name) stands at \(cursor?.text ?? "nothing"), and \(last) is what it watches"
    }
    guard watched == .scopeOfNotes else { return nil }
    let missing = wanted.first { !$0.isDeleted && held[$0.key]?.plain != $0.plain }
    return missing.map { "\(name) was not told of \($0.key), saved with tag \($0.tag)" }
  }

  private func fault(_ description: String) { environment.fault("\(name): \(description)") }
}
