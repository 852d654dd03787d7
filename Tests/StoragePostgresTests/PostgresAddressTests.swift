import Testing

@testable import LockstepStoragePostgres

struct PostgresAddressTests {
  private func told(_ text: String) throws -> [String] {
    try PostgresAddress(text).parameters.map { "\($0.keyword)=\($0.value)" }
  }

  @Test func aURLIsParsedIntoItsParts() throws {
    #expect(
      try told("postgres://ada@db.example:6543/relay")
        == ["user=ada", "host=db.example", "port=6543", "dbname=relay"])
    #expect(
      try told("postgresql://db/relay?sslmode=verify-full&options=-csearch_path%3Dx")
        == ["host=db", "dbname=relay", "sslmode=verify-full", "options=-csearch_path=x"])
    #expect(try told("postgres://a%40b@[::1]:5/") == ["user=a@b", "host=::1", "port=5"])
    #expect(try told("postgres://one:1,two:2/d") == ["host=one,two", "port=1,2", "dbname=d"])
    #expect(try told("postgres://one,two:2") == ["host=one,two", "port=,2"])
    #expect(try told("postgres:///d?host=%2Frun%2Fpg") == ["dbname=d", "host=/run/pg"])
  }

  @Test func whatIsForThisProgramIsNotForTheLibrary() throws {
    let address = try PostgresAddress("postgres://pool/relay?prepared_statements=on&port=1")
    #expect(address.preparesBehindPooler)
    #expect(address.libraryParameters.map(\.keyword) == ["host", "dbname", "port"])
    #expect(try !PostgresAddress("postgres://pool/?prepared_statements=off").preparesBehindPooler)
    #expect(throws: PostgresAddressFault.part("prepared_statements")) {
      try PostgresAddress("postgres://pool/relay?prepared_statements=yes")
    }
  }

  @Test func omittedPartsAreLeftToTheEnvironment() throws {
    #expect(try told("postgres://").isEmpty)
    #expect(try told("postgres://?service=relay") == ["service=relay"])
    #expect(try PostgresAddress("postgres://").hosts == [PostgresAddress("postgres://")])
  }

  @Test func eachOfSeveralHostsIsTriedByItself() throws {
    let hosts = try PostgresAddress("postgres://u@one:1,two:2/d").hosts
    #expect(hosts.map { $0["host"] } == ["one", "two"])
    #expect(hosts.map { $0["port"] } == ["1", "2"])
    #expect(hosts.map { $0["dbname"] } == ["d", "d"])
    #expect(try PostgresAddress("postgres://one,two:2").hosts.map { $0["port"] } == [nil, "2"])
  }

  @Test(arguments: [
    "postgres://ada:secret@db/relay", "postgres://ada:se@cret@db/relay",
    "postgres://ada@db/relay?password=secret", "postgres://db?sslpassword=secret",
    "postgres://ada:@db",
  ]) func aPasswordIsRefusedAndNotRepeated(_ text: String) {
    let fault = #expect(throws: PostgresAddressFault.password) { try PostgresAddress(text) }
    #expect(fault?.description.contains("secret") == false)
    #expect(fault?.description.contains("PGPASSFILE") == true)
  }

  @Test(arguments: [
    ("mysql://db", PostgresAddressFault.scheme), ("db", .scheme), ("", .scheme),
    ("postgres://db:port", .part("port")), ("postgres://db:70000", .part("port")),
    ("postgres://db:", .part("port")), ("postgres://[::1", .part("host")),
    ("postgres://[::1]x", .part("host")), ("postgres://@db", .part("user")),
    ("postgres://db?colour=red", .keyword("colour")), ("postgres://db?sslmode", .part("sslmode")),
    ("postgres://db?connect_timeout=0", .keyword("connect_timeout")),
    ("postgres://db?host=other", .twice("host")), ("postgres://db/%4", .escape),
    ("postgres://db/%00", .escape), ("postgres://db/%ff", .escape), ("postgres://db/%zz", .escape),
  ]) func whatIsWrongIsNamed(_ text: String, _ fault: PostgresAddressFault) {
    #expect(throws: fault) { try PostgresAddress(text) }
    #expect(!fault.description.isEmpty)
  }

  @Test func errorsShowItWithoutItsParameters() throws {
    let address = try PostgresAddress("postgres://ada@db:1/relay?sslkey=%2Fkeys%2Fada")
    #expect(address.shown == "postgres://ada@db:1/relay")
  }
}
