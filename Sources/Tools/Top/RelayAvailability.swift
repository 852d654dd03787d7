/// Whether the relay answers. Times are this machine's wall clock, milliseconds.
package struct RelayAvailability: Hashable, Sendable {
  /// When it last answered; nil: never.
  package private(set) var answeredAt: Int64?
  /// Since when it does not; nil: it does.
  package private(set) var silentSince: Int64?
  /// Why it is silent.
  package private(set) var reason: String?

  package init() {}

  package mutating func answered(at wall: Int64) {
    self = RelayAvailability()
    answeredAt = wall
  }

  /// It did not answer, or not with metrics.
  package mutating func failed(_ reason: String, at wall: Int64) {
    silentSince = silentSince ?? wall
    self.reason = reason
  }

  package var isSilent: Bool { silentSince != nil }

  /// What a person is told, in one row or, where that has no room, in these. `clock`: how a person
  /// reads a point in time.
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
