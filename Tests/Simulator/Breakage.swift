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
  case widensScopes = "widens-scopes"
  case copiesBeforeFreeze = "copies-before-freeze"
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
  // Bugs in the rules of a table.
  case dropsCandidates = "drops-candidates"
  case forgetsTableBase = "forgets-table-base"
  case dropsStamps = "drops-stamps"
  // Bugs of the vault.
  case takesPlainForSealed = "takes-plain-for-sealed"
  // Bugs of a device with a sealed zone.
  case takesPlainInSealedZones = "takes-plain-in-sealed-zones"
  case ignoresAssociatedData = "ignores-associated-data"
  case takesFormerVersions = "takes-former-versions"
  // Bugs of a device that makes or gets new keys.
  case keepsFormerKey = "keeps-former-key"
  case givesKeysToRemoved = "gives-keys-to-removed"

  /// Description of the bug, for reports.
  package var what: String {
    switch self {
    case .answersBeforeCommit: "the relay answers \"saved\" before the save is durable"
    case .tellsBeforeCommit: "the relay notifies other devices of a save that may still fail"
    case .reusesTags: "a relay restored from a backup assigns tags again"
    case .trustsRolledBackTokens:
      "a relay whose store was rolled back accepts tokens of lost changes"
    case .forgetsBatches: "the relay does not recognise a repeated batch"
    case .dropsTombstones: "the relay drops tombstones after 3 s without expiring tokens"
    case .hidesTombstones: "the relay omits deletions from pages"
    case .missesWakes: "the relay sends no notification of every fifth save"
    case .leaksAccounts: "the relay sends a device a record of another account"
    case .servesRevoked: "the relay still serves a revoked device"
    case .keepsCodesOfTheRevoked:
      "a pairing code is accepted after the device that created it was revoked"
    case .widensScopes: "a device that was paired for one zone is told of all"
    case .copiesBeforeFreeze: "an account is moved in a copy from before it was frozen"
    case .losesOutbox: "a device that crashes loses its outbox"
    case .forgetsLosses: "a device does not record what a restored relay lacks"
    case .movesCursorFirst: "a device stores the cursor before the records"
    case .trustsDeviceClock: "a device stamps its edits with its own clock"
    case .tellsTwice: "a device reports every fifth change to the screen twice"
    case .saysInSyncEarly: "a device reports that it is in sync while it sends"
    case .takesRemote: "the timer's merge rule always takes the relay's version"
    case .timeUndoesActs: "the end of a countdown counts as a newer edit"
    case .skipsAncestor: "merge rules do not get the common base version"
    case .deletesWin: "a memo's deletion wins over a concurrent change"
    case .dropsCopies: "the older of two texts or files is not kept as a copy"
    case .neverAsks: "the newer of two habits is taken without a user's decision"
    case .addsCounts: "counts of both sides are added up"
    case .trimsUnread: "a device trims items before it is caught up"
    case .dropsCandidates: "of concurrent values of a least, greatest, or, and, one is kept"
    case .forgetsTableBase: "the rules of a table do not get the common base version"
    case .dropsStamps: "the fields of a table are judged by the stamps of the records"
    case .takesPlainForSealed: "a device accepts a plain record for a sealed file"
    case .takesPlainInSealedZones: "a device accepts plain records in a sealed zone"
    case .ignoresAssociatedData:
      "a device accepts a sealed record with another time or author than it was sealed with"
    case .takesFormerVersions: "a device accepts a former version that a hostile relay repeats"
    case .keepsFormerKey: "a device that has new keys of the account seals with the former one"
    case .givesKeysToRemoved: "a device is removed, and gets the new keys all the same"
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
    case .widensScopes:
      .quiet.with { profile in
        profile.accounts = 4...4
        profile.hasListeners = true
      }
    case .copiesBeforeFreeze: .moved.with { $0.kinds = [.moveAccount, .unplug] }
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
    case .dropsCandidates, .forgetsTableBase, .dropsStamps: .tables
    case .takesPlainForSealed: .strangers
    case .takesPlainInSealedZones, .ignoresAssociatedData, .takesFormerVersions: .hostile
    case .keepsFormerKey, .givesKeysToRemoved: .rotated
    }
  }

  /// Parts of the message of the checker that must detect the bug; one of them is enough.
  package var words: [String] {
    switch self {
    case .answersBeforeCommit, .copiesBeforeFreeze: ["the store lost"]
    case .tellsBeforeCommit, .leaksAccounts: ["is not what the relay saved with tag"]
    case .reusesTags: ["was used twice"]
    case .trustsRolledBackTokens: ["was used twice", "not in step"]
    case .forgetsBatches: ["a retried batch"]
    case .dropsTombstones, .hidesTombstones, .missesWakes, .forgetsLosses, .movesCursorFirst:
      ["not in step"]
    case .servesRevoked: ["was signed out"]
    case .widensScopes: ["outside of its scope"]
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
    case .dropsCandidates, .forgetsTableBase, .dropsStamps: ["of Tables has"]
    case .takesPlainForSealed: ["takes what nobody with the key wrote"]
    case .takesPlainInSealedZones: ["which no user has written there"]
    case .ignoresAssociatedData: ["is no version that a device has saved"]
    case .takesFormerVersions: ["made without knowledge of what it held"]
    case .keepsFormerKey: ["seals with a former key"]
    case .givesKeysToRemoved: ["was removed, and knows"]
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
