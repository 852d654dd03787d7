/// Request that was understood and refused: a value with advice. On the wire a problem (RFC 9457)
/// over HTTP, an `error` message or a close code on the socket.
@usableFromInline
package struct Refusal: Error, Hashable, Sendable {
  @usableFromInline package var code: RefusalCode
  /// One sentence for a person that contains the next step.
  @usableFromInline package var detail: String
  /// Milliseconds to wait before a retry, if a retry helps.
  @usableFromInline package var retryAfterMilliseconds: Int64?
  /// Relay time, sent with `clockAhead`.
  @usableFromInline package var relayTime: Int64?
  /// Sent with `storeRestored`: the tag up to which the relay still has what the device read from
  /// it. Records that the device holds with a greater tag are sent again through its outbox.
  @usableFromInline package var restoredThrough: ChangeTag?
  /// Sent with `storeRestored` if only tags up to this one are lost: greater ones that the device
  /// holds were given since.
  @usableFromInline package var lostThrough: ChangeTag?
  /// Sent with `storeRestored`: the account's current token. A later token of another generation
  /// shows that the relay was restored once more.
  @usableFromInline package var token: ChangeToken?
  /// Sent with `accountMoved`: address of the relay where the account lives.
  @usableFromInline package var relay: String?

  @usableFromInline
  package init(
    _ code: RefusalCode, _ detail: String, retryAfterMilliseconds: Int64? = nil,
    relayTime: Int64? = nil, restoredThrough: ChangeTag? = nil, lostThrough: ChangeTag? = nil,
    token: ChangeToken? = nil, relay: String? = nil
  ) {
    self.code = code
    self.detail = detail
    self.retryAfterMilliseconds = retryAfterMilliseconds
    self.relayTime = relayTime
    self.restoredThrough = restoredThrough
    self.lostThrough = lostThrough
    self.token = token
    self.relay = relay
  }
}

/// Reaction of a device to a refusal.
@usableFromInline
package enum RefusalAdvice: String, Sendable, CaseIterable {
  /// Retry the same request later.
  case retry
  /// Fetch, resolve, and save the result.
  case fetchFirst
  /// Nothing works until a person acts.
  case askPerson
  /// Ask for the relay's time, stamp the record anew, and save it under a new batch id.
  case stampAnew
  /// Set this one record aside and show it to the person; continue with the others.
  case park
  /// Send the request to the relay whose address the problem names, and remember that address.
  case followRelay
  /// Fault of the program that sent the request.
  case fixRequest
}

