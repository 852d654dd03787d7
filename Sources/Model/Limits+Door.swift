/// What keeps strangers, and mistakes of its owner, from a relay.
extension Limits {
  /// Guesses at pairing codes that one node remembers. Beyond it the oldest are forgotten before
  /// their minute is over: that takes thousands of networks.
  public static let countedGuesses = 1 << 16
  /// How often it is looked at most whether the files of an open store still stand under their
  /// names: what is saved in between is answered as saved.
  public static let storeLookMilliseconds: Int64 = 1_000
  /// How long a key seals the tickets of TLS sessions; it opens them for as long again. A ticket is
  /// good for two hours.
  public static let ticketKeyMilliseconds: Int64 = 6 * 3_600_000
}
