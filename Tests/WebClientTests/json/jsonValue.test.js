import assert from "node:assert/strict";
import test from "node:test";
import {
  bool, equal, int64, integer, isObject, member, members, numberOf, serialize, setting, text,
} from "../../../Sources/WebClient/json/jsonValue.js";
import { parse } from "../../../Sources/WebClient/json/jsonParser.js";

test("a number is the same however it is written", () => {
  const groups = [
    ["1", "1.0", "1e0", "10e-1", "0.1e1", "1.000", "1E+0", "100e-02"],
    ["0", "-0", "0.0", "-0.000", "0e5", "-0e-99999999999999999999999"],
    ["-12.5", "-125e-1", "-0.125E2", "-12.50"],
    ["123456789012345678901234567890", "12345678901234567890123456789e1"],
    ["9007199254740993", "9007199254740993.0", "900719925474099.3e1"],
    ["1e400", "10e399", "0.1e401", "1000e397"],
    ["1e-400", "10e-401", "0.01e-398"],
    ["1e1000000000000000", "10e999999999999999", "0.1e1000000000000001"],
    ["5e99999999999999999999", "50e99999999999999999998", "0.5e100000000000000000000"],
    ["5e-99999999999999999999", "0.5e-99999999999999999998", "50e-100000000000000000000"],
  ];
  for (const left of groups.flat()) {
    for (const right of groups.flat()) {
      const isSame = groups.some((group) => group.includes(left) && group.includes(right));
      assert.equal(equal(numberOf(left), numberOf(right)), isSame, `${left} and ${right}`);
    }
  }
});

test("each number has one form, the one that every device writes", () => {
  const forms = [
    ["0", "0"], ["-0.0", "0"], ["1.0", "1"], ["-1.50", "-1.5"], ["1e2", "100"], ["0.001", "0.001"],
    ["1e20", "100000000000000000000"], ["1e21", "1e21"], ["12e20", "1200000000000000000000"],
    ["1e-6", "0.000001"], ["1e-7", "1e-7"], ["125e-9", "1.25e-7"], ["123.456e1", "1234.56"],
    ["123.456e400", "1.23456e402"], ["10e999999999999999999", "1e1000000000000000000"],
    ["-5E-99999999999999999999", "-5e-99999999999999999999"],
    ["9223372036854775808", "9223372036854775808"],
    ["1e999999999999999", "1e999999999999999"], ["11e999999999999999", "1.1e1000000000000000"],
  ];
  for (const [written, form] of forms) {
    assert.equal(serialize(parse(written)), form);
    assert.equal(serialize(parse(form)), form);
  }
  assert.equal(serialize([-0, 1e21, 1.5e21, 1e-7, 2 ** 53]),
    "[0,1e21,1500000000000000000000,1e-7,9007199254740992]");
});

test("no digit of another program's numbers is lost on the way through", () => {
  for (const written of ["9007199254740993", "-9007199254740993", "0.1234567890123456789", "1e400",
    "5e-400", "123456789012345678901234567890", "9007199254740991.4"]) {
    assert.equal(serialize(parse(written)), written);
    assert.notEqual(typeof parse(written), "number");
    // To a database or another tab and back.
    assert.equal(serialize(structuredClone(parse(written))), written);
    assert.ok(equal(structuredClone(parse(`[${written}]`)), parse(`[${written}]`)));
    // Code that ignores these numbers gets an error.
    assert.throws(() => JSON.stringify(parse(written)), TypeError);
  }
  for (const held of ["0", "-7", "0.1", "-2.5e-7", "1772366400000", "9007199254740991"]) {
    assert.equal(parse(held), Number(held));
  }
});

