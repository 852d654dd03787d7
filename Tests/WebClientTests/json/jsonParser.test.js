import assert from "node:assert/strict";
import test from "node:test";
import { serialize } from "../../../Sources/WebClient/json/jsonValue.js";
import { JSONFault, parse, parseMessage } from "../../../Sources/WebClient/json/jsonParser.js";
import { randomCase, types } from "../support/randomCases.js";
import { SeededRandom } from "../support/seededRandom.js";

test("what JSON.parse reads is read alike", () => {
  for (const written of [
    " [ ] ", "\t{\n}\r", "null", "true", '"\\u0041\\ud83d\\ude00\\/"', "[1,[2,{}],[],{\"a\":[]}]",
    '{"a":{"b":{"c":[true,false,null]}}}', '"\u007f\u2028"', "-0.5e-3", '{"":0}',
  ]) {
    assert.deepEqual(parse(written), JSON.parse(written));
  }
});

test("a fault is told with its place, counted in bytes", () => {
  const faults = [
    ["", /ends before it is complete \(byte 0\)/], ["[1", /ends .*byte 2/], ['"é', /byte 3/],
    ["[1 2]", /comma or a closing bracket .*byte 3/], ["[1,]", /a value .*byte 3/],
    ['{"a" 1}', /colon/], ['{"a":1 "b"', /comma or a closing brace/], ["{1:2}", /name in double/],
    ['{"a":1,}', /name in double/], ['{"é":1,"é":2}', /same name .*byte 8/],
    ['{"a":1,"\\u0061":2}', /same name/], ["nul", /a value/], ["1 2", /nothing may follow/],
    ["01", /a number is written/], ["1.", /a number is written/], ["-", /a number is written/],
    ["1e+", /a number is written/], ["+1", /a value/], ['"\n"', /control character/],
    ['"\\x"', /backslash/], ['"\\u12"', /backslash/], ['"\\ud83d"', /surrogate/],
    ['"\\ude00\\ud83d"', /surrogate/], ["\ufeff1", /a value/], ["'a'", /a value/],
  ];
  for (const [written, sentence] of faults) {
    assert.throws(() => parse(written), (fault) => {
      assert.ok(fault instanceof JSONFault, written);
      assert.match(fault.message, sentence);
      return true;
    });
  }
});

test("nesting has a bound, and no stack is exhausted", () => {
  const nested = (depth) => "[".repeat(depth) + "]".repeat(depth);
  assert.equal(serialize(parse(nested(64))), nested(64));
  assert.throws(() => parse(nested(65)), /nested more than 64 deep/);
  assert.throws(() => parse('{"a":'.repeat(100_000)), /nested more than 64 deep/);
});

test("a message is read though a record in it is odd", () => {
  const deepest = "[".repeat(64) + "]".repeat(64);
  const written = `{"changes":[{"fields":{"a":1,"a":1e400}},{"fields":${deepest}}]}`;
  assert.throws(() => parse(written), JSONFault);
  assert.equal(
    serialize(parseMessage(written)),
    `{"changes":[{"fields":{"a":1e400}},{"fields":${deepest}}]}`);
  for (const end of ["", "]".repeat(73)]) {
    assert.throws(() => parseMessage("[".repeat(73) + end), /nested more than 72 deep/);
  }
  assert.throws(() => parseMessage('{"a":1,"a":"\\ud83d"}'), /surrogate/);
});

test("a message is the same, by whichever parser it is read", () => {
  for (const written of ["null", "[-0,1]", "-0", "5", '{"a":9007199254740993}', "[1e400]",
    "[ 1.50]", '{"a":"12.5 at 1234567890123456"}', '"\\ud83d\\ude00"',
    '{"a":123456789012345,"b":[0]}', "{\"a\":\n12345678901234567}", "9007199254740993"]) {
    assert.deepEqual(parseMessage(written), parse(written));
  }
  for (const type of types) {
    for (let seed = 1; seed <= 300; seed += 1) {
      const written = serialize(randomCase(type, seed));
      assert.equal(serialize(parseMessage(written)), written);
    }
  }
  assert.throws(() => parseMessage("[1,]"), /a value is expected here \(byte 3\)/);
});

test("texts that are long in one way are read at once", () => {
  const zeros = "0".repeat(1 << 20);
  assert.equal(serialize(parse(`1${zeros}.${zeros}1${zeros}`)).length, 2 * (1 << 20) + 3);
  assert.equal(serialize(parse(`1e${"9".repeat(1 << 20)}`)).length, 2 + (1 << 20));
  assert.equal(parse(`"${"\\n".repeat(1 << 19)}"`).length, 1 << 19);
  assert.equal(parse(`[${"1,".repeat(100_000)}1]`).length, 100_001);
});

test("a text with one thing wrong never reads as another value than JSON.parse gives", () => {
  const whole = '{"a": [1.5, -2e3, "x\\u00e9\\n", {"b": null}], "c": true, "d": {"e": [[]]}}';
  const signs = ['"', "\\", "{", "}", "[", "]", ",", ":", "0", "e", "-", ".", "t", " ", "\u0001"];
  for (let seed = 1; seed <= 4_000; seed += 1) {
    const random = new SeededRandom(seed);
    const place = random.below(whole.length);
    const sign = random.pick([...signs, ""]);
    const written = whole.slice(0, place) + sign + whole.slice(place + random.below(3));
    assert.equal(attempt(parse, written), attempt(JSON.parse, written), written);
  }
});

/** Returns the value as text, or "no JSON". */
function attempt(read, written) {
  try {
    return serialize(read(written));
  } catch (error) {
    // A duplicate name is a fault here, while JSON.parse takes the last value.
    return /same name/.test(error.message) ? attempt(JSON.parse, written) : "no JSON";
  }
}
