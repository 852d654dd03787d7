extension Japanese {
  static let common: [String: String] = [:]
}
