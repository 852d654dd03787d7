import Glibc
import LockstepClient
import LockstepEventLoop
import LockstepModel
import LockstepRelay
import LockstepStorage
import LockstepStorageSQLite
import LockstepWire

/// Client for the owner's administrative calls. Sends them to the control socket of the relay that
/// holds the store. If no relay runs, opens the store itself and holds it until done. Both accept
/// the same calls and give the same answers. A database is always opened directly; its relays are
/// notified.
struct AdminClient {
  let store: StorePlace
  private let place: Place

  private enum Place {
    case relay(socket: String)
    case store(HeldStore)
  }

  struct Response {
    var status: Int
    var body: [UInt8]
  }

  /// Selects relay or store. `makesStore`: creates the store if it does not exist yet. `attempts`:
  /// number of tries, 50 ms apart, while a relay is starting or stopping.
  init(
    _ store: StorePlace, makesStore: Bool = false, attempts: Int = 40
  ) throws(CommandFailure) {
    self.store = store
    guard case .folder(let folder) = store else {
      guard let held = try HeldStore(store) else {
        throw CommandFailure("the store \(store.text) is in use")
      }
      place = .store(held)
      return
    }
    guard makesStore || SQLiteZoneStore.exists(in: folder) else {
      throw CommandFailure(
        "there is no store of a relay in \(folder); name the relay's folder with --store DIR")
    }
    for _ in 0..<attempts {
      if let held = try HeldStore(store) {
        place = .store(held)
        return
      }
      let socket = RelayService.controlSocket(inStore: folder)
      if try Self.isListening(socket) {
        place = .relay(socket: socket)
        return
      }
      usleep(50_000)
    }
    throw CommandFailure(
      "the store \(folder) is in use, but no relay answers there; see which process has it open "
        + "(lock in that folder holds its number), and start the relay again")
  }

  /// Uses a store that is already open.
  init(_ store: StorePlace, _ writer: any ZoneStore, _ files: any ChunkStore) {
    self.store = store
    place = .store(HeldStore(writer, files))
  }

  /// True if a relay may run on the store.
  var hasRelay: Bool {
    switch (place, store) {
    case (.relay, _), (_, .database): true
    case (.store, .folder): false
    }
  }

  /// Makes one call and returns the response, whatever its status.
  func response(to request: HTTPCallRequest) throws(CommandFailure) -> Response {
    switch place {
    case .relay(let socket): try askRelay(request, socket)
    case .store(let held): try held.answer(request)
    }
  }

  private static func isListening(_ socket: String) throws(CommandFailure) -> Bool {
    let question = HTTPCallRequest("GET", path: ["livez"])
    let call = HTTPCall(question, toSocket: socket, at: SystemClock.moment())
    if case .unreachable = try RelayCall.outcome(of: call) { return false }
    return true
  }

  private func askRelay(
    _ request: HTTPCallRequest, _ socket: String
  ) throws(CommandFailure) -> Response {
    let call = HTTPCall(request, toSocket: socket, at: SystemClock.moment())
    switch try RelayCall.outcome(of: call) {
    case .answered(let status, let body, _): return Response(status: status, body: body)
    case .unreachable(let reason), .untrusted(let reason):
      throw CommandFailure(
        "the relay on \(store.text) cannot be reached any more: \(reason); try again")
    case .unanswered(let reason):
      throw CommandFailure(
        "the relay on \(store.text) gave no answer (\(reason)); it may have done what it was asked; "
          + "look at what it says, then try again")
    }
  }
}
