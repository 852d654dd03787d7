/// A world that is broken on purpose, to prove that the checkers see it. The raw value is the name
/// to type.
package enum Breakage: String, CaseIterable {
  /// The relay answers before its commits are durable, and loses them when it crashes.
  case answersBeforeCommit = "answers-before-commit"
  /// A device forgets what it has not sent when its process dies.
  case losesOutbox = "loses-outbox"
  /// The timer's rule takes what the relay has, whatever it is.
  case takesRemote = "takes-remote"
  /// The relay tells nobody of every fifth commit.
  case missesWakes = "misses-wakes"
  /// The relay leaves deletions out of what it tells.
  case hidesTombstones = "hides-tombstones"
  /// A device does not keep in mind what a restored relay lacks.
  case forgetsLosses = "forgets-losses"

  /// What is wrong, for a person to read.
  package var what: String {
    switch self {
    case .answersBeforeCommit: "the relay says \"saved\" before the save is durable"
    case .losesOutbox: "a device that dies forgets what it has not sent"
    case .takesRemote: "the timer's rule takes what the relay has, whatever it is"
    case .missesWakes: "the relay tells nobody of every fifth save"
    case .hidesTombstones: "the relay leaves deletions out of what it tells"
    case .forgetsLosses: "a device forgets what a restored relay lacks"
    }
  }

  /// The worlds in which it shows.
  package var profile: WorldProfile {
    switch self {
    case .answersBeforeCommit: .crashes.with { $0.kinds = [.crashRelay] }
    case .losesOutbox: .crashes.with { $0.kinds = [.crashDevice, .unplug] }
    case .takesRemote: .partitions
    case .missesWakes: .forgetful
    case .hidesTombstones: .forgetful.with { $0.hasListeners = false }
    case .forgetsLosses: .restored
    }
  }

  /// What the checker that should see it says, or part of it.
  package var words: [String] {
    switch self {
    case .answersBeforeCommit: ["the store lost"]
    case .losesOutbox:
      ["the timer is", "the settings: these", "the timer counts", "neither an entry"]
    case .takesRemote: ["the timer is", "the timer counts"]
    case .missesWakes, .hidesTombstones, .forgetsLosses: ["not in step"]
    }
  }
}

extension WorldProfile {
  fileprivate func with(_ change: (inout WorldProfile) -> Void) -> WorldProfile {
    var profile = self
    change(&profile)
    return profile
  }
}
