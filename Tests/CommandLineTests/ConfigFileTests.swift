import LockstepModel
import LockstepRelay
import LockstepRelayService
import Testing

@testable import LockstepCommandLine

struct ConfigFileTests {
  private static let listen = CommandOption.defaulted(
    "listen", .listener, default: "127.0.0.1:5625", "Where to listen.")
  private static let store = CommandOption.required("store", .folder, "Where.")
  private static let open = CommandOption.flag("open", "For all.")
  private static let limits = CommandOption.optional(
    "limits",
    ValueKind<String>("NAME=VALUE,…") { text throws(ValueFault) in
      for pair in text.split(separator: ",") where !pair.hasPrefix("l") {
        throw ValueFault("there is no limit \"\(pair.prefix { $0 != "=" })\"")
      }
      return text
    }, "Bounds.")
  private static let command = Command(
    name: "serve", summary: "Serves.",
    options: [listen.entry, store.entry, open.entry, limits.entry, ConfigFile.option.entry]
  ) { _ throws(CommandFailure) in .success }
  private static let root = Command(name: "program", summary: "Does.", subcommands: [command])

  private func read(_ text: String) -> ConfigFile {
    ConfigFile(Array(text.utf8), options: Self.command.options)
  }

  private func faults(_ text: String) -> [String] {
    read(text).faults.map { "\($0.line): \($0.reason)" }
  }

  private func arguments(
    _ line: String, environment: [String: String] = [:], file: String
  ) throws -> Arguments {
    let parser = ArgumentsParser(
      root: Self.root, environment: { environment[$0] },
      readFile: { name throws(CommandFailure) in
        guard name == "f.conf" else { throw CommandFailure("\(name) cannot be read") }
        return Array(file.utf8)
      })
    guard
      case .run(_, _, let arguments) = try parser.parse(line.split(separator: " ").map(String.init))
    else { throw ValueFault("\(line) is not run") }
    return arguments
  }

  @Test func aByteOrderMarkMeansNothing() {
    let file = read("\u{FEFF}listen = [::1]:7\r\n")
    #expect(file.faults.isEmpty && file.entries["listen"]?.text == "[::1]:7")
    #expect(faults("open = yes\n\u{FEFF}open = yes") != [])
  }

  @Test func keysAreTheOptionsNames() {
    let file = read(
      """
      # Where devices connect.
      listen = [::1]:7   # behind white space
        store=/a b#c
      open = yes\r

      [limits]
      lines = 2
      lanes = 3 # few
      """)
    #expect(file.faults.isEmpty)
    #expect(file.entries["listen"] == ConfigFile.Entry(text: "[::1]:7", line: 2))
    #expect(file.entries["store"] == ConfigFile.Entry(text: "/a b#c", line: 3))
    #expect(file.entries["open"] == ConfigFile.Entry(text: "yes", line: 4))
    #expect(file.entries["limits"] == ConfigFile.Entry(text: "lines=2,lanes=3", line: 7))
  }

  @Test func quotesKeepWhatIsInThem() {
    #expect(read(#"store = " a # \" \\ b " # c"#).entries["store"]?.text == #" a # " \ b "#)
    #expect(faults(#"store = "a"#) == ["1: the closing quote is missing"])
    #expect(faults(#"store = "a" b"#) == ["1: something stands behind the closing quote"])
    #expect(faults(#"store = "\n""#) == [#"1: within quotes, \ stands before " or \ only"#])
  }

