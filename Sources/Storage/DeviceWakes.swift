import LockstepCrypto
import LockstepJSON
import LockstepModel

/// The registrations of one device for wakes, and what the relay knows about its sleep. A store
/// keeps it as one row; all decisions are made here, alike for every store.
package struct DeviceWakes: Hashable, Sendable {
  package struct Entry: Hashable, Sendable {
    package var registration: WakeRegistration
    /// Time of the relay's key for which the device subscribed (`WakeKey.madeAt`).
    package var keyMadeAt: Int64
    /// SHA-256 of the code that the device has to send back, or has sent back.
    package var codeHash: [UInt8]?
    package var verifiedAt: Int64?
    /// Last time at which the push service accepted a wake.
    package var sentAt: Int64?
    package var fault: WakeFault?
    /// True if the service reported once that the subscription has ended. If it does so again, the
    /// entry is removed.
    package var isEnding = false
    /// The newest key of the relay of which the device was told (`WakeKey.madeAt`); nil if it knows
    /// none but the one for which it subscribed.
    package var toldKey: Int64?
    /// Earliest time of another push that tells the device of the newest key, and the number of
    /// those that failed.
    package internal(set) var noticeAt: Int64 = 0
    package internal(set) var noticeFailures = 0

    package init(
      _ registration: WakeRegistration, keyMadeAt: Int64, codeHash: [UInt8]?,
      verifiedAt: Int64? = nil
    ) {
      self.registration = registration
      self.keyMadeAt = keyMadeAt
      self.codeHash = codeHash
      self.verifiedAt = verifiedAt
    }

    /// True if wakes are sent to it by a relay that has these keys.
    package func isUsable(at wall: Int64, keys: WakeKeyTimes) -> Bool {
      verifiedAt != nil && !(registration.expiresAt.map { $0 <= wall } ?? false)
        && keys.contains(keyMadeAt)
    }

    /// True if the device has to be told of the relay's newest key, to subscribe for that one.
    fileprivate func lacks(_ newestKey: Int64) -> Bool {
      keyMadeAt < newestKey && (toldKey ?? keyMadeAt) < newestKey
    }

    /// True if the relay has replaced the key so long ago that it does not send under it any more,
    /// and the device cannot see that yet.
    fileprivate func hasEnded(keys: WakeKeyTimes) -> Bool {
      keyMadeAt < keys.oldest && fault != .keyRefused
    }

    /// Records the result of a push to it, unless the service does not know the subscription.
    fileprivate mutating func record(_ result: WakeResult, at wall: Int64) {
      switch result.outcome {
      case .sent:
        isEnding = false
        sentAt = wall
        fault = nil
        if let key = result.toldKey {
          toldKey = key
          (noticeAt, noticeFailures) = (0, 0)
        }
      case .gone: break
      case .failed(let fault, _):
        isEnding = false
        self.fault = fault
      }
    }
  }

  /// At most `Limits.wakesPerDevice`, in the order of their ids.
  package private(set) var entries: [Entry] = []
  package private(set) var progress: WakeProgress

  /// `newest`: the account's newest position. The device is awake, and learns by itself what
  /// happened before.
  package init(newest: WakeMark) { progress = WakeProgress(seen: newest) }

  package var isEmpty: Bool { entries.isEmpty }

  package func entry(_ id: Name) -> Entry? { entries.first { $0.registration.id == id } }

  package var statuses: [WakeStatus] {
    entries.map { entry in
      WakeStatus(
        id: entry.registration.id, verifiedAt: entry.verifiedAt,
        answeredAt: progress.answeredAt, sentAt: entry.sentAt, fault: entry.fault)
    }
  }

  /// Adds or replaces a registration. A verified one whose target is the same stays verified.
  /// Returns nil if there are too many already.
  package mutating func put(
    _ registration: WakeRegistration, keyMadeAt: Int64, codeHash: [UInt8]
  ) -> (isNew: Bool, isVerified: Bool)? {
    guard let index = entries.firstIndex(where: { $0.registration.id == registration.id }) else {
      guard entries.count < Limits.wakesPerDevice else { return nil }
      let place = entries.firstIndex { registration.id < $0.registration.id } ?? entries.count
      entries.insert(
        Entry(registration, keyMadeAt: keyMadeAt, codeHash: codeHash), at: place)
      return (isNew: true, isVerified: false)
    }
    let isSame =
      entries[index].registration.hasSameTarget(as: registration)
      && entries[index].keyMadeAt == keyMadeAt && entries[index].verifiedAt != nil
    if isSame {
      entries[index].registration = registration
    } else {
      entries[index] = Entry(registration, keyMadeAt: keyMadeAt, codeHash: codeHash)
    }
    return (isNew: false, isVerified: isSame)
  }

  /// Returns false if there is none of this id.
  package mutating func remove(_ id: Name) -> Bool {
    guard let index = entries.firstIndex(where: { $0.registration.id == id }) else { return false }
    entries.remove(at: index)
    return true
  }

  /// Returns false if there is none of this id, or its code is another one. The right code may be
  /// sent again.
  package mutating func verify(_ id: Name, codeHash: [UInt8], at wall: Int64) -> Bool {
    guard let index = entries.firstIndex(where: { $0.registration.id == id }),
      entries[index].codeHash == codeHash
    else { return false }
    if entries[index].verifiedAt == nil {
      entries[index].verifiedAt = wall
      entries[index].fault = nil
    }
    return true
  }

  /// Records that the device was in contact with the relay. Returns true if that changed anything.
  package mutating func contact(_ contact: WakeContact, at wall: Int64) -> Bool {
    progress.contact(contact, at: wall)
  }

  /// Begins a wake if one is due, up to `newest`: returns the entries to which it goes. Until it is
  /// finished, or for `Limits.wakeLeaseMilliseconds`, no other relay begins one. Without a change
  /// that is due, only entries are returned whose device has to be told of the newest key.
  package mutating func claim(
    newest: WakeMark, keys: WakeKeyTimes, at wall: Int64
  ) -> (purpose: WakePurpose, entries: [Entry])? {
    if let dueAt = dueAt(newest: newest, keys: keys, at: wall), dueAt <= wall {
      progress.claim(newest: newest, at: wall)
      return (.change, entries.filter { $0.isUsable(at: wall, keys: keys) })
    }
    var claimed: [Entry] = []
    for index in entries.indices {
      guard let dueAt = noticeDueAt(entries[index], keys: keys, at: wall), dueAt <= wall else {
        continue
      }
      entries[index].noticeAt = wall + Limits.wakeLeaseMilliseconds
      claimed.append(entries[index])
    }
    return claimed.isEmpty ? nil : (.newKey, claimed)
  }

  /// Ends a wake for a change. `results`: by the ids of the entries to which it went.
  private mutating func finish(_ results: [WakeResult], at wall: Int64) {
    var isSent = false
    var sentAt: Int64?
    var pause: Int64?
    for result in results {
      guard let index = index(of: result) else { continue }
      entries[index].record(result, at: wall)
      switch result.outcome {
      case .sent:
        isSent = true
        sentAt = [sentAt, result.sentAt].compactMap { $0 }.max()
      case .gone: if !recordGone(index) { pause = Limits.wakeFailurePauses.lowerBound }
      case .failed(_, let retryAfter):
        if let retryAfter {
          pause = max(pause ?? 0, min(retryAfter, Limits.wakePauses.upperBound))
        }
      }
    }
    progress.finish(isSent: isSent, sentAt: sentAt, pause: pause, at: wall)
  }

  /// Ends pushes that told the device of a new key. They are no wakes for a change, so they delay
  /// none: such a registration may be of no use while another one of the device is.
  private mutating func finishNotice(_ results: [WakeResult], at wall: Int64) {
    for result in results {
      guard let index = index(of: result) else { continue }
      entries[index].record(result, at: wall)
      switch result.outcome {
      case .sent: continue
      case .gone where recordGone(index): continue
      case .gone, .failed: break
      }
      entries[index].noticeAt =
        wall + WakeProgress.doubled(Limits.wakeRepeats, entries[index].noticeFailures)
      entries[index].noticeFailures += 1
    }
  }

  /// Records that the push service does not know the subscription. Returns true if it was removed.
  private mutating func recordGone(_ index: Int) -> Bool {
    guard entries[index].isEnding else {
      entries[index].isEnding = true
      return false
    }
    entries.remove(at: index)
    return true
  }

  /// Applies what became of a wake.
  package mutating func apply(_ event: WakeReport.Event, at wall: Int64) {
    switch event {
    case .finished(.change, let results): finish(results, at: wall)
    case .finished(.newKey, let results): finishNotice(results, at: wall)
    case .verification(let result): finishVerification(result)
    case .passed(let newest, let known): progress.pass(newest, since: known)
    case .keysEnded(let keys):
      for index in entries.indices where entries[index].hasEnded(keys: keys) {
        entries[index].fault = .keyRefused
      }
    }
  }

  /// Records the result of the push that carried a code.
  private mutating func finishVerification(_ result: WakeResult) {
    guard let index = index(of: result) else { return }
    switch result.outcome {
    case .sent: entries[index].fault = nil
    case .gone: entries[index].fault = .rejected
    case .failed(let fault, _): entries[index].fault = fault
    }
  }

  /// Time from which on a wake is due if the newest position stays; nil if none will be.
  package func dueAt(newest: WakeMark, keys: WakeKeyTimes, at wall: Int64) -> Int64? {
    guard entries.contains(where: { $0.isUsable(at: wall, keys: keys) }) else { return nil }
    return progress.dueAt(newest: newest).map { Self.plausible($0, at: wall) }
  }

  /// Time from which on a push has to tell the device of the relay's newest key; nil if none has.
  package func noticeDueAt(keys: WakeKeyTimes, at wall: Int64) -> Int64? {
    entries.compactMap { noticeDueAt($0, keys: keys, at: wall) }.min()
  }

  private func noticeDueAt(_ entry: Entry, keys: WakeKeyTimes, at wall: Int64) -> Int64? {
    guard entry.isUsable(at: wall, keys: keys), entry.lacks(keys.newest) else { return nil }
    return Self.plausible(max(entry.noticeAt, progress.earliestAt), at: wall)
  }

  /// A time that is further away than any pause comes from a clock that was set back: due now.
  private static func plausible(_ dueAt: Int64, at wall: Int64) -> Int64 {
    dueAt > wall + Limits.wakePauses.upperBound ? wall : dueAt
  }

  /// True if an entry is for a key under which the relay does not send any more, and the device
  /// cannot see that yet.
  package func hasEndedKey(keys: WakeKeyTimes) -> Bool {
    entries.contains { $0.hasEnded(keys: keys) }
  }

  private func index(of result: WakeResult) -> Int? {
    entries.firstIndex {
      $0.registration.id == result.id && $0.registration.endpoint == result.endpoint
    }
  }
}

