import Glibc
import Lockstep
import LockstepCommandLine
import LockstepHome
import LockstepLanguage
import LockstepSealing
import LockstepWire

/// Keys that come with a pairing code, opened by its second half.
enum PairingKeys {
  /// Number of times that a person may type the second half.
  private static let attemptsMax = 5

  /// Returns the keys, or nil if the code carries none, and the second half that was typed. Asks at
  /// a terminal for a second half that is missing or wrong: the relay has used up the code, and
  /// gives its keys once.
  ///
  /// A second half that opens nothing is refused: a relay could keep back what it opens, so that
  /// the device would send what it must seal.
  static func open(
    _ joined: JoinAnswer, _ code: JoinCode?, _ records: VaultRecords
  ) throws(CommandFailure) -> (SealingKeys?, JoinSecret?) {
    guard let code, joined.wrapped != nil || code.carriesKeys else { return (nil, nil) }
    var secret = code.secret
    var problem = localized(
      "the account's records are sealed, and that code is its first half alone")
    for _ in 0..<attemptsMax {
      if secret == nil { secret = try ask(problem) }
      guard let typed = secret else { break }
      do throws(WrappedKeys.Fault) {
        return (try keys(joined, code.with(secret: typed), typed, records), typed)
      } catch {
        guard error == .wrongSecret else { throw failure(error.explanation) }
        problem = error.explanation
        secret = nil
      }
    }
    throw failure(problem)
  }

  /// Returns nil if the second half opens the vault's key alone.
  private static func keys(
    _ joined: JoinAnswer, _ code: JoinCode, _ secret: JoinSecret, _ records: VaultRecords
  ) throws(WrappedKeys.Fault) -> SealingKeys? {
    if let wrapped = joined.wrapped {
      return try WrappedKeys.keys(
        in: wrapped, account: joined.credentials.account, secret: secret.letters)
    }
    guard VaultKeys.opens(code, records) else { throw .wrongSecret }
    return nil
  }

  /// Returns nil if nobody can be asked, or the answer has not twelve letters.
  private static func ask(_ problem: String) throws(CommandFailure) -> JoinSecret? {
    guard isatty(STDIN_FILENO) == 1 else { throw failure(problem) }
    var sentence = problem
    let interruption = Interruption()
    defer { interruption.end() }
    for _ in 0..<attemptsMax {
      TerminalOutput.writeToStandardError(
        sentence + "\n" + localized("Second half of the code, 12 letters: "))
      guard let line = interruption.line() else { return nil }
      if let secret = JoinSecret(typed: line) { return secret }
      sentence = localized("that has not twelve letters and digits")
    }
    return nil
  }

  /// Reads from a terminal so that who gives up (Ctrl-C, the end of the terminal) ends the reading
  /// and not the program: the relay has made a device, which must be removed first.
  private struct Interruption {
    private static let signals = [SIGINT, SIGTERM, SIGHUP]
    private let former: [sigaction]

    init() {
      former = Self.signals.map { signal in
        var (action, former) = (sigaction(), sigaction())
        // Without SA_RESTART, so that a signal ends the read.
        action.__sigaction_handler.sa_handler = { _ in }
        _ = sigaction(signal, &action, &former)
        return former
      }
    }

    func end() {
      for (signal, former) in zip(Self.signals, former) {
        var former = former
        _ = sigaction(signal, &former, nil)
      }
    }

    /// Returns nil at the end of input, and after a signal.
    func line() -> String? {
      var bytes: [UInt8] = []
      var byte: UInt8 = 0
      while bytes.count < 1_000 {
        guard read(STDIN_FILENO, &byte, 1) == 1 else { return nil }
        if byte == UInt8(ascii: "\n") { return String(decoding: bytes, as: UTF8.self) }
        bytes.append(byte)
      }
      return nil
    }
  }

  private static func failure(_ problem: String) -> CommandFailure {
    CommandFailure(
      localized(
        "{reason}; this device has not joined, and the code is used up: get a "
          + "new one with lockstep agent pair, and give all of its 24 letters", ["reason": problem])
    )
  }
}

extension TypedCode {
  /// `given`: if nil or `-`, a line of standard input is read.
  static func read(_ given: String?) throws(CommandFailure) -> TypedCode {
    if let given, given != "-" { return try parsed(given) }
    if isatty(STDIN_FILENO) == 1 { TerminalOutput.writeToStandardError(localized("Code: ")) }
    guard let line = readLine(), !line.allSatisfy(\.isWhitespace) else {
      throw CommandFailure(localized("standard input has no pairing code"))
    }
    return try parsed(line)
  }

  private static func parsed(_ text: String) throws(CommandFailure) -> TypedCode {
    try CommandFailure.wrap { () throws(LockstepError) in try TypedCode(text) }
  }
}
