import Testing

/// Every rule must be able to fail: each is tested with text that breaks it and text that does not.
struct RuleTests {
  private func file(_ path: String, _ content: String) -> SourceFile {
    SourceFile(path: path, content: content)
  }

  private func relay(_ content: String) -> SourceFile { file("Sources/Relay/X.swift", content) }

  @Test func textsForPeopleAreReadFromTheirCalls() {
    let code = #"""
      say(localized("Removed \"{name}\"."))
      say(localized("One " + "text\u{2026}", ["a": localized("inner")]))
      say(localized(count: n, one: "{count} memo", many: "{count} memos"))
      package func localized(_ text: String) {}
      """#
    let rule = LanguageRule([file("Sources/Home/X.swift", code)])
    #expect(
      rule.texts == ["Removed \"{name}\".", "One text\u{2026}", "inner", "{count} memos"])
    #expect(rule.faults.isEmpty)
    for call in [#"localized("a \(b)")"#, "localized(text)", #"localized("a" + b)"#] {
      #expect(LanguageRule([file("Sources/Home/X.swift", call)]).faults.count == 1, "\(call)")
    }
  }

  @Test func forbiddenWordsAreFoundInCodeAlone() {
    #expect(WordRule.faults(in: relay("func f() async {}")).count == 1)
    #expect(WordRule.faults(in: relay("let m = Mutex(0)")).count == 1)
    #expect(WordRule.faults(in: relay("let now = Date()")).count == 1)
    #expect(WordRule.faults(in: relay("// async\nlet a = \"await\"")).isEmpty)
    #expect(WordRule.faults(in: relay("case time(id: String)\nself.time(1)")).isEmpty)
    #expect(WordRule.faults(in: file("Sources/EventLoop/X.swift", "let m = Mutex(0)")).isEmpty)
    #expect(WordRule.faults(in: file("Sources/EventLoop/X.swift", "fatalError()")).count == 1)
    #expect(WordRule.faults(in: relay("import Foundation")).count == 1)
    #expect(WordRule.faults(in: relay("import struct Foundation.Date")).count == 1)
    #expect(WordRule.faults(in: relay("internal import Glibc")).count == 1)
    #expect(WordRule.faults(in: file("Sources/StorageFiles/X.swift", "import Glibc")).isEmpty)
  }

  @Test func unseededRandomnessIsFound() {
    #expect(WordRule.faults(in: relay("Int.random(in: 0..<3)")).count == 1)
    #expect(WordRule.faults(in: relay("Int.random(in: 0..<3, using: &random)")).isEmpty)
  }

  @Test func theLoopKnowsNoWordOfTheProduct() {
    #expect(
      WordRule.faults(in: file("Sources/EventLoop/X.swift", "var openSessions = 0")).count == 1)
    #expect(WordRule.faults(in: file("Sources/EventLoop/X.swift", "f(\"a zone fell\")")).count == 1)
    #expect(WordRule.faults(in: file("Sources/EventLoop/X.swift", "var recorder = 0")).isEmpty)
    #expect(WordRule.faults(in: relay("var openSessions = 0")).isEmpty)
  }

  @Test func walksOverDictionariesAreFound() {
    let declared = "var sessions: [ID: Session] = [:]\n"
    #expect(OrderRule.faults(in: relay(declared + "for (a, b) in sessions { f(a) }")).count == 1)
    #expect(OrderRule.faults(in: relay(declared + "sessions.map { $0 }")).count == 1)
    #expect(OrderRule.faults(in: relay(declared + "for a in sessions.keys.sorted() {}")).isEmpty)
    #expect(OrderRule.faults(in: relay(declared + "for a in sessions.values {}")).count == 1)
    #expect(OrderRule.faults(in: relay(declared + "sessions[a]?.close()")).isEmpty)
    #expect(OrderRule.faults(in: relay(declared + "sessions.values[place] = 1")).isEmpty)
    #expect(OrderRule.faults(in: relay("let a = Set<Int>()\nfor b in a {}")).count == 1)
    #expect(OrderRule.faults(in: relay("let a: [(x: Int, y: Int)] = []\nfor b in a {}")).isEmpty)
  }

  @Test func whatDoesNotFitOnAScreenIsFound() {
    let long = "func f() {\n" + String(repeating: "  g()\n", count: 60) + "}\n"
    #expect(SizeRule.faults(in: relay(long)).map(\.line) == [1])
    let short = "func f() {\n" + String(repeating: "  g()\n", count: 58) + "}\n"
    #expect(SizeRule.faults(in: relay(short)).isEmpty)
    #expect(SizeRule.faults(in: relay(String(repeating: "a", count: 101))).count == 1)
  }

  @Test func requirementsOfProtocolsHaveNoBody() {
    let source = "protocol P {\n  func a() -> Int\n  init(b: Int)\n}\nfunc c() { d() }"
    #expect(
      SizeRule.functions(in: SwiftText(source)) == [
        SizeRule.Function(name: "c", line: 5, lines: 1)
      ])
  }

  @Test func droppedErrorsAreFound() {
    for source in [
      "try! f()", "try? f()", "a as! B", "a!", "a!.b", "f()![0]", "a[0]!", "var a: B!",
    ] {
      #expect(DropRule.faults(in: relay(source)).count == 1, "\(source)")
    }
    for source in ["!a", "a != b", "f(!a)", "try f()", "a as? B", "a ? !b : c", "\"a!\"", "a?.b"] {
      #expect(DropRule.faults(in: relay(source)).isEmpty, "\(source)")
    }
  }

  @Test func objectsThatGrowByCopyingAreFound() {
    for source in [
      "for a in b { c = c.setting(a.name, to: a.value) }",
      "a.reduce([:]) { $0.setting($1.name, to: $1.value) }",
      "while let a = b() { if c { d = d.setting(a, to: 1) } }",
      "a.map { b in records.first { $0.key == b } }",
      "for a in b { guard let c = state.records.first(where: { $0 == a }) else { continue } }",
    ] {
      #expect(GrowthRule.faults(in: relay(source)).count == 1, "\(source)")
    }
    for source in [
      "for a in [\"x\", \"y\"] { c = c.setting(a, to: 1) }", "for a in b { c.setting(a) }",
      "a.setting(\"x\", to: 1)", "let b = records.first { $0.key == a }",
      "for a in b { c.append(d.setting(\"x\", to: a)) }",
      "a.map { $0.setting(\"x\", to: nil) }",
      "a.map { var c = $0; if b { c = c.setting(\"x\", to: 1) } }",
    ] {
      #expect(GrowthRule.faults(in: relay(source)).isEmpty, "\(source)")
    }
  }

  @Test func emptyNamesAreFound() {
    #expect(NameRule.faults(in: relay("struct SendManager {}")).count == 1)
    #expect(NameRule.faults(in: relay("enum LockstepRelay {}")).count == 1)
    #expect(NameRule.faults(in: relay("struct Errand {}")).count == 1)
    #expect(NameRule.faults(in: file("Sources/Relay/Neighbours/A.swift", "")).count == 1)
    #expect(NameRule.faults(in: file("Sources/Relay/TextUtil.swift", "")).count == 1)
    #expect(NameRule.faults(in: relay("struct DatabaseReader {}\nenum Base64 {}")).isEmpty)
  }

  @Test func notesToSelfAreFound() {
    #expect(NameRule.faults(in: relay("// " + "TO" + "DO: later")).count == 1)
    #expect(NameRule.faults(in: relay("// nothing left to do")).isEmpty)
  }

  @Test func foldersOfOneMachineAreFound() {
    let path = "/wo" + "rk/x"
    #expect(NameRule.workplacePaths(in: .init(path: "a.md", content: "a\n\(path)")).count == 1)
    #expect(NameRule.workplacePaths(in: .init(path: "a.md", content: "framework/x")).isEmpty)
  }

  @Test func docCommentsThatBeginWithAQuestionWordAreFound() {
    #expect(CommentRule.faults(in: relay("/// Whether it is open.\nvar a = 0")).count == 1)
    #expect(CommentRule.faults(in: relay("/// True if it is open.\n/// When not,\n")).isEmpty)
    #expect(CommentRule.faults(in: relay("// What is not a doc comment.\n")).isEmpty)
    #expect(CommentRule.faults(in: relay("/// Whole seconds.\n")).isEmpty)
  }

  @Test func publicDeclarationsOutsideTheLibrariesAreFound() {
    for source in [
      "public struct A {}", "struct A { public var b = 0 }", "public func f() {}",
      "public import Glibc", "@usableFromInline public let a = 0", "open class A {}",
      "extension MergeRules { public var a: Int { 0 } }",
    ] {
      #expect(AccessRule.faults(in: relay(source)).count == 1, "\(source)")
    }
    for source in [
      "package struct A {}", "f(.public)", "let `public` = \"public\"", "// public\nlet a = 0",
      "a = [B.public, .public]", "try open(a)", "enum A {\n  case open\n  var b: Int { 0 }\n}",
    ] {
      #expect(AccessRule.faults(in: relay(source)).isEmpty, "\(source)")
    }
    #expect(AccessRule.faults(in: file("Sources/Lockstep/X.swift", "public let a = 0")).isEmpty)
    let source = """
      public struct MergeRules { public var a = 0 }
      func f() {}
      public enum FieldRule {}
      public struct RuleTable {}
      extension MergeRules: Hashable { public func hash() {} }
      public func g() {}
      """
    let model = file("Sources/Model/X.swift", source)
    #expect(AccessRule.faults(in: model).map(\.line) == [4, 6])
  }
}
