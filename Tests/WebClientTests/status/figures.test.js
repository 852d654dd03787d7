import assert from "node:assert/strict";
import test from "node:test";
import { figuresOf } from "../../../Sources/WebClient/status/figures.js";
import { samplesOf } from "../../../Sources/WebClient/status/prometheusText.js";

// A relay's metrics, as the status page reads them.

const relay = `# HELP lockstep_build_info The version that runs.
# TYPE lockstep_build_info gauge
lockstep_build_info{version="1.2.3"} 1
lockstep_connections{transport="websocket"} 3
lockstep_connections{transport="http"} 1
lockstep_records_saved_total 63
lockstep_rejected_total{reason="badToken"} 2
lockstep_commit_duration_seconds_bucket{le="0.001"} 4
lockstep_commit_duration_seconds_bucket{le="+Inf"} 5
lockstep_commit_duration_seconds_sum 0.25
lockstep_commit_duration_seconds_count 5
`;

test("a relay's metrics become figures", () => {
  const figures = figuresOf(relay);
  assert.equal(figures.version, "1.2.3");
  assert.deepEqual([...figures.connections], [["websocket", 3], ["http", 1]]);
  assert.deepEqual([...figures.rejected], [["badToken", 2]]);
  assert.equal(figures.counters.saves, 63);
  assert.deepEqual(
    figures.histograms.commit,
    { bounds: [0.001, Infinity], cumulative: [4, 5], sum: 0.25 });
});

test("what an older relay does not tell is null, not 0", () => {
  const figures = figuresOf('lockstep_build_info{version="0"} 1');
  assert.equal(figures.connections, null);
  assert.equal(figures.counters.deliveries, null);
  assert.equal(figures.histograms.lag, null);
  assert.equal(figures.openDescriptors, null);
});

test("what is no relay's metrics is said to be none", () => {
  assert.throws(() => figuresOf("go_goroutines 7"), /not the metrics of a Lockstep relay/);
  assert.throws(() => figuresOf("<!doctype html>"), /line 1 is no metric/);
  const falling = relay.replace('le="0.001"', 'le="+Inf"');
  assert.throws(() => figuresOf(falling), /commit_duration_seconds do not rise/);
});

test("all that the format allows is read", () => {
  const samples = samplesOf([
    'a{l="x\\"\\\\\\n,}{",m="2"} 1', "b 1.5e-3 1395066363000", "c +Inf", "d NaN",
    "e{} 2", "", "# anything", "f{l=\"z\",} -3\r",
  ].join("\n"));
  assert.deepEqual(samples.get("a"), [{ labels: { l: 'x"\\\n,}{', m: "2" }, value: 1 }]);
  assert.equal(samples.get("b")[0].value, 0.0015);
  assert.equal(samples.get("c")[0].value, Infinity);
  assert.ok(Number.isNaN(samples.get("d")[0].value));
  assert.equal(samples.get("e")[0].value, 2);
  assert.deepEqual(samples.get("f"), [{ labels: { l: "z" }, value: -3 }]);
});

test("a line that is broken is named", () => {
  for (const line of ["a", "a b", "a{l=1} 1", 'a{l="} 1', "1a 1", 'a{l="x" m="y"} 1', "a 1 x"]) {
    assert.throws(() => samplesOf(`good 1\n${line}`), /line 2 is no metric/, line);
  }
});
