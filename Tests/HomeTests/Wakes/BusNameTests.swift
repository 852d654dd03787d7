import Testing

@testable import LockstepHome

/// Names on a message bus, as the D-Bus specification allows them.
struct BusNameTests {
  @Test(arguments: [
    "org.unifiedpush.Distributor.kde", "dev.lockstep.Agent.h0011223344556677", "a.b", "_a.-b",
    "a." + String(repeating: "b", count: 253),
  ])
  func validNamesAreTaken(_ name: String) { #expect(BusName.isValid(name)) }

  @Test(arguments: [
    "", ".", "a", "a.", ".a", "a..b", "1a.b", "a.1b", "a.b c", "a.b\n", "a.b\0", "a.bé", "a/b.c",
    ":1.5", "a.b@", "a.b[", "a.b`", "a.b{", "a." + String(repeating: "b", count: 254),
  ])
  func othersAreNot(_ name: String) { #expect(!BusName.isValid(name)) }
}
