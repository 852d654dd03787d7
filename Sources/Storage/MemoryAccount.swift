import Changes

/// One account in memory: who may enter, its records, and their order.
struct MemoryAccount {
  struct Member {
    var device: Device
    var tokenHash: [UInt8]
    /// By id.
    var subscriptions: [Subscription] = []
  }

  private(set) var head: AccountHead
  let label: String
  let madeAt: Int64
  var plan = Plan.everything
  /// In the order in which they joined.
  var members: [Member] = []
  /// In the order in which they were issued.
  var pairings: [NewPairing] = []
  /// The pieces of files that it has, and their bytes together.
  var chunks: [ChunkHash: MemoryChunk] = [:]
  var chunkBytes: Int64 = 0
  private var records: [RecordKey: Record] = [:]
  /// Every save in the order of tags. An entry whose tag is not its record's any more is stale.
  private var log: [(tag: ChangeTag, key: RecordKey)] = []

  init(generation: UInt32, label: String, madeAt: Int64) {
    head = AccountHead(generation: generation, newest: 0)
    self.label = label
    self.madeAt = madeAt
  }

  func summary(of id: AccountID) -> AccountSummary {
    AccountSummary(
      id: id, label: label, plan: plan, madeAt: madeAt, devices: members.count,
      newestTag: head.newest, chunkBytes: chunkBytes)
  }

  func record(_ key: RecordKey) -> Record? { records[key] }

  func position(of device: DeviceID) -> Int? {
    members.firstIndex { $0.device.id == device }
  }

  /// Names of zones with a live record, in order, after the one named.
  func zones(after name: Name?, limit: Int) -> ReadResult {
    let live = Set(records.values.filter { !$0.isDeleted }.map(\.zone)).sorted()
    let rest = live.filter { zone in name.map { $0 < zone } ?? true }
    let count = max(1, min(limit, Limits.listedZones))
    return .zones(Array(rest.prefix(count)), more: rest.count > count)
  }

  /// Takes records with the next tags, in order.
  mutating func write(_ saved: [Record]) {
    for record in saved {
      records[record.key] = record
      log.append((record.tag, record.key))
      head.newest = record.tag
    }
    // Half of the log stale at most, so that a page costs no more than twice its records.
    guard log.count > 2 * records.count + 64 else { return }
    log = log.filter { records[$0.key]?.tag == $0.tag }
  }

  func page(
    since: ChangeToken?, zone: Name?, limit: Int
  ) throws(Refusal) -> ChangePage {
    var plan = try PagePlan(since: since, zone: zone, limit: limit, head: head)
    for entry in log[firstEntry(after: plan.after)...] {
      guard entry.tag <= plan.through else { break }
      guard let record = records[entry.key], record.tag == entry.tag,
        !(plan.isSnapshot && record.isDeleted), zone == nil || record.zone == zone
      else { continue }
      guard plan.take(record) else { break }
    }
    return plan.page()
  }

  private func firstEntry(after tag: ChangeTag) -> Int {
    var low = 0
    var high = log.count
    while low < high {
      let middle = (low + high) / 2
      if log[middle].tag <= tag { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
