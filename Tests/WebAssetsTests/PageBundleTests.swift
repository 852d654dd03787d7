import Foundation
import LockstepWebAssets
import Testing

struct PageBundleTests {
  /// The embedded pages equal the files in `Sources/WebClient`, byte by byte.
  @Test func everyPageIsInTheProgram() throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Sources/WebClient").standardizedFileURL
    let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { name in
      var isFolder: ObjCBool = false
      let path = folder.appending(path: name).path
      return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
        && !isFolder.boolValue
    }
    let pages = PageBundle.all
    #expect(pages.map(\.path).sorted() == files.sorted())
    for page in pages {
      let content = try Data(contentsOf: folder.appending(path: page.path))
      #expect(Data(page.bytes) == content, "\(page.path)")
    }
  }
}
