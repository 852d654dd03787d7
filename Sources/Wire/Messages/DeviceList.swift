public import LockstepModel

/// Answer to `GET /v1/devices`: `{"devices":[…]}`.
public struct DeviceList: Hashable, Sendable {
  public var devices: [Device]

  public init(_ devices: [Device]) { self.devices = devices }

  public func encodedBody() -> [UInt8] {
    var writer = JSONWriter(capacity: 32 + devices.count * 192)
    writer.beginObject()
    writer.member("devices")
    writer.beginArray()
    for device in devices { writer.device(device) }
    writer.endArray()
    writer.endObject()
    return writer.finish()
  }

  public static func decoded(body: [UInt8]) throws(Refusal) -> DeviceList {
    var reader = MessageReader(body.span.bytes, formCode: .badMessage)
    var devices: [Device]?
    var seen = MemberSet()
    try reader.enterObject()
    while let member = try reader.nextMember(&seen) {
      if member == .devices { devices = try reader.devices() } else { try reader.skip() }
    }
    try reader.finish()
    return DeviceList(try reader.require(devices, .devices))
  }
}

extension Device {
  /// Encodes the answer to `PATCH /v1/devices/{id}`.
  public func encodedBody() -> [UInt8] {
    var writer = JSONWriter(capacity: 192)
    writer.device(self)
    return writer.finish()
  }
}

extension MessageReader {
  fileprivate mutating func devices() throws(Refusal) -> [Device] {
    var devices: [Device] = []
    try enterArray(.devices)
    while try nextElement() {
      place = Place(list: .devices, index: devices.count)
      devices.append(try device())
      place = nil
    }
    return devices
  }

  private mutating func device() throws(Refusal) -> Device {
    var id: DeviceID?
    var description = DeviceDescription(deviceName: "", platform: "", appVersion: "")
    var lastSeen: Int64?
    var connected = false
    var seen = MemberSet()
    try enterObject()
    while let member = try nextMember(&seen) {
      switch member {
      case .deviceID: id = try deviceID(.deviceID)
      case .deviceName: description.deviceName = try string(.deviceName)
      case .platform: description.platform = try string(.platform)
      case .appVersion: description.appVersion = try string(.appVersion)
      case .lastSeen: lastSeen = try instant(.lastSeen)
      case .connected: connected = try bool(.connected)
      default: try skip()
      }
    }
    return Device(
      id: try require(id, .deviceID), description: description,
      lastSeen: try require(lastSeen, .lastSeen), connected: connected)
  }
}

extension JSONWriter {
  fileprivate mutating func device(_ device: Device) {
    beginObject()
    member("deviceID")
    string(device.id.text)
    description(device.description)
    member("lastSeen")
    integer(device.lastSeen)
    member("connected")
    bool(device.connected)
    endObject()
  }
}
