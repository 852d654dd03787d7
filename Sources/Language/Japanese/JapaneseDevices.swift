extension Japanese {
  static let devices: [String: String] = [:]
}