/// All codes, with status, close code, title and advice: the only source for the answers and for
/// the table in docs/protocol.md.
@usableFromInline
package enum RefusalCode: String, Sendable, CaseIterable {
  case badRequest, badJSON, badMessage, badChangeToken, badName
  case badToken, registrationClosed, originNotAllowed, badPairingCode, otherAccount, tooManyDevices
  case badWakeCode, wakeNotAllowed
  case planRequired, outOfScope, hostNotAllowed, accountMoved
  case notFound, methodNotAllowed
  case preconditionFailed, preconditionRequired, labelTaken
  case batchMismatch, batchAborted, conflictTooLarge, clockAhead, chunksMissing, recordTooLarge
  case hashMismatch, quotaExceeded, rangeNotSatisfiable, tooManySubscriptions
  case tokenExpired, storeRestored, filterChanged
  case bodyTooLarge, uriTooLong, headersTooLarge, tooManyRecords, tooManyRequests
  case unsupportedMediaType, upgradeRequired, expectationFailed, lengthRequired
  case unsupportedTransferCoding, unsupportedVersion
  case helloRequired, requestTimeout
  case diskLow, storeUnavailable, overloaded, stopping, accountMoving, internalError

  /// The HTTP status.
  @usableFromInline
  package var status: Int {
    switch self {
    case .badRequest, .badJSON, .badMessage, .badChangeToken, .badName, .tooManyRecords: 400
    case .badToken: 401
    case .planRequired: 402
    case .registrationClosed, .originNotAllowed, .badPairingCode, .otherAccount, .tooManyDevices,
      .tooManySubscriptions, .badWakeCode, .wakeNotAllowed, .outOfScope:
      403
    case .notFound: 404
    case .methodNotAllowed: 405
    case .helloRequired, .requestTimeout: 408
    case .batchAborted, .conflictTooLarge, .labelTaken: 409
    case .tokenExpired, .storeRestored, .filterChanged: 410
    case .lengthRequired: 411
    case .preconditionFailed: 412
    case .bodyTooLarge, .recordTooLarge, .quotaExceeded: 413
    case .uriTooLong: 414
    case .unsupportedMediaType: 415
    case .rangeNotSatisfiable: 416
    case .expectationFailed: 417
    case .hostNotAllowed, .accountMoved: 421
    case .batchMismatch, .clockAhead, .chunksMissing, .hashMismatch: 422
    case .upgradeRequired: 426
    case .preconditionRequired: 428
    case .tooManyRequests: 429
    case .headersTooLarge: 431
    case .internalError: 500
    case .unsupportedTransferCoding: 501
    case .unsupportedVersion: 505
    case .diskLow: 507
    case .storeUnavailable, .overloaded, .stopping, .accountMoving: 503
    }
  }

  /// The WebSocket close code, if this refusal ends a connection.
  @usableFromInline
  package var closeCode: UInt16? {
    switch self {
    case .badMessage, .badJSON, .badRequest: 4400
    case .helloRequired: 4408
    case .accountMoved: 4421
    case .tooManyRequests: 4429
    case .badToken: 4501
    case .planRequired: 4502
    case .bodyTooLarge: 1009
    case .stopping: 1012
    case .storeUnavailable, .overloaded: 1013
    case .internalError: 1011
    default: nil
    }
  }

  /// The problem's `title`: a few words, the same for every refusal with this code.
  @usableFromInline
  package var title: String {
    switch self {
    case .badRequest: "The request does not have the form of this call"
    case .badJSON: "The body is not valid JSON"
    case .badMessage: "The message does not have the protocol's form"
    case .badChangeToken: "The change token does not belong to this account"
    case .badName: "A name is empty, too long or has control characters"
    case .badToken: "The token or the session is missing or unknown"
    case .registrationClosed: "This relay accepts no new accounts"
    case .originNotAllowed: "Pages of this origin may not use the relay"
    case .hostNotAllowed: "The host is not a name of this relay"
    case .accountMoved: "The account lives on another relay"
    case .badPairingCode: "The pairing code is unknown, used or expired"
    case .otherAccount: "The pairing code belongs to another account"
    case .tooManyDevices: "The account has reached its limit of devices"
    case .planRequired: "The account's plan does not include this"
    case .outOfScope: "The device was paired for another part of the account"
    case .notFound: "Nothing exists at this path"
    case .methodNotAllowed: "This path does not allow that method"
    case .preconditionFailed: "The record is not the version that the request names"
    case .preconditionRequired: "The request does not say which version it replaces"
    case .labelTaken: "An account of this relay has this label already"
    case .batchMismatch: "The batch id was used before with other content"
    case .batchAborted: "Another record of the atomic batch failed"
    case .conflictTooLarge: "The conflicting records are too large for this answer"
    case .clockAhead: "The record's time is in the future"
    case .chunksMissing: "The record names chunks that were not uploaded"
    case .recordTooLarge: "The record is too large"
    case .hashMismatch: "The bytes do not match the hash in the path"
    case .quotaExceeded: "The account has reached its storage limit"
    case .rangeNotSatisfiable: "The chunk has no such range of bytes"
    case .tooManySubscriptions: "The device has reached its limit of subscriptions"
    case .badWakeCode: "The code for the registration is wrong"
    case .wakeNotAllowed: "The relay sends no wakes to this endpoint"
    case .tokenExpired: "The change token is older than the history kept"
    case .storeRestored: "The relay was restored from a backup"
    case .filterChanged: "The change token is for another zone"
    case .bodyTooLarge: "The body or message is too large"
    case .uriTooLong: "The request target is too long"
    case .headersTooLarge: "The header fields are too large or too many"
    case .tooManyRecords: "The batch has too many records"
    case .tooManyRequests: "Too many requests"
    case .unsupportedMediaType: "The body is not JSON"
    case .upgradeRequired: "This path requires an upgrade to WebSocket"
    case .expectationFailed: "The expectation cannot be met"
    case .lengthRequired: "The body's length is not given"
    case .unsupportedTransferCoding: "The only supported transfer coding is chunked"
    case .unsupportedVersion: "The supported versions are HTTP/1.0 and HTTP/1.1"
    case .helloRequired: "No hello arrived in time"
    case .requestTimeout: "The request did not arrive in time"
    case .diskLow: "The relay's disk is nearly full"
    case .storeUnavailable: "The store cannot be reached"
    case .overloaded: "The relay is overloaded"
    case .stopping: "The relay is stopping"
    case .accountMoving: "The account is being moved to another relay"
    case .internalError: "The relay has an internal error"
    }
  }

  @usableFromInline
  package var advice: RefusalAdvice {
    switch self {
    // The relay's owner may add the name; devices then continue on their own.
    case .hostNotAllowed: .retry
    case .tooManyRequests, .diskLow, .storeUnavailable, .overloaded, .stopping,
      .accountMoving, .internalError, .helloRequired, .requestTimeout:
      .retry
    case .accountMoved: .followRelay
    case .tokenExpired, .storeRestored, .filterChanged, .badChangeToken, .batchAborted,
      .conflictTooLarge, .preconditionFailed:
      .fetchFirst
    case .clockAhead: .stampAnew
    case .badToken, .registrationClosed, .originNotAllowed, .badPairingCode, .otherAccount,
      .tooManyDevices, .planRequired, .outOfScope, .quotaExceeded, .labelTaken:
      .askPerson
    case .chunksMissing, .recordTooLarge, .badName: .park
    case .badRequest, .badJSON, .badMessage, .notFound, .methodNotAllowed, .batchMismatch,
      .hashMismatch, .rangeNotSatisfiable, .tooManySubscriptions, .bodyTooLarge, .uriTooLong,
      .headersTooLarge, .tooManyRecords, .unsupportedMediaType, .preconditionRequired,
      .upgradeRequired, .expectationFailed, .lengthRequired, .unsupportedTransferCoding,
      .unsupportedVersion, .badWakeCode, .wakeNotAllowed:
      .fixRequest
    }
  }
}
