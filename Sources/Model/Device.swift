/// Description that a device gives of itself when it joins.
public struct DeviceDescription: Hashable, Sendable {
  public var deviceName: String
  public var platform: String
  public var appVersion: String

  public init(deviceName: String, platform: String, appVersion: String) {
    self.deviceName = deviceName
    self.platform = platform
    self.appVersion = appVersion
  }
}

/// Device of an account, as `GET /v1/devices` lists it.
public struct Device: Hashable, Sendable {
  public var id: DeviceID
  public var description: DeviceDescription
  /// Relay time, milliseconds since the Unix epoch.
  public var lastSeen: Int64
  public var connected: Bool

  public init(id: DeviceID, description: DeviceDescription, lastSeen: Int64, connected: Bool) {
    self.id = id
    self.description = description
    self.lastSeen = lastSeen
    self.connected = connected
  }
}

/// Identity of a device after it has joined, and the secret that proves it.
public struct Credentials: Hashable, Sendable {
  public var account: AccountID
  public var device: DeviceID
  /// The bearer token. Never logged, never on a command line.
  public var token: String

  public init(account: AccountID, device: DeviceID, token: String) {
    self.account = account
    self.device = device
    self.token = token
  }
}
