import LockstepCommandLine
import LockstepEventLoop
import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepStoragePostgres
import LockstepStorageSQLite

/// Moves one account to another store (`AccountMove`). Relays on databases run on meanwhile.
///
///     1. copy the chunks of files, which never change
///     2. freeze the account in the source
///     3. copy its rows in one transaction: the account is arriving in the target
///     4. let it depart from the source, if it was frozen without a break
///     5. activate it in the target
///     6. remove what is left in the source
///
/// Each step is durable and can be repeated, so the same command completes a move that was
/// interrupted after step 4, and begins again one that was interrupted before.
final class AccountMover {
  struct Outcome: Hashable {
    var account: AccountID
    /// Rows that were copied; none if an earlier run of the command had copied them.
    var totals = StoreTotals()
    /// Chunks with missing or wrong bytes; devices that hold them bring them back.
    var lost: [StoreMove.LostChunk] = []
    /// True if an earlier run of the command had done the rest.
    var isContinued = true
  }

  /// Steps of a move, for tests.
  enum Point: CaseIterable {
    case copiedChunks, frozen, prepared, copiedRows, departed, activated, cleared
  }

  private let from: MoveCell
  private let to: MoveCell
  private let account: AccountID
  /// Address of a relay on the target, as the devices are told it.
  private let relay: String
  /// Marks the account as departed although it lives in both stores.
  private let departsAgain: Bool
  private let progress: Progress
  private let interruption: Interruption
  /// Called when a step is done; may throw.
  private let reach: (Point) throws(CommandFailure) -> Void
  private var outcome: Outcome
  /// The attempt, from its freeze until its departure.
  private var current: AccountMove?
  private var renewedAt = SystemClock.instant()
  /// True if the lease of the attempt was lost.
  private var isLost = false
  /// Files of the source whose chunks were copied.
  private var copied: [ChunkFile] = []
  /// Difference between the numbers of files in both stores. Random, so that no file of this
  /// process is one that another one writes, or removes.
  private let salt = Entropy.secrets.word()

  init(
    _ account: AccountID, from: MoveCell, to: MoveCell, relay: String, departsAgain: Bool = false,
    progress: Progress, interruption: Interruption,
    reach: @escaping (Point) throws(CommandFailure) -> Void = { _ throws(CommandFailure) in }
  ) {
    self.account = account
    self.from = from
    self.to = to
    self.relay = relay
    self.departsAgain = departsAgain
    self.progress = progress
    self.interruption = interruption
    self.reach = reach
    outcome = Outcome(account: account)
  }

  /// Moves the account. After a failure before its departure, it works on in the source.
  func run() throws(CommandFailure) -> Outcome {
    defer { progress.clear() }
    do throws(CommandFailure) {
      return try move()
    } catch {
      giveUp()
      throw error
    }
  }

  /// Does the same without the last part: leaves everything as a killed process does.
  func move() throws(CommandFailure) -> Outcome {
    for _ in 0...Limits.moveAttempts {
      let (here, there) = (try from.residence(of: account), try to.residence(of: account))
      switch (here, there) {
      case (.departed(let departure), _):
        try complete(departure, there)
        return outcome
      case (.living(let version), .living(let other)),
        (.moving(_, let version), .living(let other)),
        (.living(let version), .moving(_, let other)),
        (.moving(_, let version), .moving(_, let other)):
        guard departsAgain else { throw livesInBoth() }
        guard version < other else { throw isOlder() }
        try from.commit(.departAgain(account, relay: relay, move: Entropy.secrets.word()))
      case (.living, .arriving(let move, _)) where departsAgain,
        (.moving, .arriving(let move, _)) where departsAgain:
        try from.commit(.departAgain(account, relay: relay, move: move))
      case (.unknown, .arriving(let move, _)) where departsAgain:
        try to.commit(.activate(account, move: move))
        return outcome
      case (.living, _), (.moving, _):
        if departsAgain {
          throw CommandFailure(
            "the account \(account.text) does not live in \(to.text), so it cannot depart again; "
              + "move it without --repeat-departure")
        }
        try attempt()
      case (.arriving, _):
        throw CommandFailure(
          "\(from.text) has only a copy of the account \(account.text), from a move that has not "
            + "ended; complete that move first, by the command that began it")
      case (.unknown, .living), (.unknown, .moving):
        throw CommandFailure(
          "the account \(account.text) lives in \(to.text) already, and \(from.text) does not know "
            + "it")
      case (.unknown, .arriving):
        throw CommandFailure(
          "\(to.text) has a copy of the account \(account.text) that is not active, and "
            + "\(from.text) does not know the account; to make the copy the account, add "
            + "--repeat-departure")
      case (.unknown, _):
        throw CommandFailure("there is no account \(account.text) in \(from.text)")
      }
    }
    throw CommandFailure(
      "the account \(account.text) could not be frozen long enough, in \(Limits.moveAttempts) "
        + "attempts; it works on in \(from.text). Look for another move of it, then try again")
  }

