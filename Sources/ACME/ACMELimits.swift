/// Bounds of a client of a certificate authority. What an authority sends is not trusted: each
/// body, list, wait and number of attempts has one.
package enum ACMELimits {
  /// Host names of one certificate.
  package static let names = 10
  /// Bytes of an answer: a certificate with its chain has a few thousand.
  package static let bodyBytes = 128 << 10
  /// Characters of a nonce, and of the token of a challenge; RFC 8555 asks for 22 or more.
  package static let tokenCharacters = 256
  /// Challenges of one authorization that are read; there are three kinds in use.
  package static let challenges = 16
  /// Characters of a text of the authority that reach the log.
  package static let textCharacters = 400
  /// Parts of a problem document that reach the log.
  package static let subproblems = 4

  /// Time for one request and its answer, in milliseconds.
  package static let answerMilliseconds: Int64 = 30_000
  /// Time for one attempt to get a certificate, in milliseconds: validations take some seconds.
  package static let attemptMilliseconds: Int64 = 15 * 60_000
  /// Requests of one attempt. A certificate for ten names needs about 50.
  package static let requests = 400
  /// Times that a request is sent again because the authority did not know its nonce.
  package static let badNonces = 5
  /// Waits between two looks at the same object, in milliseconds; without a wish of the authority,
  /// the second one.
  package static let polls: ClosedRange<Int64> = 1_000...60_000
  package static let pollMilliseconds: Int64 = 2_000
  /// Longest wait for which the connection is kept, in milliseconds.
  package static let idleMilliseconds: Int64 = 5_000

  /// Waits after failed attempts, in milliseconds, the last one for all further failures. Let's
  /// Encrypt allows five failed validations of a name an hour.
  package static let backoff: [Int64] = [
    10_000, 60_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 14_400_000, 21_600_000,
  ]
  /// Longest wait that an authority may ask for, in milliseconds.
  package static let pauseMilliseconds: Int64 = 86_400_000
  /// Least time between two certificates, in milliseconds, whatever their validity.
  package static let spacingMilliseconds: Int64 = 3_600_000
  /// Times between two requests for renewal information, in milliseconds; without a wish of the
  /// authority, the second one.
  package static let renewalChecks: ClosedRange<Int64> = 3_600_000...86_400_000
  package static let renewalCheckMilliseconds: Int64 = 21_600_000
  /// Time from the start, or from a new certificate, to the first one, in milliseconds: a process
  /// that crashes again and again asks for nothing.
  package static let firstCheckMilliseconds: Int64 = 600_000
  /// Longest time without a look at the clock, which may be set, in milliseconds.
  package static let planMilliseconds: Int64 = 3_600_000

  /// Connections of the listener without TLS, in all and from one address or /64 network.
  package static let plainConnections = 128
  package static let plainConnectionsPerNetwork = 16
  /// Time for a request on it, in milliseconds.
  package static let plainMilliseconds: Int64 = 10_000
}
