import Glibc
import Lockstep
import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepHome
import LockstepModel

/// Asks the relay, and the agent that runs, about a device's registrations for wakes. Changes
/// nothing.
enum WakesProbe {
  /// Timeout in milliseconds for the answer of the process that holds the home.
  private static let timeoutMilliseconds: Int32 = 3_000

  static func check(
    _ folder: HomeFolder, _ member: HomeAccess, progress: Progress
  ) -> DoctorCheck {
    progress.show("requesting the registrations for wakes")
    var findings = WakesFindings(relayTime: SystemClock.moment().wall)
    findings.hasKeys = access(folder.wakeKeys, F_OK) == 0
    do throws(LockstepError) {
      findings.statuses = try member.call.client.wakes(token: member.token)
    } catch {
      findings.fault = "\(error)"
    }
    findings.problem = problem(in: folder)
    return .wakes(findings)
  }

  private static func problem(in folder: HomeFolder) -> WakeProblem? {
    guard let connection = HomeConnection(socket: folder.socket),
      connection.send(.wakes(WakeRequest.state)),
      case .line(let line) = connection.next(milliseconds: timeoutMilliseconds),
      case .success(let state) = HomeReply(line),
      let reason = state["problem"]?["reason"]?.string,
      let nextStep = state["problem"]?["nextStep"]?.string
    else { return nil }
    return WakeProblem(reason, nextStep: nextStep)
  }
}
