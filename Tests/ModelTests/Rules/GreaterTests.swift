import LockstepJSON
import LockstepModel
import Testing

struct GreaterTests {
  @Test func theGreaterNumberStays() throws {
    #expect(Greater.number(1, 2) == 2)
    #expect(Greater.number(2, 1) == 2)
    #expect(Greater.number(try json("1.5"), 1) == (try json("1.5")))
    #expect(
      Greater.number(try json("9007199254740993"), try json("9007199254740992"))
        == (try json("9007199254740993")))
    #expect(Greater.number(-1, nil) == -1)
    #expect(Greater.number(nil, -1) == -1)
  }

  @Test func whatIsNoNumberCountsForNothing() {
    #expect(Greater.number("7", 1) == 1)
    #expect(Greater.number(0, .null) == 0)
    #expect(Greater.number("7", .null) == nil)
    #expect(Greater.number(nil, nil) == nil)
  }

  @Test func everyNameOfBothSidesHasItsGreatest() {
    let newer: JSONValue = ["a": 1, "b": 5, "x": "new"]
    let older: JSONValue = ["a": 3, "c": 2, "x": "old", "y": "old"]
    #expect(
      Greater.numbers(newer, older) == ["a": 3, "b": 5, "c": 2, "x": "new", "y": "old"])
    #expect(Greater.numbers(newer, "none") == newer)
    #expect(Greater.numbers(nil, older) == older)
    #expect(Greater.numbers(nil, 5) == nil)
  }

  @Test func namesAreToldApartByTheirBytes() {
    let counts = Greater.numbers(["é": 1], ["e\u{301}": 2])
    #expect(counts?.members?.count == 2)
  }

  /// As many names as fit into a record: the merge must be linear, not quadratic.
  @Test func aRecordFullOfCountsIsMerged() {
    func counts(_ value: Int64, _ first: Int64) -> JSONValue {
      .object(
        (first..<first + 80_000).map {
          JSONMember("device \($0)", .number(JSONNumber(value + $0 % 2)))
        })
    }
    let greatest = Greater.numbers(counts(5, 0), counts(4, 40_000))
    #expect(greatest?.members?.count == 120_000)
    #expect(greatest?["device 0"] == 5 && greatest?["device 119999"] == 5)
    #expect(greatest?["device 79999"] == 6 && greatest?["device 80000"] == 4)
  }
}
