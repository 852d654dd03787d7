import Glibc
import LockstepRelay
import TemporaryFolders
import Testing

@testable import LockstepRelayService

/// The owner's pages in a folder of the file system.
struct OwnerPagesTests {
  private let folder: TemporaryFolder
  private let root: String

  init() throws {
    folder = try TemporaryFolder()
    root = folder.path + "/pages"
    mkdir(root, 0o755)
    mkdir(root + "/sub", 0o755)
    write("index.html", "home")
    write("sub/app.js", "script")
    write("../secret", "outside")
  }

  private func write(_ name: String, _ text: String, bytes: Int? = nil) {
    let descriptor = open(root + "/" + name, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0o644)
    _ = Glibc.write(descriptor, text, text.utf8.count)
    if let bytes { ftruncate(descriptor, bytes) }
    close(descriptor)
  }

  private func text(_ names: String...) throws -> String? {
    guard case .file(let page, let tag) = try OwnerPages(root).entry(at: names) else { return nil }
    #expect(tag == PageFile(path: "other", bytes: page.bytes).tag)
    #expect(page.path == names.joined(separator: "/"))
    return String(decoding: page.bytes, as: UTF8.self)
  }

  @Test func filesAndFoldersAreTold() throws {
    #expect(try text("index.html") == "home")
    #expect(try text("sub", "app.js") == "script")
    let pages = OwnerPages(root)
    #expect(try pages.entry(at: []) == .folder)
    #expect(try pages.entry(at: ["sub"]) == .folder)
    #expect(try pages.entry(at: ["none"]) == .missing)
    #expect(try pages.entry(at: ["index.html", "x"]) == .missing)
    #expect(try OwnerPages(folder.path + "/none").entry(at: ["index.html"]) == .missing)
  }

  @Test func aChangedFileIsReadAnew() throws {
    #expect(try text("index.html") == "home")
    write("index.html", "new")
    #expect(try text("index.html") == "new")
  }

  /// The folder itself may be a link, so that a release can be replaced at once.
  @Test func noLinkLeadsOutOfTheFolder() throws {
    symlink("../secret", root + "/link")
    symlink("..", root + "/up")
    symlink("index.html", root + "/inside")
    let pages = OwnerPages(root)
    for names in [["link"], ["up", "secret"], ["up"], ["inside"]] {
      #expect(try pages.entry(at: names) == .missing, "\(names)")
    }
    symlink(root, folder.path + "/current")
    guard case .file = try OwnerPages(folder.path + "/current").entry(at: ["index.html"]) else {
      Issue.record("a link to the folder is not followed")
      return
    }
  }

  @Test func aPipeDoesNotHoldTheReader() throws {
    mkfifo(root + "/pipe", 0o644)
    #expect(try OwnerPages(root).entry(at: ["pipe"]) == .missing)
  }

  @Test func aFileHasALimit() throws {
    write("largest", "", bytes: 4 << 20)
    write("larger", "", bytes: (4 << 20) + 1)
    #expect(try text("largest")?.utf8.count == 4 << 20)
    #expect(try OwnerPages(root).entry(at: ["larger"]) == .tooLarge)
  }

  @Test func aFolderThatIsNotThereIsAFault() {
    #expect(OwnerPages.fault(of: root) == nil)
    let missing = OwnerPages.fault(of: root + "/none")
    #expect(missing?.contains("No such file or directory") == true)
    #expect(missing?.contains("--pages") == true)
    #expect(OwnerPages.fault(of: root + "/index.html")?.contains("Not a directory") == true)
  }
}