/// Position in the account's changes that a contact of a device shows.
@usableFromInline
package struct WakeContact: Hashable, Sendable {
  /// Everything up to here has reached the device, as it has proved itself: it named this position,
  /// or answered after it was sent.
  package var seen: WakeMark?
  /// Everything up to here was sent to it.
  package var told: WakeMark?
  /// Times at which the connection showed the two, in relay time. It may be written long after
  /// another connection has shown more.
  package var seenAt: Int64
  package var toldAt: Int64

  /// `wall`: time of the contact; 0 if it is not known.
  package init(seen: WakeMark? = nil, told: WakeMark? = nil, at wall: Int64 = 0) {
    self.seen = seen
    self.told = told
    seenAt = seen == nil ? 0 : wall
    toldAt = told == nil ? 0 : wall
  }

  /// Adds what a later contact shows.
  package mutating func merge(_ later: WakeContact) {
    if let seen = later.seen { (self.seen, seenAt) = (seen, later.seenAt) }
    if let told = later.told { (self.told, toldAt) = (told, later.toldAt) }
  }
}

/// Result of one push.
package struct WakeResult: Hashable, Sendable {
  package enum Outcome: Hashable, Sendable {
    case sent
    /// The service does not know the subscription any more.
    case gone
    /// `retryAfter`: milliseconds, if the service named a time.
    case failed(WakeFault, retryAfter: Int64?)
  }

  package var id: Name
  /// A result for an earlier registration of this id is not applied to its successor.
  package var endpoint: String
  package var outcome: Outcome
  /// Time of the relay's newest key, if the push told the device of it.
  package var toldKey: Int64?
  /// Time at which the push was sent; nil if it was not.
  package var sentAt: Int64?

  package init(
    id: Name, endpoint: String, outcome: Outcome, toldKey: Int64? = nil, sentAt: Int64? = nil
  ) {
    self.id = id
    self.endpoint = endpoint
    self.outcome = outcome
    self.toldKey = toldKey
    self.sentAt = sentAt
  }
}

