import Foundation
import LockstepClient
import LockstepCommandLine
import LockstepModel
import LockstepSealing
import LockstepStorage
import TemporaryFolders
import Testing

@testable import Lockstep
@testable import LockstepHome

/// The export of a home whose account seals its records.
struct HomeExportTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func theContentOfFilesIsExported() async throws {
    let phone = try await home()
    try folder.write("a photo of the lake", to: "lake.jpg")
    let image = try await phone.attach(
      contentsOf: URL(filePath: folder.path("lake.jpg")), for: Photo.self)
    try await phone.save(Photo(id: "1", image: image))
    await phone.close()
    let done = try export()
    #expect(done.chunks == 1 && done.sealedChunks == 0)
    #expect(try exported("chunks", image) == Data("a photo of the lake".utf8))
  }

  @Test func whatDoesNotOpenIsExportedApart() async throws {
    let phone = try await home()
    try folder.write("a photo of the lake", to: "lake.jpg")
    let image = try await phone.attach(
      contentsOf: URL(filePath: folder.path("lake.jpg")), for: Photo.self)
    let seal = FileReference.Seal(zone: Name(trusted: Photo.zone), key: "0123456789abcdef")
    let other = FileReference(
      name: "lake.jpg", bytes: image.bytes, chunks: image.chunks, seal: seal)
    try await phone.save(Photo(id: "1", image: other))
    await phone.close()
    let done = try export()
    #expect(done.chunks == 0 && done.sealedChunks == 1)
    #expect(try exported("chunks-sealed", image).count > image.bytes)
  }

  private func home() async throws -> Lockstep {
    let relay = "http://127.0.0.1:1"
    let phone = try await Lockstep.open(
      at: URL(filePath: folder.path("home")), relay: try #require(URL(string: relay)),
      records: [Photo.self])
    let identity = HomeIdentity(
      relay: relay,
      credentials: Credentials(
        account: AccountID(rawValue: 7), device: DeviceID(rawValue: 1), token: "secret"),
      deviceName: "phone")
    let keys = JoinedKeys(DeviceKeys.make())
    let report = try await phone.engine.perform({ .join($0, identity, keys) })
    guard case .joined(_, .success) = report else { throw LockstepError.notJoined }
    return phone
  }

  private func export() throws -> HomeExport.Outcome {
    let target = try ExportFolder(path: folder.path("export"), folders: HomeExport.folders)
    let home = HomeFolder(path: folder.path("home"))
    return try HomeExport(home: home, folder: target) { () throws(CommandFailure) in false }.run()
  }

  private func exported(_ folder: String, _ reference: FileReference) throws -> Data {
    let path = "export/\(folder)/\(reference.chunks[0].text)"
    return try Data(contentsOf: URL(filePath: self.folder.path(path)))
  }
}

private struct Photo: SyncedRecord {
  static let zone = "Photos"
  var id = RecordID.random()
  var image: FileReference?
}
