import LockstepCommandLine
import Testing

@testable import LockstepRelayService

struct BusAddressTests {
  private func fault(_ text: String) -> String {
    do throws(ValueFault) {
      return "it was taken for \(try BusAddress(text).text)"
    } catch {
      return error.reason
    }
  }

  @Test func aDatabaseIsABus() throws {
    let bus = try BusAddress("postgresql://me@db.example:5432/lockstep?sslmode=require")
    #expect(bus.text == "postgresql://me@db.example:5432/lockstep")
    #expect(try BusAddress("postgres://db.example/lockstep") != bus)
  }

  @Test func whatIsNoBusIsRefusedWithTheForm() {
    for text in ["", "/var/lib/lockstep", "mysql://db.example/x", "redis", "://", "POSTGRES://x"] {
      #expect(fault(text).contains("postgres://user@host:5432/database"), "\(text)")
    }
    #expect(fault("postgres://db.example/x?nonsense=1").contains("nonsense"))
  }

  @Test func noPasswordIsTakenNorRepeated() {
    let said = fault("postgres://me:hunter2@db.example/lockstep")
    #expect(said.contains("password"))
    #expect(!said.contains("hunter2"))
  }

  @Test func aFolderHasNoBus() throws {
    let bus = try BusAddress("postgres://db.example/lockstep")
    let said = BusAddress.fault(of: bus, for: .folder("/var/lib/lockstep"))
    #expect(said?.contains("/var/lib/lockstep is a folder; remove --bus") == true)
    #expect(BusAddress.connectionFault(of: bus, for: .folder("/s")) != nil)
    #expect(BusAddress.fault(of: nil, for: .folder("/s")) == nil)
    let database = try StoreLocation("postgres://pooler.example/lockstep")
    #expect(BusAddress.fault(of: bus, for: database) == nil)
    #expect(BusAddress.connectionFault(of: nil, for: database) == nil)
  }

  @Test func settingsOfAFileAreChecked() throws {
    #expect(throws: CommandFailure.self) {
      try RelayCommand.check(settings: "store = /s\nbus = postgres://db.example/x\n")
    }
    try RelayCommand.check(settings: "store = postgres://p/x\nbus = postgres://db.example/x\n")
  }
}
