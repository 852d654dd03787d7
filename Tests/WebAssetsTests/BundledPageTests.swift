import LockstepModuleBundler
import Testing

/// A page whose modules and styles are joined.
struct BundledPageTests {
  private static let index = """
    <head>
      <link rel="stylesheet" href="one.css">
      <link rel="stylesheet" href="two.css">
      <script type="module" src="page/main.js"></script>
    </head>
    """

  private func files(_ sources: [String: String], index: String = Self.index) throws(ModuleFault)
    -> [BundledPage.File]
  {
    let styles = ["index.html": index, "one.css": "a { b: c; }\n", "two.css": "/* x */\n  d {}\n"]
    let all = styles.merging(sources) { $1 }
    return try BundledPage.files { all[$0] }
  }

  private func script(_ main: String, _ others: [String: String] = [:]) throws(ModuleFault)
    -> String
  {
    try files(others.merging(["page/main.js": main]) { $1 })[1].text
  }

  private func fault(_ sources: [String: String]) -> String? {
    do throws(ModuleFault) {
      _ = try files(sources)
      return nil
    } catch {
      return "\(error)"
    }
  }

  @Test func thePageLinksFilesThatAreNamedAfterTheirContent() throws {
    let files = try files(["page/main.js": "f();\n"])
    #expect(files.map(\.isImmutable) == [false, true, true])
    #expect(files[1].text == "f();\n")
    #expect(files[2].text == "a { b: c; }\nd {}\n")
    let expected = """
      <head>
        <link rel="stylesheet" href="\(files[2].path)">
        <script type="module" src="\(files[1].path)"></script>
      </head>
      """
    #expect(files[0].text == expected)
    #expect(files[1].path.wholeMatch(of: /page-[0-9a-f]{16}\.js/) != nil)
    let newer = try self.files(["page/main.js": "g();\n"])
    #expect(newer[1].path != files[1].path)
    #expect(newer[2].path == files[2].path)
  }

