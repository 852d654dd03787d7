import LockstepCommandLine
import LockstepHome
import Testing

struct DefaultHomeTests {
  private func path(_ variables: [String: String], isRoot: Bool = false) -> Result<
    String, ValueFault
  > {
    do throws(ValueFault) {
      return .success(try DefaultHome.path({ variables[$0] }, isRoot: isRoot))
    } catch {
      return .failure(error)
    }
  }

  @Test func itIsInTheUsersDataFolder() {
    #expect(path(["HOME": "/people/ada"]) == .success("/people/ada/.local/share/lockstep"))
    #expect(path(["HOME": "/"]) == .success("/.local/share/lockstep"))
    #expect(path(["HOME": "/people/ada", "XDG_DATA_HOME": "/data"]) == .success("/data/lockstep"))
    #expect(path(["XDG_DATA_HOME": "/data"]) == .success("/data/lockstep"))
    // The specification has relative paths ignored.
    #expect(
      path(["HOME": "/people/ada", "XDG_DATA_HOME": "data"])
        == .success("/people/ada/.local/share/lockstep"))
  }

  @Test func rootAndServicesNameTheirHome() {
    for (variables, isRoot, says) in [
      (["HOME": "/root"], true, "root has no default"), ([:], false, "HOME is not set"),
      (["HOME": ""], false, "HOME is not set"), (["HOME": "here"], false, "HOME is not set"),
    ] as [([String: String], Bool, String)] {
      guard case .failure(let fault) = path(variables, isRoot: isRoot) else {
        Issue.record("\(variables) has a default")
        continue
      }
      #expect(fault.reason.contains(says) && fault.reason.contains("LOCKSTEP_HOME"))
    }
  }
}
