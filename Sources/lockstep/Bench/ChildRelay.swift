import Glibc
import LockstepClient
import LockstepModel

/// A relay in a child process, on a temporary store. Benches measure it if they are given no other.
final class ChildRelay {
  let address: RelayAddress
  let store: String
  var process: Int32 { child.process }
  private let child: ChildProcess
  private let folder: ScratchFolder

  /// Starts this program as a relay and waits until it listens. `options`: additional ones.
  init(_ options: [String] = []) throws(CommandFailure) {
    folder = try ScratchFolder()
    store = folder.path
    child = try ChildProcess(
      [
        "relay", "--open", "--listen", "127.0.0.1:0", "--store", store + "/relay",
        // Its log is not read after the start.
        "--log-level", "error",
      ] + options)
    let said = child.said(until: "listening on http://")
    guard let found = said.firstRange(of: "listening on "),
      let url = said[found.upperBound...].split(whereSeparator: \.isWhitespace).first,
      let address = RelayAddress(url: String(url))
    else {
      child.stop(by: SIGKILL)
      folder.remove()
      throw CommandFailure("the relay did not start: \(said)")
    }
    self.address = address
  }

  /// Stops the relay in order, and removes its store.
  func stop() {
    child.stop()
    folder.remove()
  }
}
