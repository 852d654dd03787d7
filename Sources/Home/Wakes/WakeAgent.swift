import Lockstep
import LockstepClient
import LockstepCommandLine
import LockstepJSON
import LockstepLanguage

/// Process that holds a home, as it says whether pushes wake the device.
package enum WakeAgent: Hashable, Sendable {
  /// No process holds the home for longer than a command, or the one that does runs without
  /// `--wake`.
  case none
  /// A process holds the home, and gives no answer for now.
  case silent(reason: String)
  /// It runs with `--wake`.
  case running(isReady: Bool, distributor: String?, WakeProblem?)

  /// Reads an answer to `WakeRequest.state`; nil if it has another form.
  package init?(_ answer: JSONValue) {
    if case .null = answer {
      self = .none
      return
    }
    guard let isReady = answer["isReady"]?.bool else { return nil }
    var problem: WakeProblem?
    if let reason = answer["problem"]?["reason"]?.string {
      problem = WakeProblem(reason, nextStep: answer["problem"]?["nextStep"]?.string ?? "")
    }
    self = .running(isReady: isReady, distributor: answer["distributor"]?.string, problem)
  }

  /// Asks the process that holds the home of a command.
  package init(of session: HomeSession) {
    do throws(CommandFailure) {
      if session.isHolder {
        self = .none
      } else {
        self = WakeAgent(try session.send(.wakes(WakeRequest.state))) ?? Self.otherVersion
      }
    } catch {
      self = .silent(reason: error.message ?? localized("it did not answer"))
    }
  }

  /// Asks the process that holds a home, if there is one.
  ///
  /// - Parameter milliseconds: Maximum wait for the answer.
  package init(in folder: HomeFolder, milliseconds: Int32) {
    guard let connection = HomeConnection(socket: folder.socket),
      connection.send(.wakes(WakeRequest.state))
    else {
      self = .none
      return
    }
    switch connection.next(milliseconds: milliseconds) {
    case .line(let line):
      switch HomeReply(line) {
      case .success(let answer): self = WakeAgent(answer) ?? Self.otherVersion
      case .failure(let reason): self = .silent(reason: reason)
      case nil: self = Self.otherVersion
      }
    case .closed: self = .none
    case .timeout, .other:
      self = .silent(
        reason: localized(
          "the process that holds the home {home} did not answer", ["home": folder.path]))
    }
  }

  private static var otherVersion: WakeAgent {
    .silent(
      reason: localized("the process that holds the home has another version"))
  }

  /// Reason for which pushes do not wake the device, or for which that is not known; nil: none.
  package var problem: WakeProblem? {
    switch self {
    case .none: nil
    case .silent(let reason):
      WakeProblem(
        reason,
        nextStep: localized("Repeat the command in a minute; if it stays so, restart the agent."))
    case .running(_, _, let problem): problem
    }
  }

  package var isSilent: Bool { if case .silent = self { true } else { false } }

  /// For programs; `null` if no agent runs with `--wake`.
  package var json: JSONValue {
    let problem: JSONValue = problem.map { $0.json } ?? .null
    return switch self {
    case .none: .null
    case .silent: ["isReady": .null, "distributor": .null, "problem": problem]
    case .running(let isReady, let distributor, _):
      [
        "isReady": .bool(isReady), "distributor": distributor.map { .string($0) } ?? .null,
        "problem": problem,
      ]
    }
  }
}

extension WakeProblem {
  package var json: JSONValue {
    ["reason": .string(reason), "nextStep": .string(nextStep)]
  }
}
