public import LockstepModel

extension BenchRun {
  /// Format number. Increment it if a current reader could not understand the new output.
  static let format: Int64 = 1

  /// The form of `--json`, also embedded in a page for later comparisons. Latencies are in
  /// nanoseconds; a bucket is its greatest value and a count, a second of the timeline `[count,
  /// p50, p99, max]`.
  public var json: JSONValue {
    .object([
      JSONMember("format", .whole(Self.format)),
      JSONMember("bench", .string(kind.rawValue)),
      JSONMember("summary", .string(summary)),
      JSONMember("version", .string(origin.version)),
      JSONMember("madeAtMs", .whole(origin.madeAt)),
      JSONMember("command", .string(origin.command)),
      JSONMember("machine", .array(origin.machine.map(\.json))),
      JSONMember("plan", .array(plan.map(\.json))),
      JSONMember("figures", .array(figures.map(\.json))),
      JSONMember("notes", .array(notes.map(JSONValue.string))),
      JSONMember("series", .array(series.map(\.json))),
    ])
  }

  /// Validates everything, because a file may come from anywhere.
  public init(json: JSONValue) throws(RunFault) {
    guard json.members != nil, let format = json["format"]?.int64 else { throw RunFault.noRun }
    guard format <= Self.format else { throw RunFault.newer(format) }
    guard format == Self.format else { throw RunFault.bad(member: "format") }
    guard let kind = json["bench"]?.string.flatMap(BenchKind.init) else {
      throw RunFault.bad(member: "bench")
    }
    guard let madeAt = json["madeAtMs"]?.int64, 0...RunBounds.madeAtMost ~= madeAt else {
      throw RunFault.bad(member: "madeAtMs")
    }
    self.init(
      kind: kind, summary: try json.text("summary"),
      origin: RunOrigin(
        version: try json.text("version"), madeAt: madeAt, command: try json.text("command"),
        machine: try json.list("machine", atMost: RunBounds.facts, RunFact.init)),
      plan: try json.list("plan", atMost: RunBounds.facts, RunFact.init),
      figures: try json.list("figures", atMost: RunBounds.figures, RunFigure.init),
      notes: try json.list("notes", atMost: RunBounds.notes) { $0.boundedText },
      series: try json.list("series", atMost: RunBounds.series, RunSeries.init))
    guard !series.isEmpty else { throw RunFault.bad(member: "series") }
  }
}

/// Limits far above the largest run.
enum RunBounds {
  static let facts = 40
  static let figures = 100
  static let notes = 20
  static let series = 2
  /// Maximum bytes of one text.
  static let textBytes = 16 << 10
  /// End of the year 9999.
  static let madeAtMost: Int64 = 253_402_300_799_999
  /// Maximum figure: below it a multiplication by a thousand cannot overflow.
  static let figureMost: Int64 = 1 << 53
}

extension JSONValue {
  /// String within the limit; nil for anything else.
  fileprivate var boundedText: String? {
    string.flatMap { $0.utf8.count <= RunBounds.textBytes ? $0 : nil }
  }

  fileprivate func text(_ member: String) throws(RunFault) -> String {
    guard let text = self[member]?.boundedText else { throw RunFault.bad(member: member) }
    return text
  }

  /// Reads a list. `read` returns nil for an invalid element.
  fileprivate func list<Element>(
    _ member: String, atMost most: Int, _ read: (JSONValue) -> Element?
  ) throws(RunFault) -> [Element] {
    guard let values = self[member]?.array, values.count <= most else {
      throw RunFault.bad(member: member)
    }
    let elements = values.compactMap(read)
    guard elements.count == values.count else { throw RunFault.bad(member: member) }
    return elements
  }
}

extension RunFact {
  fileprivate var json: JSONValue {
    .object([JSONMember("name", .string(name)), JSONMember("value", .string(value))])
  }

  fileprivate init?(json: JSONValue) {
    guard let name = json["name"]?.boundedText, let value = json["value"]?.boundedText else {
      return nil
    }
    self.init(name, value)
  }
}

extension RunFigure {
  fileprivate var json: JSONValue {
    .object([
      JSONMember("label", .string(label)),
      JSONMember("thousandths", .whole(thousandths)),
      JSONMember("unit", .string(unit.rawValue)),
      JSONMember("target", target.map(JSONValue.string) ?? .null),
      JSONMember("met", isMet.map(JSONValue.bool) ?? .null),
    ])
  }

  fileprivate init?(json: JSONValue) {
    guard let label = json["label"]?.boundedText,
      let unit = json["unit"]?.string.flatMap(Unit.init),
      let value = json["thousandths"], let target = json["target"], let met = json["met"],
      target.isNull || target.boundedText != nil, met.isNull || met.bool != nil,
      value.isNull || value.int64.map({ 0...RunBounds.figureMost ~= $0 }) == true
    else { return nil }
    self.init(
      label, thousandths: value.int64, unit, target: target.boundedText, isMet: met.bool)
  }
}

extension RunSeries {
  fileprivate var json: JSONValue {
    let isEmpty = latency.count == 0
    return .object([
      JSONMember("name", .string(name)),
      JSONMember("leastNs", .whole(isEmpty ? nil : latency.leastNanoseconds)),
      JSONMember("greatestNs", .whole(isEmpty ? nil : latency.greatestNanoseconds)),
      JSONMember(
        "buckets",
        .array(
          latency.buckets.map { .array([.whole($0.upTo), .whole(Int64(clamping: $0.count))]) })),
      JSONMember("timeline", .array(seconds.map { $0?.json ?? .null })),
    ])
  }

  fileprivate init?(json: JSONValue) {
    guard let name = json["name"]?.boundedText, let buckets = json["buckets"]?.array,
      let timeline = json["timeline"]?.array, timeline.count <= LatencyTimeline.secondsMost
    else { return nil }
    let pairs = buckets.compactMap { value -> LatencyHistogram.Bucket? in
      guard let pair = value.array, pair.count == 2, let upTo = pair[0].int64,
        let count = pair[1].int64, count > 0
      else { return nil }
      return LatencyHistogram.Bucket(upTo: upTo, count: UInt64(count))
    }
    guard pairs.count == buckets.count,
      let latency = LatencyHistogram(
        buckets: pairs, least: json["leastNs"]?.int64 ?? .max,
        greatest: json["greatestNs"]?.int64 ?? 0)
    else { return nil }
    let seconds = timeline.map(TimelineSecond.init)
    guard zip(seconds, timeline).allSatisfy({ $0 != nil || $1.isNull }) else { return nil }
    self.init(name: name, latency: latency, seconds: seconds)
  }
}

extension TimelineSecond {
  fileprivate var json: JSONValue {
    .array([.whole(Int64(clamping: count)), .whole(median), .whole(p99), .whole(greatest)])
  }

  fileprivate init?(json: JSONValue) {
    guard let values = json.array?.compactMap(\.int64), values.count == 4,
      json.array?.count == 4, values[0] > 0, values[1] >= 0, values[1] <= values[2],
      values[2] <= values[3]
    else { return nil }
    self.init(count: UInt64(values[0]), median: values[1], p99: values[2], greatest: values[3])
  }
}
