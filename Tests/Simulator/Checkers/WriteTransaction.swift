import LockstepModel
import LockstepSimulation
import LockstepStorage

/// All that the relay's store ever committed, written down beside it. Each commit is held against
/// what was committed before: tags only grow, a base is honoured, nothing is lost.
package final class WriteTransaction {
  unowned let outside: WorldOutside
  private var accounts: [AccountID: Book] = [:]

  fileprivate struct Book {
    var newest: [RecordKey: Record] = [:]
    /// By zone and name.
    var order: [RecordKey] = []
    var answers: [BatchID: SaveAnswer] = [:]
    /// By the world's time.
    var firstAnswered: [BatchID: Int64] = [:]
    var sequence: Int64 = 0
    /// The next tag need not follow the last one.
    var mayPassOver = false
  }

  /// All that was ever saved, also what a backup did not have.
  private var everSaved: [AccountID: [ChangeTag: Record]] = [:]
  /// When each version that a device made was first saved, by the world's time.
  private var firstSaved: [AccountID: [Version: Int64]] = [:]
  private struct Version: Hashable {
    var key: RecordKey
    var device: DeviceID
    var modifiedAt: Int64
    var fields: [UInt8]?
  }
  /// The tags that backups did not have when they were put back.
  private var lost: [AccountID: [ClosedRange<ChangeTag>]] = [:]
  /// Devices that were signed out: from a little later on nobody tells them anything, and what
  /// their accounts had saved by then is the last that they may hold.
  private var signedOut: [DeviceID: Fence] = [:]
  private struct Fence {
    var since: Int64
    /// The account's newest tag when all relays had heard of it; nil before.
    var tag: ChangeTag?
  }
  /// How often a copy was put back.
  package private(set) var restores = 0
  /// When each account's saves were committed, by the world's time.
  private var times: [AccountID: [(at: Int64, tag: ChangeTag)]] = [:]
  /// How long the relay remembers a batch at least, in nanoseconds.
  package var batchMemory = Int64.max
  /// Nothing makes news late in this world: what was committed is with all that are connected soon.
  package var isPrompt = false
  /// What time it is at the relay, where no clock of this world is ever set.
  package var relayTime: (() -> Int64)?

  /// Whether several relays share the store.
  private let sharesStore: Bool

  package init(outside: WorldOutside, sharesStore: Bool = false) {
    self.outside = outside
    self.sharesStore = sharesStore
  }

  /// The record that was saved with this tag; nil where none was.
  package func record(_ account: AccountID, tag: ChangeTag) -> Record? {
    everSaved[account]?[tag]
  }

  /// What was saved after a tag, up to a token, in order.
  package func saved(
    _ account: AccountID, after tag: ChangeTag, through token: ChangeToken
  ) -> [Record] {
    guard let records = everSaved[account] else { return [] }
    return records.keys.sorted().filter { $0 > tag && $0 <= token.sequence }
      .compactMap { records[$0] }
  }

  /// The newest tag that the account had so many nanoseconds ago.
  package func sequence(_ account: AccountID, before age: Int64) -> ChangeTag {
    let limit = outside.timeline.now - age
    return times[account]?.last { $0.at <= limit }?.tag ?? 0
  }

  /// Versions that were ever saved.
  package func saveCount(_ account: AccountID) -> Int { everSaved[account]?.count ?? 0 }

  package func revoked(_ device: DeviceID, of account: AccountID) {
    guard signedOut[device] == nil else { return }
    outside.struck(.revoke)
    signedOut[device] = Fence(since: outside.timeline.now, tag: nil)
    // What was read for it before is still on its way, and another relay may have to look for it.
    let hearing = Span.milliseconds(sharesStore ? 2 * Limits.movementMilliseconds : 0)
    outside.timeline.after(Span.seconds(1) + hearing) { [unowned self] in
      signedOut[device]?.tag = accounts[account]?.sequence ?? 0
    }
  }

  package func isSignedOut(_ device: DeviceID) -> Bool { signedOut[device] != nil }

  /// Whether it was saved when the device had no business with it any more.
  package func isForbidden(_ tag: ChangeTag, to device: DeviceID) -> Bool {
    signedOut[device]?.tag.map { tag > $0 } ?? false
  }

  /// All accounts that ever saved.
  package var accountsEver: [AccountID] { everSaved.keys.sorted() }

  /// Whether a backup was put back that did not have this tag.
  package func isLost(_ account: AccountID, tag: ChangeTag) -> Bool {
    lost[account]?.contains { $0.contains(tag) } ?? false
  }

  /// What a backup of the store holds, to be put back with it.
  package struct Page {
    fileprivate var accounts: [AccountID: Book]
    /// How often a copy had been put back when this one was made.
    package let restores: Int
  }

  package func page() -> Page { Page(accounts: accounts, restores: restores) }

  package func restore(_ page: Page) {
    outside.tally.note(.restore)
    restores += 1
    for (account, book) in accounts.sorted(by: { $0.key < $1.key }) {
      let kept = page.accounts[account]?.sequence ?? 0
      guard kept < book.sequence else { continue }
      let range = kept + 1...book.sequence
      lost[account, default: []].append(range)
      times[account]?.removeAll { range.contains($0.tag) }
      let saves = everSaved[account]?.keys.count { range.contains($0) }
      outside.tally.note(.saveLost, saves ?? 0)
    }
    accounts = page.accounts
    beganRun()
  }

  /// The store was opened anew: the next tag of an account is any that is greater.
  package func beganRun() {
    for account in accounts.keys.sorted() { accounts[account]?.mayPassOver = true }
  }

  /// What stands in the account now, by zone and name.
  package func newest(_ account: AccountID) -> [Record] {
    guard let book = accounts[account] else { return [] }
    return book.order.compactMap { book.newest[$0] }
  }

  package func current(_ account: AccountID, _ key: RecordKey) -> Record? {
    accounts[account]?.newest[key]
  }

  package func committed(_ save: SaveCommit, _ outcome: SaveOutcome) {
    var book = accounts[save.account] ?? Book()
    let isRetry = book.answers[save.request.id] != nil && !isForgotten(save, outcome)
    if isRetry && !outcome.changed.isEmpty {
      outside.fault("a retried batch changed the account \(save.account.text) again")
    }
    if !isRetry {
      check(save, outcome, book)
      book.firstAnswered[save.request.id] = outside.timeline.now
    }
    if isRetry, book.answers[save.request.id]?.savedTags != outcome.answer.savedTags {
      outside.fault("a retried batch of \(save.account.text) got another answer")
    }
    book.answers[save.request.id] = outcome.answer
    if !outcome.changed.isEmpty, isSignedOut(save.device) {
      outside.fault("a device that was signed out saved \(outcome.changed.map(\.key.name))")
    }
    for record in outcome.changed {
      let follows = book.sequence == 0 || record.tag == book.sequence + 1
      if !follows && !(book.mayPassOver && record.tag > book.sequence) {
        outside.fault("tag \(record.tag) follows \(book.sequence) in \(save.account.text)")
      }
      if everSaved[save.account, default: [:]].updateValue(record, forKey: record.tag) != nil {
        outside.fault("tag \(record.tag) was used twice in \(save.account.text)")
      }
      book.mayPassOver = false
      if record.device != save.device {
        outside.fault("the record of tag \(record.tag) does not name the device that saved it")
      }
      if book.newest[record.key] == nil {
        book.order.insert(record.key, at: book.order.lowerBound { $0 < record.key })
      }
      book.newest[record.key] = record
      let version = Version(
        key: record.key, device: record.device, modifiedAt: record.modifiedAt,
        fields: record.fields)
      let now = outside.timeline.now
      if firstSaved[save.account]?[version] == nil {
        firstSaved[save.account, default: [:]][version] = now
      }
      book.sequence = record.tag
      times[save.account, default: []].append((outside.timeline.now, record.tag))
    }
    if outcome.answer.token.sequence < book.sequence {
      outside.fault("the answer's token \(outcome.answer.token.text) is behind what it saved")
    }
    accounts[save.account] = book
  }

  /// What the relay saved once, and takes for new now, after a long time: asked before the save is
  /// written down.
  package func forgottenSaves(of save: SaveCommit, _ outcome: SaveOutcome) -> [Mutation] {
    let isKnown = accounts[save.account]?.answers[save.request.id] != nil
    if isKnown && !isForgotten(save, outcome) { return [] }
    return save.request.mutations.filter { mutation in
      let version = Version(
        key: RecordKey(zone: save.request.zone, name: mutation.name), device: save.device,
        modifiedAt: mutation.modifiedAt, fields: mutation.fields)
      guard let first = firstSaved[save.account]?[version] else { return false }
      return outside.timeline.now - first > batchMemory
    }
  }

  /// What was saved by this batch once, where it is turned down now, after a long time.
  package func refusedAnew(_ save: SaveCommit) -> [Mutation] {
    guard let book = accounts[save.account], let answer = book.answers[save.request.id],
      let first = book.firstAnswered[save.request.id], save.unlessKnown != nil
    else { return [] }
    if outside.timeline.now - first <= batchMemory, !isSignedOut(save.device) {
      outside.fault("a batch of \(save.account.text) that was saved is turned down")
    }
    return zip(save.request.mutations, answer.results).compactMap { mutation, result in
      if case .saved = result { mutation } else { nil }
    }
  }

  private func isForgotten(_ save: SaveCommit, _ outcome: SaveOutcome) -> Bool {
    guard let book = accounts[save.account], let first = book.firstAnswered[save.request.id],
      outside.timeline.now - first > batchMemory
    else { return false }
    return book.answers[save.request.id]?.savedTags != outcome.answer.savedTags
  }

  /// A base that is not what stands must be a conflict, and one that is must not.
  private func check(_ save: SaveCommit, _ outcome: SaveOutcome, _ book: Book) {
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
        outside.fault("\(key.name) was saved over \(current?.tag ?? 0), unseen by its device")
      // Of a deletion that is not kept any more the store knows nothing.
      case .conflict(_, let record) where stands && !(record.tag == 0 && !isLive):
        outside.fault("\(key.name) was refused though its base stands")
      case .conflict(_, let record) where record.tag > 0 && record != current:
        outside.fault("a conflict of \(key.name) names another record than what stands")
      default: break
      }
    }
  }

  /// After a crash and in the end: the store still holds all that it committed.
  package func audit(_ store: any ZoneReader) {
    for account in accounts.keys.sorted() {
      for record in newest(account) {
        let held: Record?
        do throws(StorageError) {
          guard case .record(let found) = try store.read(.record(account, record.key)) else {
            held = nil
            if !record.isDeleted { lost(account, record) }
            continue
          }
          held = found
        } catch {
          outside.fault("the store cannot be read: \(error)")
          return
        }
        if held != record { lost(account, record) }
      }
    }
  }

  private func lost(_ account: AccountID, _ record: Record) {
    outside.fault(
      "the store lost \(record.key.name) of \(account.text), acknowledged with tag \(record.tag)")
  }
}

extension SaveAnswer {
  /// The tag of each record that was saved.
  fileprivate var savedTags: [ChangeTag] {
    results.compactMap { if case .saved(_, let tag) = $0 { tag } else { nil } }
  }
}
