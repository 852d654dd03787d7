import LockstepModel

/// Judge of the addresses of hosts that others have named (`PeerAddress.screened`): they must not
/// make the loop connect to this machine or into the owner's network.
@usableFromInline
package struct AddressScreen: Sendable {
  /// Returns the reason for which an address is not connected to; nil if there is none. `address`:
  /// 4 bytes for IPv4, also if it is mapped to IPv6, and 16 for IPv6, in network order.
  /// `allowsLocal`: the owner allows addresses of his own network.
  package typealias Judge = @Sendable (_ address: [UInt8], _ allowsLocal: Bool) -> String?

  private let judge: Judge
  private let ownAddresses: OwnAddresses

  /// This machine's own addresses count as local whatever `judge` says: a service that listens on a
  /// global address of the machine may trust connections that come from there.
  package init(judge: @escaping Judge) { self.init(OwnAddresses(), judge: judge) }

  init(_ ownAddresses: OwnAddresses, judge: @escaping Judge) {
    self.judge = judge
    self.ownAddresses = ownAddresses
  }

  func allows(_ address: SocketAddress, allowsLocal: Bool, at now: Instant) -> Bool {
    guard let ip = address.ip, allowsLocal || !ownAddresses.contains(ip, at: now) else {
      return false
    }
    return judge(ip.bytes, allowsLocal) == nil
  }
}

/// Addresses of this machine's interfaces, which may change at any time. All loops share them.
final class OwnAddresses: Sendable {
  private struct Reading {
    var addresses: Set<IPAddress>
    var readAt: Instant
  }

  private let reading = Locked<Reading?>(nil)
  private let read: @Sendable () throws(SystemFault) -> [SocketAddress]

  init(read: @escaping @Sendable () throws(SystemFault) -> [SocketAddress]) { self.read = read }

  convenience init() {
    self.init { () throws(SystemFault) in try Syscall.interfaceAddresses() }
  }

  /// True if the address is one of this machine, as of `Limits.ownAddressesMilliseconds` ago at the
  /// latest; also if that was never known.
  func contains(_ address: IPAddress, at now: Instant) -> Bool {
    reading.withLock { reading in
      let age = reading.map { now.milliseconds(since: $0.readAt) }
      if age.map({ $0 >= Limits.ownAddressesMilliseconds }) ?? true {
        do throws(SystemFault) {
          reading = Reading(addresses: Set(try read().compactMap(\.ip)), readAt: now)
        } catch {
          // The system lacks memory or descriptors. What was read last stays true for most
          // addresses.
        }
      }
      return reading.map { $0.addresses.contains(address) } ?? true
    }
  }
}

extension IPAddress {
  /// 4 bytes for IPv4, 16 for IPv6, in network order.
  fileprivate var bytes: [UInt8] {
    let all = [high, low].flatMap { half in
      stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: half >> UInt64($0)) }
    }
    return isIPv4 ? Array(all.suffix(4)) : all
  }
}
