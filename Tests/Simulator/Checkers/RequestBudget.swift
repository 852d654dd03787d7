import LockstepModel

/// How often a device may ask the relay for something: HTTP requests, and messages on a socket.
package struct RequestBudget {
  /// For how long its processes ran.
  package var milliseconds: Int64
  /// Versions that the account's devices saved.
  package var saves: Int
  /// Faults that struck anybody.
  package var strikes: Int

  package init(milliseconds: Int64, saves: Int, strikes: Int) {
    self.milliseconds = milliseconds
    self.saves = saves
    self.strikes = strikes
  }

  /// A minute: two polls, and a measurement of the clock now and then. Nobody in rest may ask more.
  package static let perMinute = 4
  /// A version that somebody saves: the save itself, or on the last rungs the poll that told of it,
  /// a fetch of what a hint did not tell, and the next poll.
  package static let perSave = 3
  /// A fault that strikes: a device finds the relay again by each of four transports, twice, at
  /// most, and reads on from where it was; the wait from one try to the next doubles.
  package static let perStrike = 30
  /// Coming at first, whatever the way.
  package static let atFirst = 20

  package var most: Int {
    let minutes = Int(milliseconds / 60_000) + 1
    return RequestBudget.atFirst + minutes * RequestBudget.perMinute
      + saves * RequestBudget.perSave + strikes * RequestBudget.perStrike
  }

  /// In rest, less than a hundred an hour. Whoever has only the poll asks every 30 s, and now and
  /// then looks for a better way.
  package static func mostInRest(milliseconds: Int64, polls: Bool) -> Int {
    let perHour: Int64 = polls ? 150 : 100
    return Int(milliseconds * perHour / 3_600_000) + 1
  }

  /// How many requests and messages begin in what a device sends.
  package static func asked(in bytes: [UInt8]) -> Int {
    guard let first = bytes.first else { return 0 }
    guard first >= 0x80 else {
      return methods.contains { bytes.starts(with: $0) } ? 1 : 0
    }
    var count = 0
    var position = 0
    while position + 2 <= bytes.count {
      // A message's first frame (RFC 6455 section 5.2): text or binary.
      if [1, 2].contains(bytes[position] & 0xF) { count += 1 }
      var length = Int(bytes[position + 1] & 0x7F)
      let isMasked = bytes[position + 1] & 0x80 != 0
      let extra = length == 126 ? 2 : length == 127 ? 8 : 0
      position += 2
      if extra > 0 {
        guard position + extra <= bytes.count else { break }
        length = bytes[position..<position + extra].reduce(0) { $0 << 8 | Int($1) }
      }
      position += extra + length + (isMasked ? 4 : 0)
    }
    return count
  }

  private static let methods = ["GET ", "POST ", "PUT ", "DELETE ", "HEAD "].map { Array($0.utf8) }
}
