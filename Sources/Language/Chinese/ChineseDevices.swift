extension Chinese {
  static let devices: [String: String] = [:]
}