/// The rule of one unanswered wake for a device.
///
/// A change that was neither sent to the device nor announced makes a wake due,
/// `Limits.wakeDelayMilliseconds` after the device's last contact, unless a wake is unanswered. Any
/// contact answers it. What was announced, or sent, without a proof that it has arrived is
/// announced again after `Limits.wakeRepeats.lowerBound`, doubling up to the upper bound: the
/// device may have died while it was received. If everything was sent, that is done
/// `Limits.wakeRepeatsMax` times at most.
package struct WakeProgress: Hashable, Sendable {
  package internal(set) var seen: WakeMark?
  package internal(set) var told: WakeMark?
  /// Times at which the device showed them; 0 if they are not known.
  package internal(set) var seenAt: Int64 = 0
  package internal(set) var toldAt: Int64 = 0
  /// Position that the last wake announced, or the one that was begun; nil if the last one failed.
  package internal(set) var announced: WakeMark?
  /// Time at which the present wake was begun, until its end or a contact; nil if there is none.
  package internal(set) var claimedAt: Int64?
  /// Time of the wake that is not answered; nil if there is none.
  package internal(set) var unansweredSince: Int64?
  /// Last time at which a wake was answered.
  package internal(set) var answeredAt: Int64?
  /// Wakes that were sent, and attempts to send one that failed, since the device last proved
  /// something new, or since the last one that was sent.
  package internal(set) var wakes = 0
  package internal(set) var failures = 0
  /// Earliest time of a wake for something new, of a repeated one, and of any.
  package internal(set) var freshAt: Int64 = 0
  package internal(set) var repeatAt: Int64 = 0
  package internal(set) var heldUntil: Int64 = 0

  init(seen: WakeMark?) { self.seen = seen }

  /// Returns true if anything changed but times.
  mutating func contact(_ contact: WakeContact, at wall: Int64) -> Bool {
    var isChanged = false
    if unansweredSince != nil {
      unansweredSince = nil
      answeredAt = wall
      isChanged = true
    }
    if claimedAt != nil {
      // A push that is under way is answered before its result is reported.
      claimedAt = nil
      isChanged = true
    }
    let known = (seen, told)
    if let position = contact.seen, !isLater(seenAt, than: contact.seenAt, at: wall) {
      (seen, seenAt) = (position, contact.seenAt)
    }
    if let position = contact.told, !isLater(toldAt, than: contact.toldAt, at: wall) {
      (told, toldAt) = (position, contact.toldAt)
    }
    if known != (seen, told) {
      wakes = 0
      isChanged = true
    }
    freshAt = wall + Limits.wakeDelayMilliseconds
    if isChanged { repeatAt = wall + WakeProgress.pause(after: wakes) }
    return isChanged
  }

  /// True if a position was shown after another one. A time in the future is that of a clock that
  /// was set back since.
  private func isLater(_ known: Int64, than other: Int64, at wall: Int64) -> Bool {
    other < known && known <= wall
  }

  /// Time from which on a wake is due if the newest position stays; nil if none will be.
  func dueAt(newest: WakeMark) -> Int64? {
    guard newest.isAfter(seen) else { return nil }
    let isTold = !newest.isAfter(told)
    if isTold, wakes >= Limits.wakeRepeatsMax { return nil }
    let isFresh = !isTold && newest.isAfter(announced) && unansweredSince == nil
    return max(isFresh ? freshAt : repeatAt, heldUntil)
  }

  /// Earliest time of a push that tells the device of something else than a change.
  var earliestAt: Int64 { max(unansweredSince == nil ? freshAt : repeatAt, heldUntil) }

  /// True if something was sent to the device of which it has not proved that it has it.
  var isTold: Bool { told?.isAfter(seen) ?? false }

  /// Position after which the changes are that make a wake due.
  func known(newest: WakeMark) -> WakeMark? {
    isTold && newest.isAfter(told) ? told : seen
  }

  /// Records that none of the changes after `known` up to `newest` concerns the device. Does
  /// nothing if the device's position has changed since they were read.
  mutating func pass(_ newest: WakeMark, since known: WakeMark) {
    if seen == known { seen = newest } else if told == known { told = newest }
  }

  mutating func claim(newest: WakeMark, at wall: Int64) {
    announced = newest
    claimedAt = wall
    heldUntil = wall + Limits.wakeLeaseMilliseconds
    // Repeated then, if the relay does not get to `finish`.
    repeatAt = heldUntil
  }

  /// `sentAt`: time at which the last push was sent, if known. `pause`: milliseconds until another
  /// attempt that a push service wants, if nothing was sent.
  mutating func finish(isSent: Bool, sentAt: Int64?, pause: Int64?, at wall: Int64) {
    if isSent {
      // Without `claimedAt`, the device was in contact meanwhile: that has answered the wake,
      // unless it was before the push.
      let lastContact = freshAt - Limits.wakeDelayMilliseconds
      let isUnanswered = claimedAt != nil || sentAt.map { $0 > lastContact } ?? false
      if isUnanswered { unansweredSince = wall }
      repeatAt = wall + WakeProgress.pause(after: wakes)
      wakes += 1
      failures = 0
      heldUntil = 0
    } else {
      announced = nil
      heldUntil = wall + (pause ?? WakeProgress.doubled(Limits.wakeFailurePauses, failures))
      repeatAt = heldUntil
      failures += 1
    }
    claimedAt = nil
  }

  /// Milliseconds after a number of wakes.
  private static func pause(after wakes: Int) -> Int64 { doubled(Limits.wakeRepeats, wakes) }

  static func doubled(_ limits: ClosedRange<Int64>, _ count: Int) -> Int64 {
    min(limits.lowerBound << Int64(min(max(count, 0), 16)), limits.upperBound)
  }
}

