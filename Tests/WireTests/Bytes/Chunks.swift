import LockstepModel

/// Returns ways in which a network may split `bytes` into chunks: whole, byte by byte, in two at
/// every position (of short ones), and at random.
func cuts(of bytes: [UInt8], seed: UInt64 = 1) -> [[[UInt8]]] {
  var cuts = [[bytes], bytes.map { [$0] }]
  if bytes.count < 300 {
    cuts += (0...bytes.count).map { [Array(bytes[..<$0]), Array(bytes[$0...])] }
  }
  var random = SeededRandom(seed: seed)
  for _ in 0..<10 { cuts.append(randomCut(of: bytes, using: &random)) }
  return cuts
}

func randomCut(of bytes: [UInt8], using random: inout SeededRandom) -> [[UInt8]] {
  var chunks: [[UInt8]] = []
  var rest = bytes[...]
  let most = Int.random(in: 1...max(1, min(bytes.count, 4_096)), using: &random)
  while !rest.isEmpty {
    let count = Int.random(in: 1...min(most, rest.count), using: &random)
    chunks.append(Array(rest.prefix(count)))
    rest = rest.dropFirst(count)
  }
  return chunks
}

/// Returns `bytes` with a few of them changed, removed, doubled or inserted.
func damaged(_ bytes: [UInt8], using random: inout SeededRandom) -> [UInt8] {
  var bytes = bytes
  let telling = Array("\r\n :;,/%?&#=\t0aF\u{0}".utf8) + [0x7F, 0x80, 0xFF, 0xC3]
  for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
    let index = Int.random(in: 0..<bytes.count, using: &random)
    let byte = telling[Int.random(in: 0..<telling.count, using: &random)]
    switch Int.random(in: 0..<6, using: &random) {
    case 0: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    case 1: bytes[index] = byte
    case 2: bytes.insert(byte, at: index)
    case 3: bytes.remove(at: index)
    case 4: bytes.removeSubrange(index...)
    default: bytes.insert(contentsOf: bytes[index...].prefix(20), at: index)
    }
  }
  return bytes
}

func randomBytes(_ count: Int, using random: inout SeededRandom) -> [UInt8] {
  (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
}