test("a whole number is known as one, up to 64 bits", () => {
  const cases = [
    ["0", 0n], ["-0", 0n], ["1e3", 1000n], ["1.50e1", 15n], ["1200e-2", 12n],
    ["9223372036854775807", 2n ** 63n - 1n], ["-9223372036854775808", -(2n ** 63n)],
    ["9223372036854775808", undefined], ["-9223372036854775809", undefined], ["1.5", undefined],
    ["1e19", undefined], ["1e-1", undefined], ["999999999999999999e0", 999999999999999999n],
    ["0e999999999999999999999999", 0n], ["1e999999999999999999999999", undefined],
    ['"1"', undefined], ["null", undefined], ["[1]", undefined],
  ];
  for (const [written, whole] of cases) assert.equal(int64(parse(written)), whole, written);
  for (const whole of [0n, -7n, 2n ** 53n - 1n, 2n ** 53n + 1n, -(2n ** 60n)]) {
    assert.equal(int64(integer(whole)), whole);
  }
});

test("what is no number is refused", () => {
  for (const written of ["", " 1", "1 ", "+1", "01", "1.", ".5", "1e", "1e+", "-", "--1", "0x1",
    "NaN", "1,0", "١", "1\0", "Infinity"]) {
    assert.throws(() => numberOf(written), TypeError, written);
  }
});

test("equal values have the same text, and others another", () => {
  const values = [
    null, true, false, 0, 1, "", "1", "é", "e\u0301", [], [1], [[1]], [1, 2], [2, 1], {},
    { a: 1 }, { b: 1 }, { a: 1, b: 2 }, { a: null }, { "": {} }, JSON.parse('{"__proto__": 1}'),
  ];
  for (const left of values) {
    for (const right of values) {
      const isSame = left === right;
      assert.equal(equal(left, structuredClone(right)), isSame);
      assert.equal(serialize(left) === serialize(right), isSame);
    }
  }
  assert.ok(equal({ a: 1, b: [2] }, { b: [2], a: 1 }));
  assert.ok(!equal(undefined, null) && equal(undefined, undefined));
});

test("the canonical text orders names by their bytes and escapes no more than it must", () => {
  const value = parse('{"\\uffee":1,"\\ud83d\\ude00":2,"z":3,"":4,"é":5}');
  assert.equal(serialize(value), '{"":4,"z":3,"é":5,"\uffee":1,"😀":2}');
  assert.equal(serialize("\"\\/\b\t\n\f\r\u0001\u007f\u2028é"),
    '"\\"\\\\/\\b\\t\\n\\f\\r\\u0001\u007f\u2028é"');
});

test("what is no JSON is not written", () => {
  let deep = 1;
  for (let level = 0; level < 72; level += 1) deep = [deep];
  assert.equal(serialize(deep).length, 145);
  for (const value of [undefined, NaN, Infinity, 1n, () => 1, Symbol("s"), new Date(0), new Map(),
    { a: undefined }, [deep], "\ud83d", { "\ude00": 1 }]) {
    assert.throws(() => serialize(value), TypeError);
  }
});

test("members are an object's own, whatever they are called", () => {
  const value = parse('{"__proto__": {"x": 1}, "constructor": "c"}');
  assert.deepEqual(members(value), [["__proto__", { x: 1 }], ["constructor", "c"]]);
  assert.equal(member(value, "x"), undefined);
  assert.equal(text(value, "constructor"), "c");
  assert.equal(member({}, "toString"), undefined);
  for (const other of [null, undefined, 5, "text", [1], parse("1e400")]) {
    assert.ok(!isObject(other));
    assert.equal(member(other, "length"), undefined);
    assert.deepEqual(members(other), []);
    assert.deepEqual(setting(other, { a: 1 }), { a: 1 });
  }
  const changed = setting(value, JSON.parse('{"__proto__": 2, "done": true}'));
  assert.equal(serialize(changed), '{"__proto__":2,"constructor":"c","done":true}');
  assert.equal(bool(changed, "done"), true);
  assert.equal(bool(changed, "constructor"), undefined);
  assert.deepEqual(setting({ a: 1, b: 2 }, { a: undefined }), { b: 2 });
});
