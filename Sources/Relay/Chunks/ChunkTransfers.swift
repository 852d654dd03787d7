import LockstepModel

/// Counts the uploads and downloads of chunks under way on a node, and limits the uploads, which
/// keep bytes in memory and files in the chunk store.
struct ChunkTransfers: Sendable {
  private let uploadLimit: Int
  private let uploadLimitPerAccount: Int
  private(set) var uploads = 0
  private(set) var downloads = 0
  /// Uploads by account, as soon as that is known; accounts with none are absent.
  private var uploadsByAccount: [AccountID: Int] = [:]

  init(_ limits: RelayLimits) {
    uploadLimit = limits.uploads
    uploadLimitPerAccount = limits.uploadsPerAccount
  }

  /// True if one more upload may begin.
  var hasRoomForUpload: Bool { uploads < uploadLimit }

  mutating func beginUpload() { uploads += 1 }

  /// Counts an upload for its account. Returns false, and does nothing, if the account has its
  /// maximum.
  mutating func assignUpload(to account: AccountID) -> Bool {
    let count = uploadsByAccount[account] ?? 0
    guard count < uploadLimitPerAccount else { return false }
    uploadsByAccount[account] = count + 1
    return true
  }

  /// `account`: nil if the upload was not counted for one.
  mutating func endUpload(of account: AccountID?) {
    uploads -= 1
    guard let account, let count = uploadsByAccount[account] else { return }
    uploadsByAccount[account] = count > 1 ? count - 1 : nil
  }

  mutating func beginDownload() { downloads += 1 }

  mutating func endDownload() { downloads -= 1 }
}
