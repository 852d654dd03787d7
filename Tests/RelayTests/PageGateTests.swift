import Changes
import Link
import Storage
import Testing

@testable import Relay

struct PageGateTests {
  private func page(of account: UInt64) -> StoreJob {
    .page(
      .changes(AccountID(rawValue: account), since: nil, zone: nil, limit: 1),
      as: PageForm(shape: .frame(request: nil)))
  }

  private func id(_ number: UInt64) -> JobID { JobID(rawValue: number) }

  @Test func onlySoManyAreReadAtOnce() {
    var gate = PageGate(limit: 2)
    var admitted: [Bool] = []
    for number: UInt64 in 1...4 { admitted.append(gate.admits(id(number), page(of: 1))) }
    #expect(admitted == [true, true, false, false])
    #expect(gate.next() == nil)
    gate.ended(id(2))
    #expect(gate.next()?.id == id(3))
    #expect(gate.next() == nil)
    gate.ended(id(1))
    gate.ended(id(3))
    #expect(gate.next()?.id == id(4))
    #expect(gate.next() == nil)
  }

  @Test func whoWaitsIsNotOvertakenByANewcomer() {
    var gate = PageGate(limit: 1)
    #expect(gate.admits(id(1), page(of: 1)) == true)
    #expect(gate.admits(id(2), page(of: 1)) == false)
    gate.ended(id(1))
    #expect(gate.admits(id(3), page(of: 2)) == false)
    #expect(gate.next()?.id == id(2))
  }

  @Test func accountsTakeTurns() {
    var gate = PageGate(limit: 1)
    #expect(gate.admits(id(0), page(of: 9)) == true)
    for number: UInt64 in 1...3 { #expect(gate.admits(id(number), page(of: 1)) == false) }
    #expect(gate.admits(id(4), page(of: 2)) == false)
    var order: [UInt64] = []
    gate.ended(id(0))
    while let next = gate.next() {
      order.append(next.id.rawValue)
      gate.ended(next.id)
    }
    #expect(order == [1, 4, 2, 3])
  }

  @Test func otherRequestsThatEndAreNoMatter() {
    var gate = PageGate(limit: 1)
    #expect(gate.admits(id(1), page(of: 1)) == true)
    gate.ended(id(7))
    #expect(gate.admits(id(2), page(of: 1)) == false)
    #expect(gate.next() == nil)
  }
}