  private func livesInBoth() -> CommandFailure {
    CommandFailure(
      "the account \(account.text) lives in \(to.text) already. If it was moved there, and "
        + "\(from.text) was restored from an older copy since, add --repeat-departure: the account "
        + "is removed from \(from.text), and its devices are sent to \(relay), where they bring "
        + "back what they hold. Otherwise one of the two accounts has to be removed first")
  }

  private func isOlder() -> CommandFailure {
    CommandFailure(
      "the account \(account.text) in \(from.text) has had as many changes of its devices as that "
        + "in \(to.text), or more: that one may be the older copy. Remove the older one (lockstep "
        + "account remove), and move the account if it is in the wrong store then")
  }

  // MARK: Before the departure

  /// Returns once the account has departed, or if it has to be frozen again.
  private func attempt() throws(CommandFailure) {
    outcome = Outcome(account: account, isContinued: false)
    current = nil
    try copyChunks()
    try reach(.copiedChunks)
    let freeze = MoveStep.freeze(account, milliseconds: Limits.moveLeaseMilliseconds)
    guard case .frozen(let frozen) = try from.perform(freeze) else { return }
    (renewedAt, isLost) = (SystemClock.instant(), false)
    let move = AccountMove(id: Entropy.secrets.word(), frozen: frozen)
    current = move
    try reach(.frozen)
    try prepareTarget(for: move)
    try reach(.prepared)
    guard !isLost, try copyRows(of: move) else { return }
    // A relay that has started since may have removed files that no row named yet.
    try copyChunks()
    try reach(.copiedRows)
    try interruption.check(Self.work)
    progress.show("switching over")
    // If the answer is lost, the account may have departed: from here on nothing is undone.
    current = nil
    let result = Result { () throws(CommandFailure) in
      try from.perform(.depart(move, relay: relay))
    }
    switch result {
    case .success(.done): try reach(.departed)
    case .success: current = move
    // The next attempt waits for a commit whose answer was lost.
    case .failure: _ = try from.residence(of: account)
    }
  }

  private static let work = "the move"

  /// Renews the lease now and then. Returns false if it was lost.
  private func holds(_ move: AccountMove) throws(CommandFailure) -> Bool {
    try interruption.check(Self.work)
    if isLost { return false }
    let now = SystemClock.instant()
    guard now.milliseconds(since: renewedAt) >= Limits.moveLeaseMilliseconds / 6 else {
      return true
    }
    renewedAt = now
    let renewal = MoveStep.renew(move, milliseconds: Limits.moveLeaseMilliseconds)
    isLost = try from.perform(renewal) != .done
    return !isLost
  }

