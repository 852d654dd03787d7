/// A bug that is injected on purpose, to prove that the checkers detect it. The raw value is its
/// name on the command line.
package enum Breakage: String, CaseIterable {
  // Bugs of the relay.
  case answersBeforeCommit = "answers-before-commit"
  case tellsBeforeCommit = "tells-before-commit"
  case reusesTags = "reuses-tags"
  case trustsRolledBackTokens = "trusts-rolled-back-tokens"
  case forgetsBatches = "forgets-batches"
  case dropsTombstones = "drops-tombstones"
  case hidesTombstones = "hides-tombstones"
  case missesWakes = "misses-wakes"
  case leaksAccounts = "leaks-accounts"
  case servesRevoked = "serves-revoked"
  case keepsCodesOfTheRevoked = "keeps-codes-of-the-revoked"
  // Bugs of a device.
  case losesOutbox = "loses-outbox"
  case forgetsLosses = "forgets-losses"
  case movesCursorFirst = "moves-cursor-first"
  case trustsDeviceClock = "trusts-device-clock"
  case tellsTwice = "tells-twice"
  case saysInSyncEarly = "says-in-sync-early"
  // Bugs in an app's merge rule.
  case takesRemote = "takes-remote"
  case timeUndoesActs = "time-undoes-acts"
  case skipsAncestor = "skips-ancestor"
  case deletesWin = "deletes-win"
  case dropsCopies = "drops-copies"
  case neverAsks = "never-asks"
  case addsCounts = "adds-counts"
  case trimsUnread = "trims-unread"
  // Bugs of the vault.
  case takesPlainForSealed = "takes-plain-for-sealed"

  /// Description of the bug, for reports.
  package var what: String {
    switch self {
    case .answersBeforeCommit: "the relay says \"saved\" before the save is durable"
    case .tellsBeforeCommit: "the relay tells the others of a save that may yet fail"
    case .reusesTags: "a relay that is put back from a backup gives tags out again"
    case .trustsRolledBackTokens:
      "a relay whose store went back as a whole takes tokens of what it lost for its own"
    case .forgetsBatches: "the relay does not know a batch again that it has had already"
    case .dropsTombstones: "the relay forgets deletions after 3 s, and tells nobody"
    case .hidesTombstones: "the relay leaves deletions out of what it tells"
    case .missesWakes: "the relay tells nobody of every fifth save"
    case .leaksAccounts: "the relay tells a device of another account's record"
    case .servesRevoked: "the relay goes on to serve a device that was signed out"
    case .keepsCodesOfTheRevoked:
      "a pairing code that a device made lets in after the device was signed out"
    case .losesOutbox: "a device that dies forgets what it has not sent"
    case .forgetsLosses: "a device forgets what a restored relay lacks"
    case .movesCursorFirst: "a device moves its cursor before it has the records"
    case .trustsDeviceClock: "a device stamps its edits with its own clock"
    case .tellsTwice: "a device tells the screen twice of every fifth change"
    case .saysInSyncEarly: "a device says that it is in sync while it sends"
    case .takesRemote: "the timer's rule takes what the relay has, whatever it is"
    case .timeUndoesActs: "a countdown that ends counts as an edit of its own, and as newer"
    case .skipsAncestor: "rules are not told which version both sides were made on"
    case .deletesWin: "a memo's deletion wins over a change"
    case .dropsCopies: "of two texts or files the older is not kept"
    case .neverAsks: "of two habits the newer is taken, and nobody is asked"
    case .addsCounts: "counts of both sides are added up"
    case .trimsUnread: "a device lets go of items without knowing what others did"
    case .takesPlainForSealed: "a device takes a record in the clear for the sealed file"
    }
  }

  /// Profile of the simulations that expose the bug.
  package var profile: WorldProfile {
    switch self {
    case .answersBeforeCommit: .crashes.with { $0.kinds = [.crashRelay] }
    case .tellsBeforeCommit: .crashes.with { $0.kinds = [.failStore] }
    case .reusesTags, .forgetsLosses: .restored
    case .trustsRolledBackTokens: .rolledBack
    case .forgetsBatches:
      .crashes.with { profile in
        profile.kinds = [.crashRelay, .cut]
        profile.faults = 12...24
      }
    case .dropsTombstones:
      .partitions.with { profile in
        profile.kinds = [.unplug]
        profile.notes = 12
        profile.span = 20_000...60_000
      }
    case .hidesTombstones: .forgetful.with { $0.hasListeners = false }
    case .missesWakes: .forgetful
    case .leaksAccounts: .quiet.with { $0.accounts = 2...2 }
    case .servesRevoked, .keepsCodesOfTheRevoked:
      .partitions.with { $0.kinds = [.revoke, .unplug] }
    case .losesOutbox: .crashes.with { $0.kinds = [.crashDevice, .unplug] }
    case .movesCursorFirst: .crashes.with { $0.kinds = [.failReplica] }
    case .trustsDeviceClock: .clockJumps.with { $0.kinds = [.unplug] }
    case .tellsTwice, .saysInSyncEarly, .takesRemote, .skipsAncestor: .partitions
    case .timeUndoesActs: .away
    case .deletesWin: .together(.memos)
    case .dropsCopies: .together(.memos, .vault)
    case .neverAsks, .addsCounts: .together(.habits)
    case .trimsUnread:
      .together(.clipboard).with { profile in
        profile.span = 60_000...90_000
        profile.faults = 6...10
      }
    case .takesPlainForSealed: .strangers
    }
  }

  /// Parts of the message of the checker that must detect the bug; one of them is enough.
  package var words: [String] {
    switch self {
    case .answersBeforeCommit: ["the store lost"]
    case .tellsBeforeCommit, .leaksAccounts: ["is not what the relay saved with tag"]
    case .reusesTags: ["was used twice"]
    case .trustsRolledBackTokens: ["was used twice", "not in step"]
    case .forgetsBatches: ["a retried batch"]
    case .dropsTombstones, .hidesTombstones, .missesWakes, .forgetsLosses, .movesCursorFirst:
      ["not in step"]
    case .servesRevoked: ["was signed out"]
    case .keepsCodesOfTheRevoked: ["by a code that was made before"]
    case .losesOutbox: ["the timer is", "the timer counts", "the settings: these"]
    case .trustsDeviceClock: ["was stamped"]
    case .tellsTwice: ["is told twice"]
    case .saysInSyncEarly: ["says in sync while"]
    case .timeUndoesActs: ["the timer is"]
    case .takesRemote, .skipsAncestor:
      ["the timer is", "the timer counts", "the settings: these"]
    case .deletesWin, .dropsCopies: ["has lost"]
    case .neverAsks: ["by nobody's choice", "of Habits is"]
    case .addsCounts: ["of Habits counts"]
    case .trimsUnread: ["lets go of"]
    case .takesPlainForSealed: ["takes what nobody with the key wrote"]
    }
  }
}

extension WorldProfile {
  fileprivate func with(_ change: (inout WorldProfile) -> Void) -> WorldProfile {
    var profile = self
    change(&profile)
    return profile
  }

  /// Several devices go offline and come back, and all use the same apps.
  fileprivate static func together(_ apps: PlayedApp...) -> WorldProfile {
    .apps.with { profile in
      profile.kinds = [.unplug, .switchOff]
      profile.apps = apps
      profile.notes = 0
      if apps != [.clipboard] { profile.clipboardItems = 0 }
    }
  }
}
