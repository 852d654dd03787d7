private import CDBus
import Glibc
import LockstepLanguage
import LockstepModel

/// Connection to the session bus, as a UnifiedPush connector (specification DBUS_0.3.0). Used by
/// one thread.
final class PushBus {
  enum Event: Hashable, Sendable {
    case endpoint(token: String, String)
    case message(token: String, [UInt8])
    case unregistered(token: String)
    case appeared(distributor: String)
    case left(distributor: String)
    /// The connection to the bus has ended.
    case ended
  }

  private static let reasonBytes = 512
  private static let namesBytes = 8_192
  /// Time for which a distributor may be busy with its push service.
  private static let registerMilliseconds: Int32 = 25_000
  /// Bytes of the longest push and endpoint that are read; longer ones are dropped.
  private static let textBytesMax = Limits.wakeEndpointBytes

  private let bus: OpaquePointer

  /// Connects to the session bus, and takes `name` there. Blocks for 30 seconds at most.
  ///
  /// - Parameter name: A valid one (`BusName`), like those of distributors below.
  init(name: String) throws(PushBusFault) {
    if let reason = lockstep_bus_load() {
      throw PushBusFault(
        localized("libdbus cannot be loaded: {reason}", ["reason": "\(String(cString: reason))"]),
        nextStep: localized("Install it, for example with apt-get install libdbus-1-3."))
    }
    guard let address = Self.address else {
      throw PushBusFault(
        localized("there is no session bus: DBUS_SESSION_BUS_ADDRESS is not set"),
        nextStep: localized(
          "Run the agent in a desktop session, or as a service of systemctl "
            + "--user."))
    }
    var bus: OpaquePointer?
    let reason = Self.text(capacity: Self.reasonBytes) { buffer, capacity in
      bus = lockstep_bus_open(address, name, buffer, capacity)
    }
    guard let bus else {
      throw PushBusFault(
        localized(
          "the session bus at {address} cannot be used: {reason}",
          ["address": address, "reason": reason]),
        nextStep: localized(
          "Check that the session bus runs, and that no other agent uses this "
            + "home."))
    }
    self.bus = bus
  }

  deinit { lockstep_bus_close(bus) }

  /// Address of the session bus; nil if there is none. libdbus would start one of its own.
  private static var address: String? {
    if let address = getenv("DBUS_SESSION_BUS_ADDRESS"), address.pointee != 0 {
      return String(cString: address)
    }
    guard let folder = getenv("XDG_RUNTIME_DIR") else { return nil }
    let socket = String(cString: folder) + "/bus"
    return access(socket, F_OK) == 0 ? "unix:path=" + socket : nil
  }

  /// Readable when `next` may have something.
  var descriptor: Int32 { lockstep_bus_descriptor(bus) }

  /// Returns the distributors on the bus, the running ones first. Blocks for 20 seconds at most.
  func distributors() throws(PushBusFault) -> [String] {
    var isKnown = false
    var names = ""
    let reason = Self.text(capacity: Self.reasonBytes) { reason, reasonCapacity in
      names = Self.text(capacity: Self.namesBytes) { buffer, capacity in
        isKnown = lockstep_bus_distributors(bus, buffer, capacity, reason, reasonCapacity)
      }
    }
    guard isKnown else {
      throw PushBusFault(
        localized("the session bus does not list its programs: {reason}", ["reason": reason]),
        nextStep: localized("Check that the session bus runs; it is tried again."))
    }
    return names.split(separator: "\n").map { String($0) }
  }

  /// Registers at a distributor, which then sends the endpoint. Blocks.
  func register(
    _ token: String, at distributor: String, wakeKey: String, description: String
  ) throws(PushBusFault) {
    var result = LOCKSTEP_BUS_FAILED
    let reason = Self.text(capacity: Self.reasonBytes) { buffer, capacity in
      result = lockstep_bus_register(
        bus, distributor, token, description, wakeKey, Self.registerMilliseconds, buffer, capacity)
    }
    switch result {
    case LOCKSTEP_BUS_REGISTERED: return
    case LOCKSTEP_BUS_REFUSED: throw PushBusFault(refusal: reason, of: distributor)
    default:
      throw PushBusFault(
        localized(
          "the distributor {distributor} failed: {reason}",
          ["distributor": distributor, "reason": reason]),
        nextStep: localized("Start the distributor again, and look at its messages."))
    }
  }

  /// Ends a registration. Blocks for 10 seconds at most.
  func unregister(_ token: String, at distributor: String) throws(PushBusFault) {
    var isEnded = false
    let reason = Self.text(capacity: Self.reasonBytes) { buffer, capacity in
      isEnded = lockstep_bus_unregister(bus, distributor, token, buffer, capacity)
    }
    guard isEnded else {
      throw PushBusFault(
        localized(
          "the distributor {distributor} does not end the registration: {reason}",
          ["distributor": distributor, "reason": reason]),
        nextStep: localized("Start the distributor."))
    }
  }

  /// Returns the next event without waiting; nil if there is none.
  func next() -> Event? {
    while true {
      let event = lockstep_bus_next(bus)
      let token = event.token.map { String(cString: $0) }
      let text = event.text.map { String(cString: $0) }
      switch event.kind {
      case LOCKSTEP_BUS_NOTHING: return nil
      case LOCKSTEP_BUS_ENDED: return .ended
      case LOCKSTEP_BUS_ENDPOINT:
        if let token, let text, text.utf8.count <= Self.textBytesMax {
          return .endpoint(token: token, text)
        }
      case LOCKSTEP_BUS_MESSAGE:
        if let token, event.count <= Limits.wakeBodyBytes {
          let bytes = UnsafeBufferPointer(start: event.bytes, count: event.count)
          return .message(token: token, Array(bytes))
        }
      case LOCKSTEP_BUS_UNREGISTERED: return .unregistered(token: token ?? "")
      case LOCKSTEP_BUS_APPEARED: if let text { return .appeared(distributor: text) }
      case LOCKSTEP_BUS_LEFT: if let text { return .left(distributor: text) }
      default: preconditionFailure("an event of another kind")
      }
    }
  }

  /// Returns the text that `write` has put into a buffer.
  private static func text(
    capacity: Int, _ write: (UnsafeMutablePointer<CChar>, Int) -> Void
  ) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: capacity) { buffer in
      buffer.initialize(repeating: 0)
      guard let start = buffer.baseAddress else { return "" }
      write(start, capacity)
      return String(cString: start)
    }
  }
}

/// Failure of a step on the way of a push.
struct PushBusFault: Error, Hashable {
  let problem: WakeProblem

  init(_ reason: String, nextStep: String) {
    problem = WakeProblem(reason, nextStep: nextStep)
  }

  /// - Parameter word: Reason of the specification.
  init(refusal word: String, of distributor: String) {
    let nextStep =
      switch word {
      case "NETWORK": localized("The distributor has no network; it is tried again.")
      case "ACTION_REQUIRED":
        localized("Open the distributor's settings: it asks for something there.")
      default: localized("It is tried again; look at the distributor's messages.")
      }
    self.init(
      localized(
        "the distributor {distributor} refused the registration ({word})",
        ["distributor": distributor, "word": word]), nextStep: nextStep)
  }
}
