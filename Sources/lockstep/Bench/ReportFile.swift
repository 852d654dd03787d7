import Glibc
import LockstepTools

/// Output file of a report. The suffix of its name selects a page or a picture.
struct ReportFile: Hashable {
  enum Format: String, CaseIterable {
    case page = ".html"
    case picture = ".svg"
  }

  let path: String
  let format: Format

  /// Returns nil if the suffix names no format.
  init?(path: String) {
    let name = FilePath.name(of: path).lowercased()
    guard
      let format = Format.allCases.first(where: {
        name.hasSuffix($0.rawValue) && name.utf8.count > $0.rawValue.utf8.count
      })
    else { return nil }
    self.path = path
    self.format = format
  }

  /// Temporary file in the same folder, so that a rename replaces the report atomically.
  private var fresh: String {
    FilePath.joined(
      FilePath.folder(of: path), ".\(FilePath.name(of: path)).lockstep-new")
  }

  /// Checks that the file can be written, before a bench takes its time. Leaves nothing behind.
  func check() throws(CommandFailure) {
    var status = stat()
    if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
      throw CommandFailure(
        "--report: \(path) is a folder; name a file in it, such as \(path)/bench.html",
        exitCode: .usage)
    }
    do throws(CommandFailure) {
      _ = try opened()
    } catch {
      throw CommandFailure(
        "--report: \(error.message ?? path); name a file in a folder that is there and takes it; "
          + "nothing was measured")
    }
    unlink(fresh)
  }

  /// Replaces the file atomically: a reader, also after a crash, finds either the old or the new
  /// report.
  func write(_ bytes: [UInt8]) throws(CommandFailure) {
    do throws(CommandFailure) {
      let (file, descriptor) = try opened()
      try file.write(bytes)
      guard fsync(descriptor) == 0 else { throw PlainFile.failure(path, "be written", errno) }
      withExtendedLifetime(file) {}
      guard rename(fresh, path) == 0 else { throw PlainFile.failure(path, "be written", errno) }
    } catch {
      unlink(fresh)
      throw CommandFailure(
        "--report: \(error.message ?? path); the figures above are all that is left of the run")
    }
    FileSwap.syncFolder(FilePath.folder(of: path))
  }

  private func opened() throws(CommandFailure) -> (PlainFile, Int32) {
    unlink(fresh)
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    let descriptor = open(fresh, flags, 0o666)
    guard descriptor >= 0 else { throw PlainFile.failure(path, "be written", errno) }
    return (PlainFile(path: path, descriptor: descriptor), descriptor)
  }
}

extension ValueKind where Value == ReportFile {
  static var report: ValueKind {
    ValueKind("FILE") { text throws(ValueFault) in
      guard let file = ReportFile(path: text) else {
        throw ValueFault(
          "\"\(text)\" ends neither in .html (a page) nor in .svg (a picture), as in bench.html")
      }
      return file
    }
  }
}
