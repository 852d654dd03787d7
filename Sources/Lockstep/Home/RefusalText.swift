import LockstepLanguage
import LockstepModel

/// Text of a relay's refusal in the person's language. In English that is the relay's own sentence,
/// which tells the most; in another language there is one for each code.
extension Refusal {
  package var text: String {
    if Language.current == .english { return detail }
    return code.text ?? translated(detail)
  }
}

extension RefusalCode {
  /// Sentence for a person; nil for a fault of a program.
  fileprivate var text: String? {
    switch self {
    case .badToken: localized("the relay does not accept this device any more; pair it again")
    case .registrationClosed:
      localized("this relay makes no accounts by itself; ask its owner for a pairing code")
    case .badPairingCode:
      localized(
        "that code is wrong, used or too old; ask for a new one where it came from: at the other "
          + "device, or at the relay's owner")
    case .otherAccount: localized("that code is of another account")
    case .tooManyDevices:
      localized("the account has as many devices as it may have; remove one first")
    case .planRequired: localized("the account's plan does not include that")
    case .outOfScope:
      localized(
        "this device was paired for a part of the account, and may not do that; use a device with "
          + "the whole account")
    case .hostNotAllowed:
      localized("the relay does not know the name in its address; its owner can add it")
    case .labelTaken: localized("another account has this name already; choose another one")
    case .clockAhead: localized("the clock of this device is wrong")
    case .chunksMissing: localized("the relay does not have the whole content of a file yet")
    case .recordTooLarge, .bodyTooLarge, .conflictTooLarge:
      localized("that is too large for one record; divide it")
    case .quotaExceeded:
      localized("the account has no room left; remove something, or ask the relay's owner")
    case .tooManyRequests: localized("the relay asks to wait a moment; try again in a minute")
    case .wakeNotAllowed: localized("the relay's owner does not allow that push service")
    case .diskLow: localized("the relay has no room on its disk; its owner can make some")
    case .storeUnavailable, .overloaded, .internalError:
      localized("the relay has a fault; try again later")
    case .stopping: localized("the relay is being restarted; nothing is lost")
    case .badRequest, .badJSON, .badMessage, .badChangeToken, .badName, .originNotAllowed,
      .badWakeCode, .notFound, .methodNotAllowed, .preconditionFailed, .preconditionRequired,
      .batchMismatch, .batchAborted, .hashMismatch, .rangeNotSatisfiable, .tooManySubscriptions,
      .tokenExpired, .storeRestored, .filterChanged, .uriTooLong, .headersTooLarge,
      .tooManyRecords, .unsupportedMediaType, .upgradeRequired, .expectationFailed,
      .lengthRequired, .unsupportedTransferCoding, .unsupportedVersion, .helloRequired,
      .requestTimeout, .accountMoved, .accountMoving:
      nil
    }
  }
}
