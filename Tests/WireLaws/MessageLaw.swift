import LockstepModel
import LockstepWire

extension WireLaw {
  /// Messages of both ends: a decoded message is decoded to the same value after it is encoded
  /// again.
  package static func messages(_ bytes: [UInt8]) throws(BrokenLaw) {
    if let message = decoded(bytes, DeviceMessage.decode) {
      // The content of a record with a refusal of its own is not kept and cannot be encoded again.
      if case .save(let request) = message,
        request.mutations.contains(where: { $0.refusal != nil })
      {
        return
      }
      let again = decoded(message.encoded(), DeviceMessage.decode)
      try expect(again == message, "\(message) is \(again as Any) said again")
    }
    _ = DeviceMessage.requestID(in: bytes)
    if let message = decoded(bytes, RelayMessage.decode) {
      let again = decoded(message.encoded(), RelayMessage.decode)
      try expect(again == message, "\(message) is \(again as Any) said again")
    }
  }

  private static func decoded<Message>(
    _ bytes: [UInt8], _ decode: ([UInt8]) throws(Refusal) -> Message
  ) -> Message? {
    do throws(Refusal) {
      return try decode(bytes)
    } catch {
      return nil
    }
  }
}