  /// Removes an older copy, and what an earlier departure has left.
  private func prepareTarget(for move: AccountMove) throws(CommandFailure) {
    for step in [MoveStep.abandon(move), .clear(account)] {
      while true {
        let result = try to.perform(step)
        if case .refused = result {
          throw CommandFailure(
            "\(to.text) has a copy of the account \(account.text) from another move, which may "
              + "have more. If \(from.text) was restored from an older copy since that move, add "
              + "--repeat-departure: the copy becomes the account. If that move was given up, "
              + "remove the copy (lockstep account remove), then try again")
        }
        guard case .removing = result else { break }
        guard try holds(move) else { return }
      }
    }
  }

  /// Returns false if the lease was lost.
  private func copyRows(of move: AccountMove) throws(CommandFailure) -> Bool {
    let source = try from.source(AccountSelection(account))
    defer { source.close() }
    outcome.totals = source.totals
    (outcome.lost, self.copied) = ([], [])
    let target = try to.target(move)
    defer { target.close() }
    var copied = StoreTotals()
    while let portion = try from.reading({ () throws(StorageError) in try source.next() }) {
      guard try holds(move) else { return false }
      let rows = try withFiles(portion)
      try to.reading { () throws(StorageError) in try target.insert(rows) }
      copied.add(rows)
      progress.show(
        "\(rows.table.rawValue): \(copied[rows.table]) of \(outcome.totals[rows.table])")
    }
    if let difference = copied.difference(from: source.totals) {
      throw CommandFailure("the account changed while it was read: \(difference)")
    }
    try to.reading { () throws(StorageError) in try target.finish() }
    return true
  }

  // MARK: Chunks of files

  /// Copies the chunks that the target lacks.
  private func copyChunks() throws(CommandFailure) {
    let source = try from.source(AccountSelection(account, tables: [.chunks]))
    defer { source.close() }
    (outcome.lost, copied) = ([], [])
    var count: Int64 = 0
    while let rows = try from.reading({ () throws(StorageError) in try source.next() }) {
      count += Int64(rows.count)
      progress.show("\(rows.table.rawValue): \(count)")
      _ = try withFiles(rows)
    }
  }

  /// Returns the rows as the target gets them. Chunks without valid bytes become doubtful.
  private func withFiles(_ rows: StoreRows) throws(CommandFailure) -> StoreRows {
    guard case .chunks(var chunks) = rows else { return rows }
    let files = ChunkCopy(
      source: from.files, isFolder: from.isFolder, target: to.files, place: to.text)
    for place in chunks.indices {
      if let current, try !holds(current) { return rows }
      try interruption.check(Self.work)
      let chunk = chunks[place]
      chunks[place].stored.file.number ^= salt
      let file = chunks[place].stored.file
      let defect = try to.reading { () throws(StorageError) in
        try files.isThere(file, bytes: chunk.stored.bytes) ? nil : try files.copy(chunk, to: file)
      }
      guard let defect else {
        copied.append(chunk.stored.file)
        continue
      }
      if !chunk.isUnverified {
        outcome.lost.append(StoreMove.LostChunk(chunk: chunk, defect: defect))
      }
      chunks[place].isUnverified = true
    }
    return .chunks(chunks)
  }

  // MARK: After the departure

  private func complete(
    _ departure: Departure, _ there: AccountResidence
  ) throws(CommandFailure) {
    guard departure.relay == relay else {
      throw CommandFailure(
        "the account \(account.text) has moved already, and its devices are sent to "
          + "\(departure.relay); to complete that move, give this address as --relay")
    }
    switch there {
    case .living, .moving: break
    case .arriving(departure.move, _):
      try to.commit(.activate(account, move: departure.move))
    case .arriving, .unknown, .departed:
      throw CommandFailure(
        "the account \(account.text) has moved from \(from.text) to \(departure.relay), and "
          + "\(to.text) is not the store of that relay, or was restored from an older copy")
    }
    try reach(.activated)
    progress.show("removing what is left")
    while try from.perform(.clear(account)) == .removing {}
    for portion in stride(from: 0, to: copied.count, by: Limits.deletedPerCommit) {
      let files = Array(copied[portion...].prefix(Limits.deletedPerCommit))
      _ = try from.reading { () throws(StorageError) in try from.files.perform(.remove(files)) }
    }
    try reach(.cleared)
  }