  @Test func whatAModuleExportsIsFoundByItsPlace() throws {
    let text = try script(
      "import { two as other, one } from \"../parts.js\";\nstart(one, other);",
      ["parts.js": "export const one = 1;\nconst unused = 3;\nexport function two() {}\n"])
    #expect(
      text == """
        const $0=(()=>{const a=1;const c=3;function b(){}
        return[a,b]})();
        const[a,b]=$0;start(a,b);

        """)
  }

  /// Each name that a module declares gets a short text; globals, properties and texts keep theirs.
  @Test(arguments: [
    ("const count = 1; f(count, x.count);", "const a=1;f(a,x.count);"),
    (
      "const { left, right: other } = f; g({ left, other });",
      "const{left:a,right:b}=f;g({left:a,other:b});"
    ),
    ("const { left = 1, ...rest } = f; g(left, rest);", "const{left:a=1,...b}=f;g(a,b);"),
    ("const [first, [second]] = f; g(first, second);", "const[a,[b]]=f;g(a,b);"),
    ("f((value, { name = value } = {}) => value + name);", "f((a,{name:b=a}={})=>a+b);"),
    ("f(async (value) => { await value; });", "f(async(a)=>{await a;});"),
    ("f(value => value * 2);", "f(a=>a*2);"),
    ("for (const item of list) f(item);", "for(const a of list)f(a);"),
    ("for (const [key] of list) { f(key); }", "for(const[a]of list){f(a);}"),
    ("try { f(); } catch (error) { g(error); }", "try{f();}catch(a){g(a);}"),
    ("f(`${list.map((it) => `<${it}>`)}`);", "f(`${list.map((a)=>`<${a}>`)}`);"),
    (
      "class Box { #size = 1; get size() { return this.#size; } static of(size) { return size; } }",
      "class b{#a=1;get size(){return this.#a;}static of(a){return a;}}"
    ),
    (
      "f({ get size() { return 1; }, async load() {}, class: \"a\", [key]: 2, on() {} });",
      "f({get size(){return 1;},async load(){},class:\"a\",[key]:2,on(){}});"
    ),
    (
      "switch (x) { case \"one\": { const own = 1; f({ own }); break; } default: g(); }",
      "switch(x){case\"one\":{const a=1;f({own:a});break;}default:g();}"
    ),
    // Words that are keywords elsewhere.
    ("f(({ from, of: list }) => from + list);", "f(({from,of:a})=>from+a);"),
    // The name is also a global one.
    (
      "f(() => { const name = 1; g(name); }); h(name);",
      "f(()=>{const name=1;g(name);});h(name);"
    ),
    // The short text is taken by a global name.
    ("const one = a; f(one);", "const b=a;f(b);"),
    ("const a = b + +c - -d; f(a / 2);", "const a=b+ +c- -d;f(a / 2);"),
    ("if (x) return_ = /'/u.test(y);", "if(x)return_= /'/u.test(y);"),
  ])
  func namesAreShortened(_ code: String, _ expected: String) throws {
    #expect(try script(code) == expected + "\n")
  }

  /// A line break that ends a statement remains.
  @Test func linesEndWhereTheyEnded() throws {
    #expect(try script("f()\ng(\n  1,\n)\n++h") == "f()\ng(1,)\n++h\n")
  }

  @Test func addressesAreThoseOfTheBundle() throws {
    let text = try script("f(new URL(\"./clock.js\", import.meta.url));")
    #expect(text == "f(new URL(\"./page/clock.js\",import.meta.url));\n")
  }

  @Test func theEntryMayWaitAtItsTopLevel() throws {
    #expect(try script("await f();") == "await f();\n")
  }

  @Test func whatIsLoadedLaterIsAScriptOfItsOwn() throws {
    let files = try files([
      "page/main.js": """
      import { one } from "../one.js";
      f(one, () => import("./later.js").then(({ view }) => view), () => import("./other.js"));
      """,
      "one.js": "export const one = 1;\n",
      "shared.js": "export const shared = 2;\n",
      "page/own.js": "export const own = 3;\n",
      "page/later.js": """
      import { one } from "../one.js";
      import { shared } from "../shared.js";
      import { own } from "./own.js";
      export const view = one + shared + own;
      """,
      "page/other.js": "import { shared } from \"../shared.js\";\nexport const other = shared;\n",
    ])
    #expect(files.count == 5)
    let (main, later, other) = (files[1].text, files[3], files[4])
    // What both need is there once, and the page has it already.
    #expect(main.contains("const $0=(()=>{const a=1;\nreturn[a]})();\n"))
    #expect(main.contains("const $1=(()=>{const a=2;\nreturn[a]})();\n"))
    #expect(main.contains("import(\"./\(later.path)\").then(({open:$})=>$($0,$1)).then("))
    #expect(main.contains("import(\"./\(other.path)\").then(({open:$})=>$($1))"))
    #expect(!main.contains("=3"))
    #expect(later.text.hasPrefix("let $;export const open=($0,$1)=>$??=(()=>{\n"))
    #expect(later.text.hasSuffix("return{view:$4[0]}})();\n"))
    #expect(later.text.contains("=3") && !later.text.contains("=2"))
  }

  @Test(arguments: [
    ("export const a = 1;", "a module that starts a page exports nothing"),
    ("f(import.meta.url);", "supports only new URL"),
    ("f(new URL(name, import.meta.url));", "supports only new URL"),
    ("f(new URL(`./${name}.js`, import.meta.url));", "supports only new URL"),
    ("f(import(name));", "supports only import(\"./name.js\")"),
    ("import { a } from \"./a.js\";\nf(() => import(\"./a.js\"));", "and imported elsewhere"),
    ("f(() => import(\"./nested.js\"));", "loads no other one later"),
    ("class A {\n#a = 1\n#b = 2\n}", "page/main.js:3: a field of a class needs a semicolon"),
  ])
  func whatAPageCannotKeepIsRefused(_ code: String, _ reason: String) {
    let told = fault([
      "page/main.js": code, "page/a.js": "export const a = 1;",
      "page/nested.js": "f(() => import(\"./a.js\"));\nexport const b = 1;",
    ])
    #expect(told?.contains(reason) == true, "\(told ?? "accepted")")
  }

  @Test func aPageOfAnotherFormIsRefused() {
    #expect(fault(["index.html": "<p>"]) != nil)
    #expect(fault(["page/main.js": "f();", "one.css": "a { b: url(c.png); }"]) != nil)
    #expect(fault(["page/main.js": "f();", "one.css": "/* open"]) != nil)
    #expect(fault([:])?.contains("page/main.js") == true)
  }
}
