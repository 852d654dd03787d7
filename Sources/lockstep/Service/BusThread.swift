import Glibc
import LockstepEventLoop
import LockstepModel
import LockstepRelay
import LockstepStoragePostgres

/// Receives notices of other relays on the store, on its own thread, and forwards them to the
/// nodes.
struct BusThread {
  private let bell: BusWakeup
  private let isEnding: Locked<Bool>
  private let thread: LoopThread

  init(
    _ bus: sending PostgresBus, of group: NodeGroup<RelayNode>, log: Log
  ) throws(SystemFault) {
    let isEnding = Locked(false)
    bell = bus.bell
    self.isEnding = isEnding
    let handover = BusHandover(bus)
    thread = try LoopThread("bus") {
      let bus = handover.bus
      while !isEnding.withLock({ $0 }) {
        for notice in bus.wait(milliseconds: Limits.busWaitMilliseconds) {
          BusThread.tell(notice, to: group, log)
        }
      }
      bus.close()
    }
  }

  func end() {
    isEnding.withLock { $0 = true }
    bell.ring()
    thread.join()
  }

  private static func tell(_ notice: BusNotice, to group: NodeGroup<RelayNode>, _ log: Log) {
    switch notice {
    case .moved(let movement):
      if let token = movement.token { group.tell(.remoteCommit(movement.account, token)) }
      if movement.hasNewAffairs { group.tell(.remoteMembershipChange(movement.account)) }
    case .lost: log.warning("other relays are not heard; their changes come a few seconds later")
    case .back:
      log.info("other relays are heard again")
      group.tell(.remoteNewsLost)
    }
  }
}

/// Transfers the bus to the one thread that uses it.
private final class BusHandover: @unchecked Sendable {
  let bus: PostgresBus
  init(_ bus: sending PostgresBus) { self.bus = bus }
}
