/// Protection of a relay from unknown clients and from mistakes of its owner.
extension Limits {
  /// Guesses at pairing codes that one node remembers. Beyond it the oldest are forgotten before
  /// their minute is over; that takes thousands of networks.
  public static let countedGuesses = 1 << 16
  /// Shortest interval between two checks that the files of an open store still have their names.
  /// Saves in between are answered as saved.
  public static let storeLookMilliseconds: Int64 = 1_000
  /// Time for which a key seals the tickets of TLS sessions; it opens them for as long again. A
  /// ticket is valid for two hours.
  public static let ticketKeyMilliseconds: Int64 = 6 * 3_600_000
}
