import LockstepModel
import LockstepWire

/// Result of reading some bytes: the events, and the fault that ended them.
struct WebSocketReading: Equatable {
  var events: [WebSocketEvent] = []
  var fault: UInt16?
  var bufferedBytes = 0

  init(
    _ chunks: [[UInt8]], role: WebSocketRole, maximumMessageBytes: Int = 1 << 20,
    deflate: DeflateTerms? = nil
  ) {
    var reader = WebSocketReader(
      role: role, maximumMessageBytes: maximumMessageBytes, deflate: deflate)
    do throws(WebSocketFault) {
      for chunk in chunks {
        reader.receive(chunk.span.bytes)
        while let event = try reader.next() { events.append(event) }
      }
    } catch {
      fault = error.closeCode
    }
    bufferedBytes = reader.bufferedBytes
  }

  init(_ bytes: [UInt8], role: WebSocketRole = .client) { self.init([bytes], role: role) }
}

/// Returns a frame of any kind, including invalid ones. `length`: the header's length, if it
/// differs from the real one; `form`: 0, 16 or 64 bits of length.
func frame(
  _ first: UInt8, _ payload: [UInt8] = [], mask: UInt32? = nil, length: UInt64? = nil,
  form: Int? = nil
) -> [UInt8] {
  let length = length ?? UInt64(payload.count)
  let form = form ?? (length < 126 ? 0 : length < 65_536 ? 16 : 64)
  let maskBit: UInt8 = mask == nil ? 0 : 0x80
  var frame = [first, maskBit | (form == 0 ? UInt8(length) : form == 16 ? 126 : 127)]
  for shift in stride(from: form - 8, through: 0, by: -8) {
    frame.append(UInt8(truncatingIfNeeded: length >> UInt64(shift)))
  }
  let key = (0..<4).map { UInt8(truncatingIfNeeded: (mask ?? 0) >> UInt32(24 - 8 * $0)) }
  if mask != nil { frame += key }
  return frame + payload.enumerated().map { $1 ^ key[$0 & 3] }
}