  @Test func allFaultsAreToldAtOnceWithTheirLines() {
    #expect(
      faults(
        """
        lisen = 127.0.0.1:1
        listen = nowhere
        open = yes
        open = no
        store
        store =
        config = other
        [limit]
        [limits]
        lines = 1
        bytes = 2
        lines = 3
        """) == [
          "1: there is no setting \"lisen\"; did you mean listen?",
          "2: listen: \"nowhere\" is no address and port, such as 127.0.0.1:5625 or [::1]:0",
          "4: open is set twice, in line 3 too; keep one of them",
          "5: \"store\" is not of the form key = value",
          "6: it has no value; put # in front of the line for the usual one",
          "7: there is no setting \"config\"",
          "8: there is no section \"limit\"; did you mean limits?",
          "11: limits: there is no limit \"bytes\"",
          "12: lines is set twice, in line 10 too; keep one of them",
        ])
  }

  @Test func whatIsNoTextIsRefused() {
    let latin = Array("store = caf".utf8) + [0xE9]
    #expect(
      ConfigFile(latin, options: Self.command.options).faults
        == [ConfigFile.Fault(line: 1, reason: "it is not UTF-8 text")])
    #expect(faults("\nstore = a\0b") == ["2: it holds a zero byte"])
    let large = String(repeating: "# x\n", count: Limits.configBytes / 4)
    #expect(faults(large).isEmpty)
    #expect(faults(large + "#") == ["0: it has over 256 KiB"])
    #expect(faults("a\u{1B}[2Jb") == ["1: \"a\\u{1B}[2Jb\" is not of the form key = value"])
  }

  @Test func theLineGoesBeforeTheEnvironmentAndThatBeforeTheFile() throws {
    let file = "listen = f:3\nstore = /f\nopen = yes\n[limits]\nlanes = 3\nlines = 3\n"
    let all = try arguments("serve --config f.conf", file: file)
    #expect(all[Self.listen] == .host("f", port: 3))
    #expect(all[Self.store] == "/f")
    #expect(all[Self.open])
    let environment = [
      "LOCKSTEP_LISTEN": "e:2", "LOCKSTEP_CONFIG": "f.conf", "LOCKSTEP_LIMITS": "lanes=2",
    ]
    let over = try arguments("serve", environment: environment, file: file)
    #expect(over[Self.listen] == .host("e", port: 2))
    #expect(over[Self.limits] == "lines=3,lanes=2", "a list is joined, name by name")
    let line = try arguments("serve --listen l:1 --open=no", environment: environment, file: file)
    #expect(line[Self.listen] == .host("l", port: 1))
    #expect(!line[Self.open])
    #expect(
      line.settings == [
        Arguments.Setting(name: "listen", text: "l:1", source: .commandLine),
        Arguments.Setting(name: "store", text: "/f", source: .file("f.conf", line: 2)),
        Arguments.Setting(name: "open", text: "no", source: .commandLine),
        Arguments.Setting(
          name: "limits", text: "lines=3,lanes=2", source: .environment("LOCKSTEP_LIMITS")),
      ])
    let usual = try arguments("serve --store s", file: file)
    #expect(usual.settings.first?.source == .defaultValue)
    #expect(usual.settings.first?.text == "127.0.0.1:5625")
    #expect(usual.settings.map(\.source.text) == ["default", "flag", "default", "default"])
  }

  @Test func aBadFileIsAFaultOfTheLine() {
    func explanation(_ line: String, _ file: String) -> String {
      do {
        _ = try arguments(line, file: file)
        return "none"
      } catch { return (error as? ArgumentsFault)?.explanation ?? "\(error)" }
    }
    #expect(
      explanation("serve --config f.conf", "a = 1\nb = 2\n")
        == """
        f.conf:1: there is no setting "a"
        f.conf:2: there is no setting "b"
        nothing was done; `program serve --help` shows its usage
        """)
    #expect(
      explanation("serve --config g.conf", "").hasPrefix("--config: g.conf cannot be read; "))
    #expect(
      explanation("serve --config f.conf", "listen = a:1\n").hasPrefix("--store DIR is missing"))
  }
}

/// The shipped sample file shows each option's default.
struct SampleConfigTests {
  private static let sample: String = {
    do {
      let path = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
      return String(
        decoding: try ConfigFile.bytes(of: "/\(path)/docs/relay.conf"), as: UTF8.self)
    } catch {
      return ""
    }
  }()

  private static let options = RelayCommand.command.options.filter {
    !ConfigFile.commandLineOnly.contains($0.name)
  }

  /// The commented settings, after a person has removed each `#`.
  private static let uncommented = sample.split(separator: "\n").filter { line in
    line.hasPrefix("#") && !line.hasPrefix("# ") && line != "#"
  }.map { String($0.dropFirst()) }

  @Test func everySettingIsShownWithItsDefault() {
    for option in Self.options where !option.isList {
      let row = Self.uncommented.first { $0.hasPrefix("\(option.name) = ") }
      guard let row else {
        Issue.record("docs/relay.conf does not show \(option.name)")
        continue
      }
      // These defaults depend on the machine.
      if option.name == "store" || option.name == "loops" { continue }
      if case .default(let usual) = option.presence { #expect(row == "\(option.name) = \(usual)") }
      if option.isFlag { #expect(row == "\(option.name) = false") }
    }
  }

  @Test func everyLimitIsShownWithItsDefault() {
    for limit in SettableLimit.all {
      #expect(Self.uncommented.contains("\(limit.name) = \(limit.usual)"), "\(limit.name)")
    }
  }

  @Test func asItIsAndUncommentedItIsRead() {
    #expect(ConfigFile(Array(Self.sample.utf8), options: Self.options).faults == [])
    #expect(ConfigFile(Array(Self.sample.utf8), options: Self.options).entries.isEmpty)
    let all = Self.uncommented.joined(separator: "\n")
    #expect(ConfigFile(Array(all.utf8), options: Self.options).faults == [])
  }
}
