import LockstepModel
import LockstepWire
import Testing

struct IncomingBytesTests {
  @Test func bytesComeOutInTheOrderTheyCameIn() {
    var random = SeededRandom(seed: 3)
    var incoming = IncomingBytes()
    var model: [UInt8] = []
    for _ in 0..<5_000 {
      switch Int.random(in: 0..<4, using: &random) {
      case 0, 1:
        let bytes = randomBytes(Int.random(in: 0..<40, using: &random), using: &random)
        incoming.append(bytes.span.bytes)
        model += bytes
      case 2:
        let count = Int.random(in: 0...min(60, model.count), using: &random)
        #expect(incoming.removePrefix(count) == Array(model[..<count]))
        model.removeFirst(count)
      default:
        let count = Int.random(in: 0...min(60, model.count), using: &random)
        incoming.drop(count)
        model.removeFirst(count)
      }
      #expect(incoming.count == model.count)
      #expect(incoming.isEmpty == model.isEmpty)
      guard let first = model.first, let last = model.last else { continue }
      #expect(incoming[0] == first)
      #expect(incoming.bytes(0..<model.count)[model.count - 1] == last)
    }
  }

  @Test func takingAllLeavesNothing() {
    var incoming = IncomingBytes()
    incoming.append(([1, 2, 3] as [UInt8]).span.bytes)
    #expect(incoming.removePrefix(3) == [1, 2, 3])
    #expect(incoming.isEmpty)
    incoming.append(([4] as [UInt8]).span.bytes)
    incoming.removeAll()
    #expect(incoming.isEmpty)
    #expect(incoming.removePrefix(0) == [])
  }
}
