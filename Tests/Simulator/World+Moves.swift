import LockstepModel
import LockstepSimulation
import LockstepStorage

/// Move of one account to the other cell, step by step, as the command does it. The process can die
/// before any step; a later run completes the move, or begins it again.
///
///     copy files, freeze → copy files, copy rows → depart → activate → clear
final class Mover {
  enum Step: Int {
    case freeze
    case receive
    case depart
    case activate
    case clear
  }

  enum Outcome {
    case next(Step)
    /// The lease has ended, or the copy was replaced: from the beginning.
    case beginAgain
    case done
  }

  /// Attempts of one process.
  static let attemptsMax = 5
  static let leaseMilliseconds: Int64 = 30_000

  let account: AccountID
  let source: RelayMachine
  let target: RelayMachine
  /// Number of this attempt.
  private var id: UInt64
  private var move: AccountMove?
  /// Copy that is too old: it was made before the account was frozen.
  private var early: WatchedZoneStore.Backup?
  private let copiesBeforeFreeze: Bool
  var attempts = 1

  init(
    _ account: AccountID, from source: RelayMachine, to target: RelayMachine, id: UInt64,
    copiesBeforeFreeze: Bool
  ) {
    self.account = account
    self.source = source
    self.target = target
    self.id = id
    self.copiesBeforeFreeze = copiesBeforeFreeze
    if copiesBeforeFreeze { early = source.store.backUp() }
  }

  /// First step of a process that finds the stores like this; nil if there is nothing to do.
  func firstStep() throws(StorageError) -> Step? {
    switch (try source.store.residence(of: account), try target.store.residence(of: account)) {
    case (.living, .living), (.moving, .living): return nil
    case (.living, _), (.moving, _): return .freeze
    case (.departed(let departure), .arriving(let move, _)) where move == departure.move:
      return .activate
    case (.departed(let departure), .living) where !departure.isCleared: return .clear
    case (.departed, _), (.arriving, _), (.unknown, _): return nil
    }
  }

  func perform(_ step: Step) throws(StorageError) -> Outcome {
    switch step {
    case .freeze: return try freeze()
    case .receive: return try receive()
    case .depart:
      guard let move else { return .beginAgain }
      return try advance(source, .depart(move, relay: target.url), to: .activate)
    case .activate:
      var made = id
      if case .departed(let departure) = try source.store.residence(of: account) {
        made = departure.move
      }
      return try advance(target, .activate(account, move: made), to: .clear)
    case .clear:
      switch try source.commit(.move(.clear(account))) {
      case .removing: return .next(.clear)
      default: return .done
      }
    }
  }

  private func advance(
    _ cell: RelayMachine, _ step: MoveStep, to next: Step
  ) throws(StorageError) -> Outcome {
    try cell.commit(.move(step)) == .done ? .next(next) : .beginAgain
  }

  private func freeze() throws(StorageError) -> Outcome {
    id &+= 1 << 40
    try target.receiveFiles(of: account, from: source)
    let lease = Mover.leaseMilliseconds
    guard
      case .frozen(let version) = try source.commit(.move(.freeze(account, milliseconds: lease)))
    else { return .beginAgain }
    move = AccountMove(id: id, frozen: version)
    return .next(.receive)
  }

  private func receive() throws(StorageError) -> Outcome {
    guard let move else { return .beginAgain }
    try target.receiveFiles(of: account, from: source)
    let refusal = target.store.receive(move, from: source.store, early: early)
    return refusal == nil ? .next(.depart) : .beginAgain
  }
}

// Moves of accounts between the cells.
extension World {
  /// Returns the cell where the account lives; nil while it lives in none.
  func home(of account: AccountID) -> RelayMachine? {
    cells.first { $0.store.isHome(of: account) }
  }

  /// Returns the cell that has the account's records.
  func cell(of account: AccountID) -> RelayMachine {
    home(of: account) ?? cells.first { $0.store.isHome(of: account, orArriving: true) } ?? relay
  }

  /// Checks that the stores hold all that they committed.
  func audit() {
    ledger.audit { [unowned self] in cell(of: $0).store }
  }

  /// Begins to move the account of a device to the other cell. `steps`: after which the mover dies;
  /// nil: it does not. Returns false if the account is being moved already.
  func beginMove(ofDevice device: Int, steps: Int?) -> Bool {
    let account = devices[device].credentials.account
    guard movers[account] == nil, let source = home(of: account),
      let target = cells.first(where: { $0 !== source })
    else { return false }
    moves += 1
    let mover = Mover(
      account, from: source, to: target, id: seed &* 1_000 &+ moves,
      copiesBeforeFreeze: breakage == .copiesBeforeFreeze)
    movers[account] = mover
    run(mover, steps: steps)
    return true
  }

  /// Runs the command. Dies after some steps, and is run again later.
  private func run(_ mover: Mover, steps: Int?) {
    do throws(StorageError) {
      guard let first = try mover.firstStep() else { return end(mover) }
      schedule(first, of: mover, steps: steps)
    } catch {
      runLater(mover)
    }
  }

  private func schedule(_ step: Mover.Step, of mover: Mover, steps: Int?) {
    // Rarely longer than the lease.
    let milliseconds =
      fate.chance(1, of: 20) ? fate.number(in: 25_000...40_000) : fate.number(in: 0...1_500)
    environment.timeline.after(Span.milliseconds(milliseconds)) { [unowned self] in
      if steps == 0 {
        environment.log(from: "mover", to: "", .note("dies before \(step)"))
        return runLater(mover)
      }
      environment.log(from: "mover", to: "", .note("\(mover.account.text): \(step)"))
      do throws(StorageError) {
        advance(mover, after: step, try mover.perform(step), steps: steps.map { $0 - 1 })
      } catch {
        runLater(mover)
      }
    }
  }

  private func advance(
    _ mover: Mover, after step: Mover.Step, _ outcome: Mover.Outcome, steps: Int?
  ) {
    switch outcome {
    case .next(let next):
      if step == .activate { arrived(mover) }
      schedule(next, of: mover, steps: steps)
    case .beginAgain:
      mover.attempts += 1
      if mover.attempts > Mover.attemptsMax { return runLater(mover) }
      run(mover, steps: steps)
    case .done: end(mover)
    }
  }

  private func arrived(_ mover: Mover) {
    environment.tally.note(.accountMoved)
    ledger.recordMove(of: mover.account)
    audit()
  }

  private func runLater(_ mover: Mover) {
    environment.timeline.after(Span.milliseconds(fate.number(in: 1_000...20_000))) {
      [unowned self] in
      mover.attempts = 1
      run(mover, steps: nil)
    }
  }

  private func end(_ mover: Mover) { movers[mover.account] = nil }
}

extension WatchedZoneStore {
  func residence(of account: AccountID) throws(StorageError) -> AccountResidence {
    guard case .residence(let found) = try read(.residence(account)) else { return .unknown }
    return found
  }

  func isHome(of account: AccountID, orArriving: Bool = false) -> Bool {
    do throws(StorageError) {
      switch try residence(of: account) {
      case .living, .moving: return true
      case .arriving: return orArriving
      case .departed, .unknown: return false
      }
    } catch {
      return false
    }
  }
}
