import LockstepModel

/// Limit of a device's requests to the relay: HTTP requests, and messages on a socket.
package struct RequestBudget {
  /// Run time of the device's processes.
  package var milliseconds: Int64
  /// Number of versions that the account's devices saved.
  package var saves: Int
  /// Number of faults that took effect.
  package var strikes: Int

  package init(milliseconds: Int64, saves: Int, strikes: Int) {
    self.milliseconds = milliseconds
    self.saves = saves
    self.strikes = strikes
  }

  /// Requests per minute: two polls, and sometimes a clock measurement. The most for an idle
  /// device.
  package static let perMinute = 4
  /// Requests per saved version: the save itself, or for the last transports the poll that reported
  /// it, a fetch of what a hint did not contain, and the next poll.
  package static let perSave = 3
  /// Requests per fault: a device reconnects by each of four transports, twice at most, and reads
  /// on from its cursor; the wait between two tries doubles.
  package static let perStrike = 30
  /// Requests of the first connection, by any transport.
  package static let atFirst = 20

  package var most: Int {
    let minutes = Int(milliseconds / 60_000) + 1
    return RequestBudget.atFirst + minutes * RequestBudget.perMinute
      + saves * RequestBudget.perSave + strikes * RequestBudget.perStrike
  }

  /// Returns the limit for an idle device: less than a hundred an hour. A device that can only poll
  /// asks every 30 s, and sometimes tries a better transport.
  package static func mostInRest(milliseconds: Int64, polls: Bool) -> Int {
    let perHour: Int64 = polls ? 150 : 100
    return Int(milliseconds * perHour / 3_600_000) + 1
  }

  /// Returns the number of requests and messages that begin in the bytes that a device sends.
  package static func requests(in bytes: [UInt8]) -> Int {
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
