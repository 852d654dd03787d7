/// Availability of the relay. Times are this machine's wall clock, milliseconds.
package struct RelayAvailability: Hashable, Sendable {
  /// Time of the last answer; nil: never.
  package private(set) var answeredAt: Int64?
  /// Time since which it does not answer; nil: it answers.
  package private(set) var silentSince: Int64?
  /// Reason for the missing answer.
  package private(set) var reason: String?

  package init() {}

  package mutating func answered(at wall: Int64) {
    self = RelayAvailability()
    answeredAt = wall
  }

  /// Records that the relay did not answer, or not with metrics.
  package mutating func failed(_ reason: String, at wall: Int64) {
    silentSince = silentSince ?? wall
    self.reason = reason
  }

  package var isSilent: Bool { silentSince != nil }

  /// Returns text for a person: one row if it fits, otherwise these rows. `clock`: formats a time.
  package func words(_ clock: (Int64) -> String) -> [String] {
    switch (silentSince, answeredAt) {
    case (let since?, let answered?):
      ["No answer since " + clock(since), "figures are of " + clock(answered)]
    case (let since?, nil): ["No answer since " + clock(since)]
    case (nil, let answered?): ["Live " + clock(answered)]
    case (nil, nil): ["Asking the relay …"]
    }
  }
}
