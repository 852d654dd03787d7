extension Japanese {
  static let vault: [String: String] = [:]
}
