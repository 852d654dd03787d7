import LockstepCommandLine
import LockstepModel
import LockstepRelay
import LockstepRuntime
import Testing

@testable import LockstepRelayService

/// Values of the options that control access to a relay's public listener, and the errors for wrong
/// ones.
struct ValueKindDoorTests {
  private func reason<Value>(_ kind: ValueKind<Value>, _ text: String) -> String? {
    do throws(ValueFault) {
      _ = try kind.parse(text)
      return nil
    } catch {
      return error.reason
    }
  }

  @Test func limitsAreReadByTheirNames() throws {
    let limits = try ValueKind<RelayLimits>.limits.parse("connections=5, bodyBudgetBytes = 64M")
    #expect(limits.connections == 5)
    #expect(limits.bodyBudgetBytes == 64 << 20)
  }

  @Test(arguments: [
    ("conections=5", "there is no limit \"conections\"; did you mean connections?"),
    ("idle=5", "there is no limit \"idle\"; docs/relay/limits.md lists them all"),
    ("connections=5,connections=6", "connections is given twice"),
    ("connections", "\"connections\" is not NAME=VALUE, such as connections=10000"),
    ("connections=5,", "\"\" is not NAME=VALUE, such as connections=10000"),
    ("uploads=0", "uploads: 0 is not between 1 and 10000"),
  ])
  func slipsInLimitsAreTold(text: String, words: String) {
    #expect(reason(.limits, text) == words)
  }

  @Test func hostsAreNamesWithoutPorts() throws {
    let listed = try ValueKind<AllowedHosts>.hosts.parse("Relay.example, *.home.example")
    #expect(listed.names == ["relay.example", "*.home.example"])
    #expect(try ValueKind<AllowedHosts>.hosts.parse("*").isAny)
    #expect(try ValueKind<AllowedHosts>.hosts.parse("own") == AllowedHosts())
    for text in ["relay.example:80", "https://relay.example", "127.0.0.1", ""] {
      #expect(reason(.hosts, text)?.contains("is not a host name") == true, "\(text)")
    }
  }

  @Test func networksAreReadWithCommasBetweenThem() throws {
    let networks = try ValueKind<[IPNetwork]>.networks.parse("10.0.0.0/8, ::1")
    #expect(networks.map(\.text) == ["10.0.0.0/8", "0:0:0:0:0:0:0:1"])
    #expect(try ValueKind<[IPNetwork]>.networks.parse("none").isEmpty)
    #expect(reason(.networks, "10.0.0.0/8,localhost")?.hasPrefix("\"localhost\" is no") == true)
    #expect(reason(.networks, "") != nil)
  }
}
