import Foundation
import LockstepModuleBundler
import LockstepWebAssets
import Testing

/// The modules of the JavaScript package, joined into one.
struct ModuleBundleTests {
  private func bundle(_ modules: [String: String]) throws(ModuleFault) -> String {
    try ModuleBundle.text(entry: "main.js", header: "head") { modules[$0] }
  }

  private func fault(_ main: String, _ others: [String: String] = [:]) -> String? {
    do throws(ModuleFault) {
      _ = try bundle(others.merging(["main.js": main]) { first, _ in first })
      return nil
    } catch {
      return "\(error)"
    }
  }

  @Test func eachModuleBecomesAFunctionAfterThoseThatItImports() throws {
    let text = try bundle([
      "main.js": """
      /** Doubles. */
      import { one as unit } from "./parts/one.js";
      export function two() {
        return unit + unit; // twice
      }
      export { unit };
      """,
      "parts/one.js": "export const one = 1;\n",
    ])
    let expected = """
      /*! head */
      const $0 = (() => {
      const one = 1;
      return { one };
      })();
      const $1 = (() => {
      const { one: unit } = $0;
      function two() {
      return unit + unit;
      };
      return { two, unit };
      })();
      export const { two, unit } = $1;

      """
    #expect(text == expected)
  }

  @Test func aModuleOfSeveralIsThereOnce() throws {
    let text = try bundle([
      "main.js": "import { a } from \"./a.js\";\nimport { b } from \"./b.js\";\nexport { a, b };",
      "a.js": "import { c } from \"./c.js\";\nexport const a = c;",
      "b.js": "import { c } from \"./c.js\";\nexport const b = c;", "c.js": "export const c = {};",
    ])
    #expect(text.components(separatedBy: "const c = {};").count == 2)
  }

  /// Signs of a comment, an import or a bracket in a text or an expression are part of it, and a
  /// line break that ends a statement remains.
  @Test(arguments: [
    "const a = \"// no comment\";", "const a = '/* no */';",
    "const a = `import { ${`}`} /* no */`;",
    "const a = /[/*]\\/\\/ \"/u;", "const a = 6 / 2 / 1;", "const a = (1 + 2) / 3;",
    "if (a) /'/.test(b);", "const a = `${b / 2}${/`/}`;", "const a = [1][0] / 2 + \"}\".length;",
    "const a = `one\n    two`;", "let a = 1\nlet b = a", "a\n++b", "x.import / 2; y.return / 2;",
    "const a = 1e-7 + .5;", "class A { #b = 1; static { A.c = 1; } }",
  ])
  func textsAndLinesStayAsTheyAre(_ code: String) throws {
    let text = try bundle(["main.js": code])
    #expect(text.contains("(() => {\n\(code)\nreturn {  };"))
  }

  @Test func aCommentWithALineBreakIsALineBreak() throws {
    let text = try bundle(["main.js": "let a = 1 /* one\n two */ let b /* c */ = 2"])
    #expect(text.contains("let a = 1\nlet b = 2\n"))
  }

  @Test(arguments: [
    ("import * as a from \"./a.js\";", "main.js:1: a bundle supports only import { name }"),
    ("import a from \"./a.js\";", "supports only import"),
    ("import \"./a.js\";", "supports only import"),
    ("import { a } from \"./a.js\"\n", "supports only import"),
    ("import { a } from \"node:fs\";", "node:fs is no module of the package"),
    ("import { a } from \"../a.js\";", "is outside of the package"),
    ("\n\nimport { a } from \"./a.js\";", "main.js:3: there is no module a.js"),
    ("const a = import(\"./a.js\");", "supports only import"),
    ("function f() { return import(\"./a.js\"); }", "inside of a bracket"),
    ("const a = import.meta;", "supports only import"),
    ("export default 1;", "supports only export"), ("export let a = 1;", "supports only export"),
    ("export * from \"./a.js\";", "supports only export"),
    ("export { a as b };", "exports each name as it is"),
    ("export { a } from \"./a.js\";", "supports only export"),
    ("export const { a } = b;", "supports only export"),
    ("export const a = 1, b = 2;", "several constants"), ("export const a = 1\n", "a semicolon"),
    ("export const a = 1\nexport const b = 2;", "a semicolon"),
    ("export function* a() {}", "supports only export"),
    ("export function a() {}\na = 1;", "a is exported, and assigned to"),
    ("export { a };\nexport { a };", "a is exported twice"),
    ("await a;", "outside of a function"), ("try { await a; } catch {}", "outside of a function"),
    ("if (a) { await b; }", "outside of a function"),
    ("for await (const a of b) {}", "outside of a function"),
    ("const $0 = 1;", "$0 is a name of the bundle"),
    ("f(", "a bracket is not closed"), ("f(]", "closes another"), ("f)", "closes another"),
    ("const a = \"b\n\";", "a text is not closed"), ("const a = `b", "a template is not closed"),
    ("/* a", "a comment is not closed"), ("const a = /b\n/;", "expression is not closed"),
    ("({}) + {} / 2", "a slash after a brace"), ("const ä = 1;", "no ASCII"),
    ("#!/usr/bin/env node\n", "a line for a shell"),
  ])
  func whatABundleCannotKeepIsRefused(_ code: String, _ reason: String) {
    let told = fault(code)
    #expect(told?.contains(reason) == true, "\(told ?? "accepted")")
  }

  @Test func aNameThatIsNotExportedIsRefused() {
    let told = fault("import { a, b } from \"./a.js\";", ["a.js": "export const a = 1;"])
    #expect(told == "main.js:1: a.js exports no b")
  }

  @Test func aCircleIsRefused() {
    let told = fault(
      "import { a } from \"./a.js\";",
      [
        "a.js": "import { b } from \"./b.js\";\nexport const a = 1;",
        "b.js": "import { a } from \"./a.js\";\nexport const b = 1;",
      ])
    #expect(
      told == "b.js:1: a circle of modules: a.js imports b.js imports a.js; move what both need "
        + "into a third module")
  }

  @Test func awaitInAFunctionIsNoWait() {
    #expect(
      fault("const f = async () => { await a; };\nclass A { async b(c) { await c; } }") == nil)
  }

  @Test func thePackageIsInTheProgramAsOneModule() {
    let text = String(decoding: PageBundle.module, as: UTF8.self)
    #expect(text.hasPrefix("/*! The package lockstep"))
    #expect(text.split(separator: "\n").last?.contains("Lockstep") == true)
    let lines = text.split(separator: "\n")
    #expect(!lines.contains { $0.hasPrefix("import ") })
    #expect(lines.filter { $0.hasPrefix("export ") }.count == 1)
  }
}
