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
    // Without keys, no agent of this home has run with --wake.
    if findings.hasKeys {
      findings.problem = WakeAgent(in: folder, milliseconds: timeoutMilliseconds).problem
    }
    return .wakes(findings)
  }
}
