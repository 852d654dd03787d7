import Testing

@testable import LockstepStoragePostgres

struct PostgresSessionTests {
  @Test func anUnfitServerIsRefused() {
    #expect(throws: PostgresFault.self) {
      try PostgresSession.check(version: 120_022, isStandby: false, encoding: "UTF8")
    }
    #expect(throws: PostgresFault.self) {
      try PostgresSession.check(version: 150_018, isStandby: false, encoding: "LATIN1")
    }
    #expect(throws: Never.self) {
      try PostgresSession.check(version: 130_000, isStandby: false, encoding: "UTF8")
    }
  }

  @Test func aStandbyIsReportedAndMayBeRetried() {
    let fault = #expect(throws: PostgresFault.self) {
      try PostgresSession.check(version: 150_018, isStandby: true, encoding: "UTF8")
    }
    #expect(fault?.message.contains("that is a standby") == true && fault?.mayRepeat == true)
  }

  @Test func theServersLettersAreFoundInAnyLanguage() {
    let words = """
      Verbindung zu Server auf »db« fehlgeschlagen: FATAL:  28P01: Passwort-Authentifizierung
      ORT:  auth_failed, auth.c:335
      """
    let fault = PostgresSession.fault(ofConnecting: words)
    #expect(fault.cause == .refused(state: "28P01"))
    #expect(fault.message == "Passwort-Authentifizierung")
    let none = PostgresSession.fault(ofConnecting: "could not translate host name \"db\"\nx")
    #expect(none.cause == .lost && none.message == "could not translate host name \"db\"; x")
    let pooler = PostgresSession.fault(
      ofConnecting: "FATAL:  08P01: unsupported startup parameter: options\n")
    #expect(pooler.cause == .unfit && pooler.message.contains("ALTER ROLE"))
    let asked = PostgresSession.fault(ofConnecting: "fe_sendauth: no password supplied\n")
    #expect(asked.cause == .refused(state: "28P01"))
  }
}
