import LockstepCommand
import LockstepModel
import Testing

struct ResolveCaseTests {
  private func version(_ fields: String, deleted: String = "false") -> String {
    #"{"name":"settings","fields":\#(fields),"modifiedAt":1,"device":"mac","deleted":\#(deleted)}"#
  }

  private func line(local: String, server: String, base: String = "null") -> String {
    #"{"type":"Settings","base":\#(base),"local":\#(local),"server":\#(server)}"#
  }

  private func answer(_ line: String) -> String {
    do throws(ResolveCase.Fault) {
      return String(decoding: try ResolveCase.answer(to: Array(line.utf8)), as: UTF8.self)
    } catch { return error.reason }
  }

  @Test func caseIsAnswered() {
    #expect(
      answer(line(local: version(#"{"a":1}"#), server: version(#"{"b":2}"#)))
        == #"{"copies":[],"deleted":false,"fields":{"a":1,"b":2,"~":{"":[1,"mac"]}},"#
        + #""outcome":"merged"}"#)
    let delete = version("null", deleted: "true")
    #expect(
      answer(line(local: delete, server: delete, base: version("{}")))
        == #"{"copies":[],"deleted":true,"fields":null,"outcome":"merged"}"#)
  }

  @Test func whatIsNoCaseIsTold() {
    let good = version("{}")
    let cases = [
      ("[1]", "a case is a JSON object"),
      ("{}", #""type" is missing; give it, or "rules" in its place"#),
      (#"{"case":{},"expect":{}}"#, #"give what stands under "case", not the whole vector"#),
      (#"{"type":7}"#, #""type" is no string"#),
      (#"{"type":"x\ny"}"#, #"no app here knows the record type "x\ny""#),
      (line(local: "7", server: good), #""local" is no version of a record"#),
      (#"{"type":"Settings","local":\#(good)}"#, #""server" is no version of a record"#),
      (line(local: good, server: good, base: "[]"), #""base" is no version of a record"#),
      (
        line(local: #"{"name":"n","device":"d","modifiedAt":"1","fields":{}}"#, server: good),
        #""modifiedAt" of "local" must be a whole number of milliseconds"#
      ),
      (
        line(local: version("[]"), server: good),
        #""fields" of "local" must be a JSON object, or null for a delete"#
      ),
      (
        line(local: version("null"), server: good),
        #""deleted" of "local" must be true where "fields" is null and false elsewhere"#
      ),
      (
        line(local: version("{}", deleted: "true"), server: good),
        #""deleted" of "local" must be true where "fields" is null and false elsewhere"#
      ),
    ]
    for (line, expected) in cases { #expect(answer(line) == expected, "\(line)") }
    #expect(answer("{").contains("the JSON ends"))
    #expect(answer("{} {}").contains("nothing may follow"))
  }
}
