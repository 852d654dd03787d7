import Glibc
import LockstepCommandLine
import LockstepEventLoop
import LockstepHome
import LockstepJSON
import LockstepModel

/// Output of a bench's run: its figures and the requested reports.
struct BenchOutput {
  static let report = CommandOption<[ReportFile]>.repeatable(
    "report", .report,
    "Also write the run as a page (FILE.html) or a picture (FILE.svg); may be repeated.")
  static let against = CommandOption.optional(
    "against", ValueKind.file,
    "An earlier run to compare with in the report: its page, or its --json output.")

  let origin: RunOrigin
  private let files: [ReportFile]
  private let earlier: BenchRun?

  /// Reads and checks all files before the bench, so that errors appear before it takes its time.
  /// `kind`: kind of the command's bench.
  init(_ arguments: Arguments, of kind: BenchKind) throws(CommandFailure) {
    files = arguments[Self.report]
    let against = arguments[Self.against]
    guard against == nil || !files.isEmpty else {
      throw CommandFailure(
        "--against needs --report; add --report FILE.html",
        exitCode: .usage)
    }
    for file in files { try file.check() }
    earlier = if let against { try Self.run(in: against, of: kind) } else { nil }
    origin = RunOrigin(
      version: LockstepVersion.current, madeAt: SystemClock.moment().wall,
      command: RunCommandLine.text(
        "lockstep bench \(kind.rawValue)", options: arguments.given),
      machine: MachineFacts.all())
  }

  private static func run(in path: String, of kind: BenchKind) throws(CommandFailure) -> BenchRun {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw CommandFailure(
        (PlainFile.failure(path, "be read", errno).message ?? path)
          + "; --against takes the page of an earlier run, or its --json output")
    }
    let bytes = try PlainFile(path: path, descriptor: descriptor).contents(
      atMost: BenchRun.fileBytesMost, "--against: \(path)")
    do throws(RunFault) {
      let run = try BenchRun(file: bytes)
      guard run.kind == kind else { throw .otherBench(run.kind, wanted: kind) }
      return run
    } catch {
      throw CommandFailure("--against: \(path): \(error)")
    }
  }

  /// Prints the figures first, so that they exist even if a file then cannot be written. `json`:
  /// printed instead of the text if not nil, together with the run, for a later --against.
  func finish(_ run: BenchRun, text: String, json: JSONValue?) throws(CommandFailure) {
    try TerminalOutput.standard.write(
      (json?.setting("run", to: run.json).text ?? text) + "\n")
    for file in files {
      switch file.format {
      case .page: try file.write(ReportPage.html(run, beside: earlier))
      case .picture: try file.write(ReportPicture.svg(run, beside: earlier))
      }
    }
  }
}

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
  private var temporaryPath: String {
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
      _ = try openTemporaryFile()
    } catch {
      throw CommandFailure(
        "--report: \(error.message ?? path); name a file in a folder that exists and is writable; "
          + "nothing was measured")
    }
    unlink(temporaryPath)
  }

  /// Replaces the file atomically: a reader, also after a crash, finds either the old or the new
  /// report.
  func write(_ bytes: [UInt8]) throws(CommandFailure) {
    do throws(CommandFailure) {
      let (file, descriptor) = try openTemporaryFile()
      try file.write(bytes)
      guard fsync(descriptor) == 0 else { throw PlainFile.failure(path, "be written", errno) }
      withExtendedLifetime(file) {}
      guard rename(temporaryPath, path) == 0 else {
        throw PlainFile.failure(path, "be written", errno)
      }
    } catch {
      unlink(temporaryPath)
      throw CommandFailure(
        "--report: \(error.message ?? path); the report was not written; the figures above are "
          + "complete")
    }
    FileSwap.syncFolder(FilePath.folder(of: path))
  }

  private func openTemporaryFile() throws(CommandFailure) -> (PlainFile, Int32) {
    unlink(temporaryPath)
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    let descriptor = open(temporaryPath, flags, 0o666)
    guard descriptor >= 0 else { throw PlainFile.failure(path, "be written", errno) }
    return (PlainFile(path: path, descriptor: descriptor), descriptor)
  }
}

extension ValueKind where Value == ReportFile {
  static var report: ValueKind {
    ValueKind("FILE", known: .files) { text throws(ValueFault) in
      guard let file = ReportFile(path: text) else {
        throw ValueFault(
          "\"\(text)\" ends neither in .html (a page) nor in .svg (a picture), as in bench.html")
      }
      return file
    }
  }
}
