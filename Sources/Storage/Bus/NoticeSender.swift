import LockstepModel

/// A commit of a relay that other relays are to be told of.
package struct CommitNotice: Hashable, Sendable {
  package var change: BusPayload.Change
  /// Other relays that listen to the account; nil if that is not known, so that all are told.
  package var listeners: [UInt64]?

  package init(_ change: BusPayload.Change, listeners: [UInt64]?) {
    self.change = change
    self.listeners = listeners
  }
}

/// Changes by a relay's commits, for the other relays.
package struct CommitAnnouncements: Sendable {
  package var notices: [CommitNotice] = []
  /// Accounts among them with registrations for wakes.
  package var sleeping: [AccountID] = []
  /// True if listeners may have been forgotten before: all relays must register again.
  package var mayLackListeners = false

  package init() {}

  package var isEmpty: Bool { notices.isEmpty && !mayLackListeners }
}

/// A text for one relay, or for all.
package struct BusMessage: Hashable, Sendable {
  package enum Receiver: Hashable, Sendable {
    case all
    case relay(UInt64)
  }

  package var receiver: Receiver
  package var text: String

  package init(to receiver: Receiver, _ text: String) {
    self.receiver = receiver
    self.text = text
  }
}

/// The notices of a relay to the other relays of its store: numbers them, and makes their texts.
///
/// A relay is told only of accounts that it listens to. Each relay that listens, or was heard, has
/// a line of its own with its own numbers; `PeerLines` is the other end. A new line begins at the
/// number of all messages so far, so that it is never behind an earlier line to that relay which
/// was dropped.
package struct NoticeSender: Sendable {
  /// Number that identifies this relay's notices.
  private let relay: UInt64
  /// Number of the last notice to all relays.
  private var last: UInt64 = 0
  /// Number of the last notice to each relay.
  private var lines: [UInt64: UInt64] = [:]
  /// Relays with a line, in the order in which the lines began.
  private var order: [UInt64] = []
  /// Number of notices so far, to all or to one.
  private var total: UInt64 = 0

  package init(relay: UInt64) { self.relay = relay }

  /// Begins a line to a relay that was heard, and registers as a listener.
  package mutating func note(_ payload: BusPayload) {
    if payload.relay != relay, case .beat(let beat) = payload.place, beat.isListener {
      beginLine(payload.relay)
    }
  }

  /// Returns the messages of these commits, in order. `tellsAll`: relays of an older version are
  /// there, which do not register as listeners.
  package mutating func messages(
    of notices: [CommitNotice], tellsAll: Bool = false
  ) -> [BusMessage] {
    var all = ChangeList()
    var directed: [UInt64: ChangeList] = [:]
    var receivers: [UInt64] = []
    for notice in notices {
      guard let listeners = notice.listeners, !tellsAll else {
        all.add(notice.change)
        continue
      }
      for listener in listeners where listener != relay {
        if directed[listener] == nil { receivers.append(listener) }
        directed[listener, default: ChangeList()].add(notice.change)
      }
    }
    return texts(toAll: all)
      + receivers.flatMap { texts(to: $0, directed[$0] ?? ChangeList()) }
  }

  /// Leaves out a number of the notices to all relays: each relay then finds a gap, and looks up
  /// all its accounts.
  package mutating func skip() {
    last &+= 1
    total &+= 1
  }

  /// Returns the beat after the notices so far. `isLast`: the relay ends.
  package func beats(isLast: Bool = false) -> [BusMessage] {
    let directed = lines.sorted { $0.key < $1.key }.map {
      BusPayload.Beat.Line(receiver: $0.key, last: $0.value)
    }
    let beat = BusPayload.Beat(last: last, isLast: isLast, directed: directed)
    return BusPayload.texts(of: beat, from: relay).map { BusMessage(to: .all, $0) }
  }

  private mutating func texts(toAll changes: ChangeList) -> [BusMessage] {
    let texts = BusPayload(relay: relay, changes.all).texts(after: last)
    last &+= UInt64(texts.count)
    total &+= UInt64(texts.count)
    return texts.map { BusMessage(to: .all, $0) }
  }

  private mutating func texts(to receiver: UInt64, _ changes: ChangeList) -> [BusMessage] {
    let sent = beginLine(receiver)
    let texts = BusPayload(relay: relay, changes.all).directedTexts(after: sent)
    lines[receiver] = sent &+ UInt64(texts.count)
    total &+= UInt64(texts.count)
    return texts.map { BusMessage(to: .relay(receiver), $0) }
  }

  /// Returns the number of the last notice to a relay.
  @discardableResult
  private mutating func beginLine(_ receiver: UInt64) -> UInt64 {
    if let sent = lines[receiver] { return sent }
    if order.count >= Limits.lines { lines[order.removeFirst()] = nil }
    order.append(receiver)
    lines[receiver] = total
    return total
  }
}

/// Changes of some commits, the newest of each account, in the order of the accounts' first ones.
private struct ChangeList {
  private(set) var all: [BusPayload.Change] = []
  private var indexes: [AccountID: Int] = [:]

  mutating func add(_ change: BusPayload.Change) {
    guard let index = indexes[change.account] else {
      indexes[change.account] = all.count
      all.append(change)
      return
    }
    if let token = change.token { all[index].token = token }
    if change.hasMembershipChange { all[index].hasMembershipChange = true }
  }
}
