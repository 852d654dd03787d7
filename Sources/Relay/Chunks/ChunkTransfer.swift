import LockstepModel
import LockstepRuntime
import LockstepStorage

/// The upload or download of a chunk by one request: its requests to the store, and its part in the
/// node's count of transfers. Its answer is the connection's.
struct ChunkTransfer: Sendable {
  private var upload: CopyOnWriteBox<ChunkUpload>?
  private var download: CopyOnWriteBox<ChunkDownload>?

  var isUploading: Bool { upload != nil }
  var isDownloading: Bool { download != nil }

  /// Discards an upload that ends before its chunk was added, or a download. The steps of an upload
  /// are done in order, so its file is removed after the step under way.
  mutating func drop(_ services: inout RelayServices) {
    if let upload = removeUpload(&services), upload.isBegun, let file = upload.file {
      services.removeFiles([file])
    }
    removeDownload(&services)
  }

  // MARK: uploads

  /// Number of complete parts of an upload received; nil if there is none.
  var partsReceived: Int? { upload?.value.partsReceived }

  /// Bytes in memory for an upload; nil if there is none.
  var uploadBytes: Int? { upload?.value.heldBytes }

  /// True if an upload has sent enough for now.
  var isUploadFull: Bool { upload?.value.isFull ?? false }

  /// True if the chunk store has been given the first step of an upload.
  var isUploadBegun: Bool { upload?.value.isBegun ?? false }

  /// Begins an upload. Returns a refusal if there is no room for it.
  mutating func beginUpload(_ hash: ChunkHash, _ services: inout RelayServices) -> Refusal? {
    guard services.transfers.hasRoomForUpload else { return StoreRefusals.tooManyUploads }
    guard !services.isDiskLow() else { return StoreHealth.diskLow }
    services.transfers.beginUpload()
    upload = CopyOnWriteBox(ChunkUpload(hash))
    return nil
  }

  mutating func receive(_ bytes: [UInt8]) { upload?.value.receive(bytes) }

  /// Marks the body of an upload as complete.
  mutating func endBody() { upload?.value.endBody() }

  /// Passes on received bytes, if the step before is done. `id`: the connection that gets the
  /// result. Returns a refusal if that is not possible.
  mutating func submitUploadStep(
    _ session: Session, for id: ConnectionID, _ services: inout RelayServices
  ) -> Refusal? {
    guard let hash = upload?.value.hash else { return nil }
    if upload?.value.file == nil {
      guard services.transfers.assignUpload(to: session.account) else {
        return StoreRefusals.tooManyUploads
      }
      upload?.value.file = ChunkFile(account: session.account, number: services.secrets.word())
    }
    guard let file = upload?.value.file, let step = upload?.value.nextStep() else { return nil }
    let request: ChunkRequest =
      switch step {
      case .append(let bytes): .append(file, bytes)
      case .finish: .finish(file, expecting: hash)
      }
    return services.submitFileRequest(request, for: .upload(id, file)) ? nil : StoreQueue.overloaded
  }

  /// True if the upload has this file. The end of an upload has already handled its file.
  func isUploading(to file: ChunkFile) -> Bool { upload?.value.file == file }

  /// Records that the step under way is done. Returns true if it was the last one: the file is
  /// complete and durable.
  mutating func completeStep() -> Bool {
    upload?.value.completeStep()
    return upload?.value.isFinished ?? false
  }

  /// Adds the chunk of a complete upload to the account. From here on the commit owns the file,
  /// whatever happens to the connection. Returns a refusal if too many requests are pending.
  mutating func addChunk(for id: ConnectionID, _ services: inout RelayServices) -> Refusal? {
    guard let upload = removeUpload(&services), let file = upload.file else { return nil }
    let request = CommitRequest.addChunk(file.account, upload.hash, file, bytes: upload.received)
    if services.submitCommit(request, for: .addChunk(id, file)) { return nil }
    services.removeFiles([file])
    return StoreQueue.overloaded
  }

  private mutating func removeUpload(_ services: inout RelayServices) -> ChunkUpload? {
    guard let upload = upload?.value else { return nil }
    self.upload = nil
    services.transfers.endUpload(of: upload.file?.account)
    return upload
  }

  // MARK: downloads

  /// True if the head of a download's answer was sent, and not all of its body.
  var isSendingBody: Bool { download.map { $0.value.head == nil } ?? false }

  /// True if all bytes of a download were read.
  var isDownloadOver: Bool { download?.value.isOver ?? false }

  mutating func beginDownload(_ download: ChunkDownload, _ services: inout RelayServices) {
    services.transfers.beginDownload()
    self.download = CopyOnWriteBox(download)
  }

  /// Reads the next part. `id`: the connection that gets it. Returns false if too many requests are
  /// pending.
  mutating func readPart(for id: ConnectionID, _ services: inout RelayServices) -> Bool {
    guard let file = download?.value.file, let range = download?.value.nextRead() else {
      return true
    }
    return services.submitFileRequest(
      .read(file, offset: range.lowerBound, count: range.count), for: .download(id, file))
  }

  /// True if the download is of this file.
  func isDownloading(_ file: ChunkFile) -> Bool { download?.value.file == file }

  /// Records the bytes of a read. Returns the answer's head after the first read.
  mutating func recordRead(_ count: Int) -> Answer? { download?.value.recordRead(count) }

  mutating func removeDownload(_ services: inout RelayServices) {
    guard isDownloading else { return }
    download = nil
    services.transfers.endDownload()
  }
}
