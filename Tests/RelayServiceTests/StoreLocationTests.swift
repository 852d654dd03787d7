import LockstepCommandLine
import Testing

@testable import LockstepRelayService

struct StorePlaceTests {
  private func fault(_ text: String) -> String {
    do throws(ValueFault) {
      return "it was taken for \(try StoreLocation(text).text)"
    } catch {
      return error.reason
    }
  }

  @Test func whatIsNoAddressIsAFolder() throws {
    #expect(try StoreLocation("/var/lib/lockstep") == .folder("/var/lib/lockstep"))
    #expect(try StoreLocation("postgres").text == "postgres")
    #expect(fault("").contains("empty"))
  }

  @Test func anAddressIsADatabase() throws {
    let place = try StoreLocation("postgres://me@db.example/lockstep?sslmode=verify-full")
    guard case .database = place else {
      Issue.record("it was taken for a folder")
      return
    }
    #expect(place.text == "postgres://me@db.example/lockstep")
    #expect(try StoreLocation("postgresql://me@db.example/lockstep") != place)
  }

  @Test func noPasswordIsTakenNorRepeated() {
    let said = fault("postgres://me:hunter2@db.example/lockstep")
    #expect(said.contains("password"))
    #expect(!said.contains("hunter2"))
  }

  @Test func otherAddressesAreRefused() {
    #expect(!fault("mysql://me@db.example/lockstep").contains("taken for"))
    #expect(!fault("https://relay.example").contains("taken for"))
  }

  @Test func whatAFolderAloneCanDoIsRefusedOfADatabase() throws {
    #expect(try StoreLocation("/s").folder(insteadOfDatabase: "") == "/s")
    let database = try StoreLocation("postgres:///x")
    do throws(CommandFailure) {
      _ = try database.folder(insteadOfDatabase: "take pg_dump")
      Issue.record("it was done")
    } catch {
      #expect(error.message?.contains("pg_dump") == true)
    }
  }
}