/// Stored form, the same in every store: JSON, in exactly this form, without members that are nil,
/// 0 or false.
///
///     {"entries":[{"id":"…","endpoint":"…","p256dh":"…","auth":"…","expires":1,"key":1,
///     "code":"…","verified":1,"sent":1,"fault":"…","ending":true,"toldKey":1,"noticeAt":1,
///     "noticeFailures":1,"title":"…","navigate":"…"}],"seen":[1,2],"told":[1,2],
///     "announced":[1,2],"claimed":1,"unanswered":1,"answered":1,"wakes":1,"failures":1,
///     "fresh":1,"repeat":1,"held":1,"seenAt":1,"toldAt":1}
///
/// Bytes are in Base64 for URLs.
extension DeviceWakes {
  package var storedText: String {
    JSONValue(storing: [
      ("entries", .array(entries.map(\.stored))), ("seen", progress.seen?.stored),
      ("told", progress.told?.stored), ("announced", progress.announced?.stored),
      ("claimed", JSONValue.time(progress.claimedAt)),
      ("unanswered", JSONValue.time(progress.unansweredSince)),
      ("answered", JSONValue.time(progress.answeredAt)),
      ("wakes", JSONValue.count(Int64(progress.wakes))),
      ("failures", JSONValue.count(Int64(progress.failures))),
      ("fresh", JSONValue.count(progress.freshAt)),
      ("repeat", JSONValue.count(progress.repeatAt)),
      ("held", JSONValue.count(progress.heldUntil)),
      ("seenAt", JSONValue.count(progress.seenAt)), ("toldAt", JSONValue.count(progress.toldAt)),
    ]).text
  }