  /// Lets the account work on in the source, if it is certain that it has not departed.
  private func giveUp() {
    guard let move = current else { return }
    do throws(CommandFailure) {
      _ = try from.perform(.thaw(move))
      while try to.perform(.abandon(move)) == .removing {}
    } catch {
      // The lease ends by itself, and the next move removes the copy.
    }
  }
}

/// One of the two stores of a move, open.
final class MoveCell {
  let text: String
  private let place: StoreLocation
  private let store: RelayStore
  let files: any ChunkStore

  var isFolder: Bool { if case .folder = place { true } else { false } }

  /// Throws if the store does not exist, or is in a folder that a relay has open.
  init(_ place: StoreLocation) throws(CommandFailure) {
    self.place = place
    text = place.text
    if case .folder(let path) = place, !SQLiteZoneStore.exists(in: path) {
      throw CommandFailure("there is no store of a relay in \(path); start its relay once")
    }
    let owner = try StoreOwner.become(ofFolder: MoveCell.folder(place))
    defer { owner?.end() }
    (store, files) = try MoveTarget.reporting {
      () throws(StorageError) -> (RelayStore, any ChunkStore) in
      if case .database(let address) = place { try OldRelays.exclude(from: address) }
      var rules = StoreRules()
      // Only the relay knows how long it keeps history.
      rules.historyMilliseconds = Limits.sequenceLimit
      let store = try RelayStore(place, rules: rules)
      return (store, try store.makeFiles(uploads: Limits.uploads))
    }
  }

  private static func folder(_ place: StoreLocation) -> String? {
    if case .folder(let path) = place { path } else { nil }
  }

  /// Does something in the store, as the owner of its folder.
  func reading<Value>(_ body: () throws(StorageError) -> Value) throws(CommandFailure) -> Value {
    let owner = try StoreOwner.become(ofFolder: MoveCell.folder(place))
    defer { owner?.end() }
    return try MoveTarget.reporting(body)
  }

  func perform(_ step: MoveStep) throws(CommandFailure) -> CommitResult {
    let results = try reading { () throws(StorageError) in
      try store.writer.commit([.move(step)], wall: SystemClock.moment().wall)
    }
    return results[0]
  }

  /// Performs a step that is not refused unless something is wrong.
  func commit(_ step: MoveStep) throws(CommandFailure) {
    guard case .refused(let refusal) = try perform(step) else { return }
    throw CommandFailure("\(text): \(refusal.detail)")
  }

  func residence(of account: AccountID) throws(CommandFailure) -> AccountResidence {
    let result = try reading { () throws(StorageError) in
      try store.writer.read(.residence(account))
    }
    guard case .residence(let residence) = result else { return .unknown }
    return residence
  }

  /// Returns the accounts with this label.
  func accounts(labelled label: String) throws(CommandFailure) -> [AccountID] {
    var found: [AccountID] = []
    var last: AccountID?
    while true {
      let result = try reading { () throws(StorageError) in
        try store.writer.read(.accounts(after: last, limit: Limits.listedAccounts))
      }
      guard case .accounts(let accounts, let more) = result else { return found }
      found += accounts.filter { AccountLabel.areSame($0.label, label) }.map(\.id)
      last = accounts.last?.id
      guard more, last != nil else { return found }
    }
  }

  func source(_ selection: AccountSelection) throws(CommandFailure) -> any StoreSource {
    try reading { () throws(StorageError) -> any StoreSource in
      switch place {
      case .folder(let path):
        return try SQLiteStoreSource(directory: path, retirement: 0, selection: selection)
      case .database(let address):
        return try PostgresStoreSource(address, selection: selection)
      }
    }
  }

  func target(_ move: AccountMove) throws(CommandFailure) -> any AccountTarget {
    try reading { () throws(StorageError) in try store.makeAccountTarget(move) }
  }
}
