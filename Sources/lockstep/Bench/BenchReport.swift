import Glibc
import LockstepEventLoop
import LockstepModel
import LockstepTools

/// Output of a bench's run: its figures and the requested reports.
struct BenchReport {
  static let report = CommandOption<[ReportFile]>.repeatable(
    "report", .report,
    "Show the run as a page (FILE.html) or a picture (FILE.svg) as well; may be repeated.")
  static let against = CommandOption.optional(
    "against", ValueKind.file,
    "An earlier run to stand beside it in the report: its page, or what --json printed.")

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
        "--against shows an earlier run in a report; name that, too: --report FILE.html",
        exitCode: .usage)
    }
    for file in files { try file.check() }
    earlier = if let against { try Self.run(in: against, of: kind) } else { nil }
    origin = RunOrigin(
      version: Lockstep.version, madeAt: SystemClock.moment().wall,
      command: RunCommandLine.text(
        "\(Lockstep.root.name) bench \(kind.rawValue)", options: arguments.given),
      machine: MachineFacts.all())
  }

  private static func run(in path: String, of kind: BenchKind) throws(CommandFailure) -> BenchRun {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw CommandFailure(
        (PlainFile.failure(path, "be read", errno).message ?? path)
          + "; --against names the page of an earlier run, or what --json printed")
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