  /// Returns nil if the text was not made by `storedText`: the store is damaged.
  package init?(storedText: String) {
    guard let form = JSONValue(ifJSON: Array(storedText.utf8)), let stored = form["entries"]?.array,
      let seen = WakeMark.read(form["seen"]), let told = WakeMark.read(form["told"]),
      let announced = WakeMark.read(form["announced"])
    else { return nil }
    let entries = stored.compactMap { Entry(stored: $0) }
    guard entries.count == stored.count else { return nil }
    var numbers = StoredNumbers(of: form)
    var progress = WakeProgress(seen: seen)
    progress.told = told
    progress.announced = announced
    progress.claimedAt = numbers.number("claimed")
    progress.unansweredSince = numbers.number("unanswered")
    progress.answeredAt = numbers.number("answered")
    progress.wakes = numbers.count("wakes")
    progress.failures = numbers.count("failures")
    progress.freshAt = numbers.number("fresh") ?? 0
    progress.repeatAt = numbers.number("repeat") ?? 0
    progress.heldUntil = numbers.number("held") ?? 0
    progress.seenAt = numbers.number("seenAt") ?? 0
    progress.toldAt = numbers.number("toldAt") ?? 0
    guard numbers.areValid else { return nil }
    self.entries = entries
    self.progress = progress
  }
}

