import LockstepModel
import LockstepWebPush
import Testing

struct AddressScopeTests {
  /// Borders of each block that is not global, by IANA's registries.
  @Test(arguments: [
    "0.0.0.0", "0.0.0.1", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0",
    "100.127.255.255", "127.0.0.0", "127.0.0.1", "127.255.255.255", "169.254.0.0",
    "169.254.169.254", "169.254.255.255", "172.16.0.0", "172.31.255.255", "192.0.0.0",
    "192.0.0.8", "192.0.0.170", "192.0.0.255", "192.0.2.0", "192.0.2.255", "192.88.99.0",
    "192.88.99.255", "192.168.0.0", "192.168.255.255", "198.18.0.0", "198.19.255.255",
    "198.51.100.0", "198.51.100.255", "203.0.113.0", "203.0.113.255", "224.0.0.0", "224.0.0.251",
    "233.252.0.1", "239.255.255.255", "240.0.0.0", "255.255.255.254", "255.255.255.255",
    "::", "::1", "::2", "::127.0.0.1", "::8.8.8.8", "::ffff:0:127.0.0.1", "::ffff:0:8.8.8.8",
    "64:ff9b::10.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::169.254.169.254", "64:ff9b::0.0.0.0",
    "64:ff9b::255.255.255.255", "64:ff9b:0:0:0:1::", "64:ff9b:1::", "64:ff9b:1::8.8.8.8",
    "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "100::", "100::ffff:ffff:ffff:ffff", "100:0:0:1::1",
    "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001::", "2001::1", "2001:0:ffff::", "2001:1::1",
    "2001:2::", "2001:3::1", "2001:4:112::1", "2001:10::", "2001:1f:ffff::", "2001:20::",
    "2001:2f:ffff::", "2001:30::1", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db8::",
    "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2002::", "2002:7f00:1::", "2002:808:808::1",
    "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
    "4000::", "5f00::", "5f00:ffff::1", "8000::1", "fc00::", "fd00::1",
    "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fe00::1", "fe80::", "fe80::1",
    "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fec0::1", "feff::1", "ff00::", "ff02::1",
    "ff05::2", "ff0e::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
  ])
  func specialAddressesAreNotGlobal(text: String) throws {
    let bytes = try bytes(of: text)
    #expect(AddressScope(bytes) != .global)
  }

  /// Neighbours of those blocks, and addresses in use.
  @Test(arguments: [
    "1.0.0.0", "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
    "126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255",
    "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.3.0", "192.88.98.255", "192.88.100.0",
    "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "198.51.99.255",
    "198.51.101.0", "203.0.112.255", "203.0.114.0", "223.255.255.255",
    "64:ff9b::8.8.8.8", "64:ff9b::1.1.1.1", "2000::", "2000::1", "2001:200::",
    "2001:4860:4860::8888", "2001:db7:ffff::", "2001:db9::", "2003::", "2606:4700:4700::1111",
    "2a00:1450:4001:82a::200e", "3ffe:ffff::", "3fff:1000::",
    "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
  ])
  func otherAddressesAreGlobal(text: String) throws {
    let bytes = try bytes(of: text)
    #expect(AddressScope(bytes) == .global)
  }

  @Test func localAddressesAreToldFromUselessOnes() throws {
    for (text, scope) in [
      ("127.0.0.1", AddressScope.local("loopback")), ("10.1.2.3", .local("private")),
      ("172.16.1.1", .local("private")), ("192.168.1.1", .local("private")),
      ("100.100.100.100", .local("shared address space")),
      ("169.254.169.254", .local("link-local")), ("::1", .local("loopback")),
      ("fd12::1", .local("unique local")), ("fe80::1", .local("link-local")),
      ("0.0.0.0", .unusable("this network")), ("224.0.0.1", .unusable("multicast")),
      ("255.255.255.255", .unusable("broadcast")), ("::", .unusable("unspecified")),
      ("2001::1", .unusable("Teredo")), ("2002:a00:1::", .unusable("6to4")),
      ("64:ff9b::10.0.0.1", .unusable("NAT64 of a special address")),
      ("ff02::1", .unusable("multicast")), ("4000::", .unusable("not allocated")),
    ] {
      #expect(AddressScope(try bytes(of: text)) == scope)
      #expect(AddressScope(try #require(IPAddress(text))) == scope)
    }
  }

  /// A socket of IPv6 would connect to the IPv4 address inside.
  @Test(arguments: [[127, 0, 0, 1], [10, 0, 0, 1], [8, 8, 8, 8]] as [[UInt8]])
  func mappedAddressesAreNotUsed(ipv4: [UInt8]) {
    let mapped = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF] + ipv4
    #expect(AddressScope(mapped) == .unusable("IPv4-mapped"))
  }

  @Test func otherLengthsAreNoAddresses() {
    for count in Array(0...3) + Array(5...15) + Array(17...33) {
      #expect(AddressScope([UInt8](repeating: 8, count: count)) == .unusable("not an address"))
    }
  }

  private func bytes(of text: String) throws -> [UInt8] {
    let address = try #require(IPAddress(text))
    let words = address.isIPv4 ? [address.low << 32] : [address.high, address.low]
    let bytes = words.flatMap { word in
      stride(from: UInt64(56), through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> $0) }
    }
    return Array(bytes.prefix(address.isIPv4 ? 4 : 16))
  }
}
