import LockstepRuntime
import Testing

@testable import LockstepEventLoop

struct ConnectionSlabTests {
  @Test func nameIsNeverUsedTwice() {
    var slab = ConnectionSlab()
    var seen: Set<ConnectionID> = []
    for _ in 0..<1_000 {
      let slot = slab.add(nil, nil, .open)
      let id = slab[slot].pointee.id
      #expect(seen.insert(id).inserted)
      check(slab.slot(of: id) == slot)
      slab.forget(slot)
      check(slab.slot(of: id) == nil)
      slab.free(slot)
    }
    check(slab.usedCount == 0 && slab.knownCount == 0)
  }

  @Test func growingKeepsOpenConnections() throws {
    var slab = ConnectionSlab()
    let ids = (0..<100).map { _ in slab[slab.add(nil, nil, .open)].pointee.id }
    #expect(Set(ids).count == 100)
    for id in ids { check(slab.slot(of: id).map { slab[$0].pointee.id } == id) }
    check(slab.knownCount == 100)
  }

  @Test func outgoingConnectionIsFoundByTheNodesName() {
    var slab = ConnectionSlab()
    let id = ConnectionID.outgoing(1 << 40)
    let slot = slab.add(id, nil, .lookingUp)
    check(slab.slot(of: id) == slot)
    check(slab.slot(of: .outgoing(1)) == nil)
    slab.forget(slot)
    check(slab.slot(of: id) == nil)
  }

  @Test func slotsThatNeverWereAreNotFound() {
    let slab = ConnectionSlab()
    check(slab.slot(of: ConnectionID(rawValue: 3)) == nil)
    check(slab.slot(of: Poller.Registration(slot: 9, generation: 1)) == nil)
  }

  private func found(_ slab: borrowing ConnectionSlab, _ id: ConnectionID) -> Int? {
    slab.slot(of: id)
  }

  /// Wrapper of `#expect`, which cannot inspect a noncopyable value.
  private func check(_ claim: Bool, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(claim, sourceLocation: sourceLocation)
  }
}