extension DeviceWakes.Entry {
  fileprivate var stored: JSONValue {
    JSONValue(storing: [
      ("id", .string(registration.id.text)), ("endpoint", .string(registration.endpoint)),
      ("p256dh", .string(Base64.encodeURL(registration.p256dh))),
      ("auth", .string(Base64.encodeURL(registration.auth))),
      ("expires", JSONValue.time(registration.expiresAt)), ("key", JSONValue.time(keyMadeAt)),
      ("code", codeHash.map { .string(Base64.encodeURL($0)) }),
      ("verified", JSONValue.time(verifiedAt)), ("sent", JSONValue.time(sentAt)),
      ("fault", fault.map { .string($0.rawValue) }), ("ending", isEnding ? .bool(true) : nil),
      ("toldKey", JSONValue.time(toldKey)), ("noticeAt", JSONValue.count(noticeAt)),
      ("noticeFailures", JSONValue.count(Int64(noticeFailures))),
      ("title", registration.notice.map { .string($0.title) }),
      ("navigate", registration.notice.map { .string($0.navigate) }),
    ])
  }

  fileprivate init?(stored form: JSONValue) {
    guard let id = form["id"]?.string.flatMap({ Name($0) }),
      let endpoint = form["endpoint"]?.string,
      let p256dh = form["p256dh"]?.string.flatMap({ Base64.decodeURL($0) }),
      let auth = form["auth"]?.string.flatMap({ Base64.decodeURL($0) }),
      let key = form["key"]?.int64
    else { return nil }
    var hash: [UInt8]?
    if let text = form["code"]?.string {
      guard let bytes = Base64.decodeURL(text) else { return nil }
      hash = bytes
    }
    var notice: WakeNotice?
    if let title = form["title"]?.string, let navigate = form["navigate"]?.string {
      notice = WakeNotice(title: title, navigate: navigate)
    }
    var numbers = StoredNumbers(of: form)
    self.init(
      WakeRegistration(
        id: id, endpoint: endpoint, p256dh: p256dh, auth: auth,
        expiresAt: numbers.number("expires"), notice: notice),
      keyMadeAt: key, codeHash: hash, verifiedAt: numbers.number("verified"))
    sentAt = numbers.number("sent")
    toldKey = numbers.number("toldKey")
    noticeAt = numbers.number("noticeAt") ?? 0
    noticeFailures = numbers.count("noticeFailures")
    guard numbers.areValid else { return nil }
    // A later version of the program may know more.
    fault = form["fault"]?.string.flatMap { WakeFault(rawValue: $0) }
    isEnding = form["ending"]?.bool ?? false
  }
}

extension WakeMark {
  fileprivate var stored: JSONValue {
    .array([.number(JSONNumber(Int64(generation))), .number(JSONNumber(sequence))])
  }

  /// Returns nil if the value is not a position; `.some(nil)` if there is none.
  fileprivate static func read(_ value: JSONValue?) -> WakeMark?? {
    guard let value else { return .some(nil) }
    guard let parts = value.array, parts.count == 2,
      let generation = parts[0].int64.flatMap({ UInt32(exactly: $0) }),
      let sequence = parts[1].int64, sequence >= 0
    else { return nil }
    return .some(WakeMark(generation: generation, sequence: sequence))
  }
}

/// Whole numbers among the members of a stored object.
private struct StoredNumbers {
  private let form: JSONValue
  /// False if a member that was read is something else.
  private(set) var areValid = true

  init(of form: JSONValue) { self.form = form }

  mutating func number(_ name: String) -> Int64? {
    guard let value = form[name] else { return nil }
    if value.int64 == nil { areValid = false }
    return value.int64
  }

  mutating func count(_ name: String) -> Int {
    let number = number(name) ?? 0
    if !(0...Int64(Int32.max)).contains(number) { areValid = false }
    return Int(clamping: number)
  }
}

extension JSONValue {
  /// Makes an object of the members that are not nil.
  fileprivate init(storing members: [(name: String, value: JSONValue?)]) {
    self = .object(members.compactMap { name, value in value.map { JSONMember(name, $0) } })
  }

  fileprivate static func time(_ wall: Int64?) -> JSONValue? {
    wall.map { .number(JSONNumber($0)) }
  }

  fileprivate static func count(_ count: Int64) -> JSONValue? {
    count == 0 ? nil : .number(JSONNumber(count))
  }
}
