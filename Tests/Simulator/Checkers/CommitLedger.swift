import LockstepModel
import LockstepSealing
import LockstepSimulation
import LockstepStorage

/// Ledger of all commits of the relay's store. Each commit is checked against the earlier ones:
/// tags only grow, a base is honoured, nothing is lost.
package final class CommitLedger {
  unowned let environment: WorldEnvironment
  private var accounts: [AccountID: AccountCommits] = [:]

  fileprivate struct AccountCommits {
    var newest: [RecordKey: Record] = [:]
    /// Keys by zone and name.
    var order: [RecordKey] = []
    var answers: [BatchID: SaveAnswer] = [:]
    /// Virtual time of the first answer to each batch.
    var firstAnswered: [BatchID: Int64] = [:]
    var sequence: Int64 = 0
    /// True if the next tag need not follow the last one.
    var mayPassOver = false
  }

  /// Greatest tag that each account was ever given, also by a store that was put back since.
  private var greatest: [AccountID: ChangeTag] = [:]
  /// Virtual time at which the store was opened last.
  private var openedAt: Int64?
  /// True if an older copy was put back sooner after an opening than the tags tell apart.
  private var hasCloseOpenings = false
  /// All versions that were ever saved, including those that a backup did not have.
  private var everSaved: [AccountID: [ChangeTag: Record]] = [:]
  /// Virtual time at which each version that a device made was first saved.
  private var firstSaved: [AccountID: [Version: Int64]] = [:]
  private struct Version: Hashable {
    var key: RecordKey
    var device: DeviceID
    var modifiedAt: Int64
    var fields: [UInt8]?
  }
  /// Tags that backups did not have when they were restored.
  private var lost: [AccountID: [ClosedRange<ChangeTag>]] = [:]
  /// Devices that were signed out. Soon after that no relay sends them anything, so that they may
  /// hold at most what their accounts had saved by then.
  private var signedOut: [DeviceID: Revocation] = [:]
  private struct Revocation {
    var since: Int64
    /// Newest tag of the account when all relays knew of the sign-out; nil before that.
    var tag: ChangeTag?
  }
  /// Number of restores.
  package private(set) var restores = 0
  /// Virtual time and tag of each save that an account committed.
  private var times: [AccountID: [(at: Int64, tag: ChangeTag)]] = [:]
  /// Shortest time that the relay remembers a batch, in nanoseconds.
  package var batchMemory = Int64.max
  /// True if no fault delays news: a commit soon reaches all devices that are connected.
  package var isPrompt = false
  /// Relay time; nil if clocks are set during the simulation.
  package var relayTime: (() -> Int64)?

  /// View of sealed zones, and the versions in them.
  var lens = SealLens()
  private var sealedVersions: [AccountID: SealedVersions] = [:]

  /// True if several relays share the store.
  private let sharesStore: Bool

  package init(environment: WorldEnvironment, sharesStore: Bool = false) {
    self.environment = environment
    self.sharesStore = sharesStore
  }

  /// Returns the record that was saved with this tag, as devices see it; nil if there is none.
  package func record(_ account: AccountID, tag: ChangeTag) -> Record? {
    everSaved[account]?[tag].flatMap { shown($0, account) }
  }

  /// Returns the records that were saved after a tag, up to a token, in order.
  package func saved(
    _ account: AccountID, after tag: ChangeTag, through token: ChangeToken
  ) -> [Record] {
    guard let records = everSaved[account] else { return [] }
    return records.keys.sorted().filter { $0 > tag && $0 <= token.sequence }
      .compactMap { records[$0] }
  }

  /// Returns the newest tag that the account had this many nanoseconds ago.
  package func sequence(_ account: AccountID, before age: Int64) -> ChangeTag {
    let limit = environment.timeline.now - age
    return times[account]?.last { $0.at <= limit }?.tag ?? 0
  }

  /// Returns the number of versions that were ever saved.
  package func saveCount(_ account: AccountID) -> Int { everSaved[account]?.count ?? 0 }

  package func recordRevocation(_ device: DeviceID, of account: AccountID) {
    guard signedOut[device] == nil else { return }
    environment.countFault(.revoke)
    signedOut[device] = Revocation(since: environment.timeline.now, tag: nil)
    // An answer read before the sign-out may be under way, and another relay may yet have to check.
    let hearing = Span.milliseconds(sharesStore ? 2 * Limits.versionCheckMilliseconds : 0)
    environment.timeline.after(Span.seconds(1) + hearing) { [unowned self] in
      signedOut[device]?.tag = accounts[account]?.sequence ?? 0
    }
  }

  package func isSignedOut(_ device: DeviceID) -> Bool { signedOut[device] != nil }

  /// True if the tag was saved when the device had no access any more.
  package func isForbidden(_ tag: ChangeTag, to device: DeviceID) -> Bool {
    signedOut[device]?.tag.map { tag > $0 } ?? false
  }

  /// All accounts that ever saved.
  package var accountsEver: [AccountID] { everSaved.keys.sorted() }

  /// True if a backup was restored that did not have this tag.
  package func isLost(_ account: AccountID, tag: ChangeTag) -> Bool {
    lost[account]?.contains { $0.contains(tag) } ?? false
  }

  /// Part of the ledger that a backup of the store holds, to be restored with it.
  package struct Snapshot {
    fileprivate var accounts: [AccountID: AccountCommits]
    /// Number of restores before this copy was made.
    package let restores: Int
  }

  package func snapshot() -> Snapshot { Snapshot(accounts: accounts, restores: restores) }

  package func restore(_ snapshot: Snapshot) {
    environment.tally.note(.restore)
    restores += 1
    if let openedAt, environment.timeline.now - openedAt < Span.milliseconds(130) {
      hasCloseOpenings = true
    }
    for (account, book) in accounts.sorted(by: { $0.key < $1.key }) {
      let kept = snapshot.accounts[account]?.sequence ?? 0
      guard kept < book.sequence else { continue }
      let range = kept + 1...book.sequence
      lost[account, default: []].append(range)
      times[account]?.removeAll { range.contains($0.tag) }
      let saves = everSaved[account]?.keys.count { range.contains($0) }
      environment.tally.note(.saveLost, saves ?? 0)
    }
    accounts = snapshot.accounts
    recordOpen()
  }

  /// Registers that the store was opened again: the next tag of an account is any greater one.
  package func recordOpen() {
    openedAt = environment.timeline.now
    for account in accounts.keys.sorted() { accounts[account]?.mayPassOver = true }
  }

  /// Returns the account's current records as devices see them, by zone and name.
  package func newest(_ account: AccountID) -> [Record] {
    let stored = stored(account)
    guard stored.contains(where: { lens.isSealed($0.zone, of: account) }) else { return stored }
    return stored.compactMap { shown($0, account) }.sorted { $0.key < $1.key }
  }

  /// Returns the account's current records as the relay has them, by their zones and names there.
  package func stored(_ account: AccountID) -> [Record] {
    guard let book = accounts[account] else { return [] }
    return book.order.compactMap { book.newest[$0] }
  }

  /// Returns the current record as the relay has it, by its zone and name there.
  func stored(_ account: AccountID, _ key: RecordKey) -> Record? {
    accounts[account]?.newest[key]
  }

  /// Returns the current record as devices see it.
  package func current(_ account: AccountID, _ key: RecordKey) -> Record? {
    stored(account, lens.relayKey(key, of: account)).flatMap { shown($0, account) }
  }

  package func recordCommit(_ save: SaveCommit, _ outcome: SaveOutcome) {
    var book = accounts[save.account] ?? AccountCommits()
    let isRetry = book.answers[save.request.id] != nil && !isForgotten(save, outcome)
    if isRetry && !outcome.changed.isEmpty {
      environment.fault("a retried batch changed the account \(save.account.text) again")
    }
    if !isRetry {
      check(save, outcome, book)
      book.firstAnswered[save.request.id] = environment.timeline.now
    }
    if isRetry, book.answers[save.request.id]?.savedTags != outcome.answer.savedTags {
      environment.fault("a retried batch of \(save.account.text) got another answer")
    }
    book.answers[save.request.id] = outcome.answer
    if !outcome.changed.isEmpty, isSignedOut(save.device) {
      environment.fault("a device that was signed out saved \(outcome.changed.map(\.key.name))")
    }
    for record in outcome.changed {
      let follows = book.sequence == 0 || record.tag == book.sequence + 1
      if !follows && !(book.mayPassOver && record.tag > book.sequence) {
        environment.fault("tag \(record.tag) follows \(book.sequence) in \(save.account.text)")
      }
      checkGrowth(of: record.tag, in: save.account)
      // Devices do not keep the lost versions that a record includes.
      let held = record.plain
      if everSaved[save.account, default: [:]].updateValue(held, forKey: record.tag) != nil {
        environment.fault("tag \(record.tag) was used twice in \(save.account.text)")
      }
      book.mayPassOver = false
      if record.device != save.device {
        environment.fault("the record of tag \(record.tag) does not name the device that saved it")
      }
      if book.newest[record.key] == nil {
        book.order.insert(record.key, at: book.order.lowerBound { $0 < record.key })
      }
      book.newest[record.key] = record
      let version = Version(
        key: record.key, device: record.device, modifiedAt: record.modifiedAt,
        fields: record.fields)
      let now = environment.timeline.now
      if firstSaved[save.account]?[version] == nil {
        firstSaved[save.account, default: [:]][version] = now
      }
      book.sequence = record.tag
      times[save.account, default: []].append((environment.timeline.now, record.tag))
    }
    if outcome.answer.token.sequence < book.sequence {
      environment.fault("the answer's token \(outcome.answer.token.text) is behind what it saved")
    }
    accounts[save.account] = book
  }

  // MARK: sealed zones

  /// Returns the relay's record as devices see it: in a sealed zone one that does not open is none.
  private func shown(_ record: Record, _ account: AccountID) -> Record? {
    guard lens.isSealed(record.zone, of: account) else { return record }
    return sealedVersions[account]?[record.tag]?.record
  }

  /// Registers a record that was saved. Returns the version in it as devices see it, and the tag
  /// under which a device had saved that version before, if one had; nil if they cannot read it.
  func versionSaved(_ record: Record, in account: AccountID)
    -> (version: Record, former: ChangeTag?)?
  {
    guard lens.isSealed(record.zone, of: account) else { return (record, nil) }
    guard let version = lens.opened(record, of: account) else { return nil }
    sealedVersions[account, default: SealedVersions()].add(version)
    let former = sealedVersions[account]?.firstTag(of: version)
    sealedVersions[account]?.addSaved(version)
    return (version.record, former)
  }

  /// Registers a record that the relay itself has made in a sealed zone. Returns the version that
  /// devices see in it, and the tag under which a device had saved that version before; nil if they
  /// cannot read it. Reports a violation if no device had.
  func versionForged(_ record: Record, in account: AccountID) -> (Record, of: ChangeTag)? {
    guard let version = lens.opened(record, of: account) else { return nil }
    sealedVersions[account, default: SealedVersions()].add(version)
    guard let tag = sealedVersions[account]?.firstTag(of: version) else {
      environment.fault("a record opens that no device has sealed (tag \(record.tag))")
      return nil
    }
    return (version.record, tag)
  }

  /// True if a device of the account has saved this version, under whatever tag.
  func wasSaved(_ record: Record, in account: AccountID) -> Bool {
    sealedVersions[account]?.wasSaved(record) ?? false
  }

  /// Returns the live records of sealed zones at the relay that no device can read.
  func unreadable(_ account: AccountID) -> [Record] {
    stored(account).filter { record in
      lens.isSealed(record.zone, of: account) && !record.isDeleted
        && sealedVersions[account]?[record.tag] == nil
    }
  }

  /// Returns what is sealed in the record, with the time and the author that the relay shows; nil
  /// if no device has sealed it under this name.
  func openedAnywhere(_ record: Record, in account: AccountID) -> Record? {
    let sealed = everStored(account, in: record.zone).first {
      $0.fields == record.fields && $0.name == record.name && shown($0, account) != nil
    }
    guard var opened = sealed.flatMap({ shown($0, account) }) else { return nil }
    (opened.modifiedAt, opened.device, opened.tag) = (record.modifiedAt, record.device, record.tag)
    return opened
  }

  /// Returns all records that the relay ever had in the zone, as it had them, by their tags.
  func everStored(_ account: AccountID, in zone: Name) -> [Record] {
    (everSaved[account] ?? [:]).values.filter { $0.zone == zone }.sorted { $0.tag < $1.tag }
  }

  /// Checks that a tag exceeds all that the account was ever given: devices take a smaller one for
  /// an older version. Only a clock that was set may break this.
  private func checkGrowth(of tag: ChangeTag, in account: AccountID) {
    let last = greatest[account] ?? 0
    if tag < last, relayTime != nil, !hasCloseOpenings {
      environment.fault("tag \(tag) of \(account.text) is below \(last), which it had before")
    }
    greatest[account] = max(last, tag)
  }

  /// Returns the mutations that the relay saved once and accepts as new now, after longer than
  /// `batchMemory`. Called before the save is recorded.
  package func forgottenSaves(of save: SaveCommit, _ outcome: SaveOutcome) -> [Mutation] {
    let isKnown = accounts[save.account]?.answers[save.request.id] != nil
    if isKnown && !isForgotten(save, outcome) { return [] }
    return save.request.mutations.filter { mutation in
      let version = Version(
        key: RecordKey(zone: save.request.zone, name: mutation.name), device: save.device,
        modifiedAt: mutation.modifiedAt, fields: mutation.fields)
      guard let first = firstSaved[save.account]?[version] else { return false }
      return environment.timeline.now - first > batchMemory
    }
  }

  /// Returns the mutations that this batch saved once, if it is refused now. Reports a violation if
  /// the relay must still remember the batch.
  package func savesRefusedNow(_ save: SaveCommit) -> [Mutation] {
    guard let book = accounts[save.account], let answer = book.answers[save.request.id],
      let first = book.firstAnswered[save.request.id], save.unlessKnown != nil
    else { return [] }
    if environment.timeline.now - first <= batchMemory, !isSignedOut(save.device) {
      environment.fault("a batch of \(save.account.text) that was saved is turned down")
    }
    return zip(save.request.mutations, answer.results).compactMap { mutation, result in
      if case .saved = result { mutation } else { nil }
    }
  }

  private func isForgotten(_ save: SaveCommit, _ outcome: SaveOutcome) -> Bool {
    guard let book = accounts[save.account], let first = book.firstAnswered[save.request.id],
      environment.timeline.now - first > batchMemory
    else { return false }
    return book.answers[save.request.id]?.savedTags != outcome.answer.savedTags
  }

  /// Checks that a mutation is a conflict if its base is not current, and only then.
  private func check(_ save: SaveCommit, _ outcome: SaveOutcome, _ book: AccountCommits) {
    for (mutation, result) in zip(save.request.mutations, outcome.answer.results) {
      let key = RecordKey(zone: save.request.zone, name: mutation.name)
      let current = book.newest[key]
      let isLive = current.map { !$0.isDeleted } ?? false
      let stands =
        switch mutation.baseTag {
        case nil: true
        case 0?: !isLive
        case let tag?: current?.tag == tag
        }
      switch result {
      case .saved where !stands:
        environment.fault("\(key.name) was saved over \(current?.tag ?? 0), unseen by its device")
      // The store cannot check a deletion whose tombstone it has dropped.
      case .conflict(_, let record)
      where stands && !(record.tag == 0 && !isLive)
        && !(mutation.unlessDeleted && !isLive && record == current):
        environment.fault("\(key.name) was refused though its base stands")
      case .conflict(_, let record) where record.tag > 0 && record != current:
        environment.fault("a conflict of \(key.name) names another record than what stands")
      default: break
      }
    }
  }

  /// Registers that the account lives in another store, with another run: its next tag is any
  /// greater one.
  func recordMove(of account: AccountID) { accounts[account]?.mayPassOver = true }

  /// Checks that the store of each account still holds all that was committed. Called after a
  /// crash, after a move and at the end.
  package func audit(_ store: (AccountID) -> any ZoneReader) {
    for account in accounts.keys.sorted() {
      let store = store(account)
      for record in stored(account) {
        let held: Record?
        do throws(StorageError) {
          guard case .record(let found) = try store.read(.record(account, record.key)) else {
            held = nil
            if !record.isDeleted { reportLost(account, record) }
            continue
          }
          held = found
        } catch {
          environment.fault("the store cannot be read: \(error)")
          return
        }
        if held != record { reportLost(account, record) }
      }
    }
  }

  private func reportLost(_ account: AccountID, _ record: Record) {
    environment.fault(
      "the store lost \(record.key.name) of \(account.text), acknowledged with tag \(record.tag)")
  }
}

extension SaveAnswer {
  /// Tag of each record that was saved.
  fileprivate var savedTags: [ChangeTag] {
    results.compactMap { if case .saved(_, let tag) = $0 { tag } else { nil } }
  }
}
