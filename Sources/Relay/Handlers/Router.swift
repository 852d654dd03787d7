import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire

/// Maps path, method and listener to a call. Stateless.
enum Router {
  enum Routing: Hashable, Sendable {
    case call(Call)
    /// Request for the methods of a path: a CORS preflight of a browser, or any other `OPTIONS`.
    case options(methods: [String])
    /// `methods`: the methods that the path allows, if only the method is wrong.
    case refused(Refusal, methods: [String])
  }

  struct Entry: Sendable {
    var method: String
    /// `*` matches any segment.
    var pattern: [String]
    var listenerKinds: [Opening.ListenerKind]
    /// True if the public listener serves it, too, if the owner's page is served there.
    var isOfOwnerPage: Bool
    var make: @Sendable (RequestTarget) throws(Refusal) -> Call

    init(
      _ method: String, _ pattern: String,
      _ listenerKinds: [Opening.ListenerKind] = [.public, .control], isOfOwnerPage: Bool = false,
      _ make: @escaping @Sendable (RequestTarget) throws(Refusal) -> Call
    ) {
      self.method = method
      self.pattern = pattern.split(separator: "/").map(String.init)
      self.listenerKinds = listenerKinds
      self.isOfOwnerPage = isOfOwnerPage
      self.make = make
    }

    /// A call of the owner's, which the owner's page makes.
    static func owner(
      _ method: String, _ pattern: String,
      _ listenerKinds: [Opening.ListenerKind] = internalListeners,
      _ make: @escaping @Sendable (RequestTarget) throws(Refusal) -> AdminCall
    ) -> Entry {
      Entry(method, "v1/admin/" + pattern, listenerKinds, isOfOwnerPage: true) {
        (target) throws(Refusal) in .owner(try make(target))
      }
    }
  }

  /// The listener of a request, and the owner's setting for it.
  private struct Place {
    let listenerKind: Opening.ListenerKind
    let hasPublicOwnerPage: Bool

    func serves(_ route: Route) -> Bool {
      route.listenerKinds.contains(listenerKind)
        || listenerKind == .public && hasPublicOwnerPage && route.isOfOwnerPage
    }
  }

  /// The entries of one path, one per method.
  private struct Route {
    let pattern: [String]
    let listenerKinds: [Opening.ListenerKind]
    let isOfOwnerPage: Bool
    var entries: [Entry]

    /// True if the pattern matches. `path` must have the same number of segments.
    func matches(_ path: [String], at place: Place) -> Bool {
      for index in pattern.indices where pattern[index] != path[index] && pattern[index] != "*" {
        return false
      }
      return place.serves(self)
    }
  }

  private static let allListeners: [Opening.ListenerKind] = [.public, .admin, .control]
  private static let internalListeners: [Opening.ListenerKind] = [.admin, .control]

  static let entries = common + owner

  /// Indexed by the number of segments of their paths.
  private static let routes: [[Route]] = {
    let longest = entries.map(\.pattern.count).max() ?? 0
    var routes = [[Route]](repeating: [], count: longest + 1)
    for entry in entries {
      let count = entry.pattern.count
      let known = routes[count].firstIndex {
        $0.pattern == entry.pattern && $0.listenerKinds == entry.listenerKinds
          && $0.isOfOwnerPage == entry.isOfOwnerPage
      }
      if let known {
        routes[count][known].entries.append(entry)
      } else {
        routes[count].append(
          Route(
            pattern: entry.pattern, listenerKinds: entry.listenerKinds,
            isOfOwnerPage: entry.isOfOwnerPage, entries: [entry]))
      }
    }
    return routes
  }()

  private static let common = [
    Entry("GET", "v1/changes") { (target) throws(Refusal) in
      .signed(.changes(try fetchQuery(target)))
    },
    Entry("GET", "v1/events") { (target) throws(Refusal) in
      .signed(.events(since: try token("since", of: target)))
    },
    Entry("POST", "v1/zones/*/records") { (target) throws(Refusal) in
      .signed(.save(zone: try name(target.path[2])))
    },
    Entry("GET", "v1/zones/*/records") { (target) throws(Refusal) in
      .signed(.listRecords(try recordListQuery(target)))
    },
    Entry("GET", "v1/zones/*/records/*") { (target) throws(Refusal) in
      .signed(.record(try recordKey(target)))
    },
    Entry("PUT", "v1/zones/*/records/*") { (target) throws(Refusal) in
      .signed(.putRecord(try recordKey(target)))
    },
    Entry("DELETE", "v1/zones/*/records/*") { (target) throws(Refusal) in
      .signed(.deleteRecord(try recordKey(target), base: try replacedVersion(target)))
    },
    Entry("GET", "v1/zones") { (target) throws(Refusal) in
      .signed(
        .listZones(
          after: try stated("after", in: target).map(name),
          limit: try limit(target, atMost: Limits.listedZones, of: "zones")))
    },
    Entry("DELETE", "v1/zones/*") { (target) throws(Refusal) in
      .signed(
        .deleteZone(try name(target.path[2]), through: try token("through", of: target)))
    },
    Entry("GET", "v1/subscriptions") { _ in .signed(.listSubscriptions) },
    Entry("GET", "v1/subscriptions/*") { (target) throws(Refusal) in
      .signed(.subscription(try name(target.path[2])))
    },
    Entry("PUT", "v1/subscriptions/*") { (target) throws(Refusal) in
      .signed(.putSubscription(try name(target.path[2])))
    },
    Entry("DELETE", "v1/subscriptions/*") { (target) throws(Refusal) in
      .signed(.removeSubscription(try name(target.path[2])))
    },
    Entry("GET", "v1/wakes") { _ in .signed(.listWakes) },
    Entry("GET", "v1/wakes/*") { (target) throws(Refusal) in
      .signed(.wake(try name(target.path[2])))
    },
    Entry("PUT", "v1/wakes/*") { (target) throws(Refusal) in
      .signed(.putWake(try name(target.path[2])))
    },
    Entry("DELETE", "v1/wakes/*") { (target) throws(Refusal) in
      .signed(.removeWake(try name(target.path[2])))
    },
    Entry("POST", "v1/wakes/*/verification") { (target) throws(Refusal) in
      .signed(.verifyWake(try name(target.path[2])))
    },
    Entry("PUT", "v1/chunks/*") { (target) throws(Refusal) in .upload(try chunk(target.path[2])) },
    Entry("GET", "v1/chunks/*") { (target) throws(Refusal) in
      .signed(.chunk(try chunk(target.path[2])))
    },
    Entry("HEAD", "v1/chunks/*") { (target) throws(Refusal) in
      .signed(.renewChunk(try chunk(target.path[2])))
    },
    Entry("POST", "v1/chunks/missing") { _ in .signed(.missingChunks) },
    Entry("GET", "v1/socket") { _ in .socket },
    Entry("GET", "v1/time") { _ in .unauthenticated(.time) },
    Entry("GET", "v1/limits") { _ in .unauthenticated(.limits) },
    Entry("POST", "v1/accounts") { _ in .unauthenticated(.createAccount) },
    Entry("GET", "v1/devices") { _ in .signed(.listDevices) },
    Entry("POST", "v1/devices") { _ in .unauthenticated(.join) },
    Entry("PATCH", "v1/devices/*") { (target) throws(Refusal) in
      .signed(.renameDevice(try device(target.path[2])))
    },
    Entry("DELETE", "v1/devices/*") { (target) throws(Refusal) in
      .signed(.revokeDevice(try device(target.path[2])))
    },
    Entry("POST", "v1/pairings") { _ in .signed(.issuePairing) },
    Entry("GET", "livez", allListeners) { _ in .health(.live) },
    Entry("GET", "healthz", allListeners) { _ in .health(.live) },
    Entry("GET", "readyz", allListeners) { _ in .health(.ready) },
    Entry("GET", "metrics", internalListeners) { _ in .health(.metrics) },
    Entry("GET", "status", internalListeners) { _ in .health(.status) },
  ]

  /// The calls of the relay's owner. docs/protocol.md does not list them: devices do not use them.
  private static let owner = [
    Entry.owner("POST", "accounts") { _ in .createAccount },
    Entry.owner("GET", "accounts") { (target) throws(Refusal) in try accountsQuery(target) },
    Entry.owner("GET", "accounts/*") { (target) throws(Refusal) in
      .account(try account(target.path[3]))
    },
    Entry.owner("DELETE", "accounts/*") { (target) throws(Refusal) in
      .removeAccount(try account(target.path[3]))
    },
    Entry.owner("PUT", "accounts/*/plan") { (target) throws(Refusal) in
      .setPlan(try account(target.path[3]))
    },
    Entry.owner("POST", "accounts/*/pairings") { (target) throws(Refusal) in
      .issuePairing(try account(target.path[3]))
    },
    Entry.owner("GET", "accounts/*/devices") { (target) throws(Refusal) in
      .devices(try account(target.path[3]))
    },
    Entry.owner("DELETE", "accounts/*/devices/*") { (target) throws(Refusal) in
      .revokeDevice(try account(target.path[3]), try device(target.path[5]))
    },
    Entry.owner("GET", "accounts/*/changes") { (target) throws(Refusal) in
      .changes(try account(target.path[3]), try fetchQuery(target))
    },
    Entry.owner("GET", "wake-keys") { _ in .wakeKeys },
    Entry.owner("POST", "wake-keys") { _ in .addWakeKey },
    Entry.owner("GET", "accounts/*/chunks/*") { (target) throws(Refusal) in
      .chunk(try account(target.path[3]), try chunk(target.path[5]))
    },
    Entry("POST", "v1/admin/codes", [.control]) { _ in .ownerProcess(.issueCode) },
    Entry("POST", "v1/admin/sessions", [.admin], isOfOwnerPage: true) { _ in
      .ownerProcess(.signIn)
    },
    Entry("DELETE", "v1/admin/sessions", [.admin], isOfOwnerPage: true) { _ in
      .ownerProcess(.signOut)
    },
    Entry("GET", "v1/admin/store", internalListeners, isOfOwnerPage: true) { _ in
      .ownerProcess(.storeFacts)
    },
    Entry("GET", "v1/admin/metrics", internalListeners, isOfOwnerPage: true) { _ in
      .ownerProcess(.metrics)
    },
  ]

  /// True for the paths of the owner's page and of the owner's calls.
  static func isOfOwner(_ path: [String]) -> Bool {
    path.first == WebAssetCache.ownerPageFolder || path.starts(with: ["v1", "admin"])
  }

  /// `hasPublicOwnerPage`: the public listener serves the owner's page and the owner's calls.
  static func route(
    method: String, target: RequestTarget, listenerKind: Opening.ListenerKind,
    hasPublicOwnerPage: Bool = false, pages: WebAssetCache = WebAssetCache()
  ) -> Routing {
    let place = Place(listenerKind: listenerKind, hasPublicOwnerPage: hasPublicOwnerPage)
    guard
      let found = route(matching: target.path, at: place)?.entries
        ?? pages.call(
          at: target.path, listenerKind: listenerKind, hasPublicOwnerPage: hasPublicOwnerPage
        ).map({ call in [Entry("GET", "") { _ in call }] })
    else {
      return .refused(nothing(at: target, place, pages), methods: [])
    }
    // HEAD gets the header of GET's answer (RFC 9110 section 9.3.2), or has its own call.
    let exact = found.first { $0.method == method }
    guard let entry = exact ?? (method == "HEAD" ? found.first { $0.method == "GET" } : nil)
    else {
      let methods = found.filter { $0.method != "HEAD" }.flatMap {
        $0.method == "GET" ? ["GET", "HEAD"] : [$0.method]
      }
      if method == "OPTIONS" { return .options(methods: methods + ["OPTIONS"]) }
      return .refused(
        Refusal(
          .methodNotAllowed,
          "This path allows only \(methods.joined(separator: ", "))."),
        methods: methods + ["OPTIONS"])
    }
    do throws(Refusal) {
      let call = try entry.make(target)
      guard case .signed = call else { return .call(call) }
      if let name = target.repeatedName {
        throw Refusal(.badRequest, "`\(name)` occurs twice in the query; send it once.")
      }
      return .call(call)
    } catch {
      // The listener identifies the owner.
      if entry.isOfOwnerPage {
        return listenerKind == .control
          ? .refused(error, methods: []) : .call(.owner(.refused(error)))
      }
      // All other clients must be authenticated before their request is judged, and only calls of
      // signed-in devices have parameters in path or query.
      return .call(.signed(.refused(error)))
    }
  }

  private static func nothing(
    at target: RequestTarget, _ place: Place, _ pages: WebAssetCache
  ) -> Refusal {
    let isOfZone = target.path.starts(with: ["v1", "zones"])
    if let name = target.path.first, target.path.count == 1, name.hasPrefix("lockstep-"),
      name.hasSuffix(".js")
    {
      return Refusal(
        .notFound,
        "The relay serves the JavaScript package of its own version only; /lockstep.json names it.")
    }
    let nearest =
      nearestPath(to: target.path, at: place)
      ?? pages.nearestDescription(to: target.path, at: place.listenerKind)
    return Refusal(
      .notFound,
      isOfZone
        ? "Nothing exists at this path; quote a slash in a zone or a name as %2F (in Python: "
          + "urllib.parse.quote(zone, safe=\"\"))."
        : "Nothing exists at this path; "
          + (nearest.map { "did you mean \($0)?" } ?? "check it."))
  }

  /// Returns the path of a call that a person may have meant, with `*` for names; nil if none is
  /// near. Long paths have no nearest one: the search costs their length.
  private static func nearestPath(
    to path: [String], at place: Place
  ) -> String? {
    guard path.reduce(0, { $0 + 1 + $1.utf8.count }) <= nearestBytes else { return nil }
    var nearest: (route: Route, slips: Int)?
    for route in routes.flatMap({ $0 }) where place.serves(route) {
      let places = route.pattern.indices.filter { route.pattern[$0] != "*" }
      let hasNames = places.count < route.pattern.count
      guard !hasNames || route.pattern.count == path.count else { continue }
      let written = hasNames ? places.map { path[$0] } : path
      let known = places.map { route.pattern[$0] }
      let slips = Suggestion.slips(
        from: written.joined(separator: "/"), to: known.joined(separator: "/"))
      if let slips, slips < nearest?.slips ?? .max { nearest = (route, slips) }
    }
    return nearest.map { "/" + $0.route.pattern.joined(separator: "/") }
  }

  private static let nearestBytes = 128

  /// Returns the route of a path. A literal path takes precedence over a pattern.
  private static func route(
    matching path: [String], at place: Place
  ) -> Route? {
    guard path.count < routes.count else { return nil }
    var found: Route?
    for route in routes[path.count] where route.matches(path, at: place) {
      if route.pattern == path { return route }
      if found == nil { found = route }
    }
    return found
  }

  private static func name(_ segment: String) throws(Refusal) -> Name {
    guard let name = Name(segment) else {
      throw Refusal(
        .badName,
        "A name in the path is empty, longer than \(Limits.nameBytes) bytes or has control "
          + "characters.")
    }
    return name
  }

  private static func recordKey(_ target: RequestTarget) throws(Refusal) -> RecordKey {
    RecordKey(zone: try name(target.path[2]), name: try name(target.path[4]))
  }

  /// Returns the version that the query of a deletion names. An empty value is refused: a template
  /// whose tag is missing must not fall back on another condition.
  private static func replacedVersion(_ target: RequestTarget) throws(Refusal) -> ReplacedVersion? {
    guard let text = target["baseTag"] else { return nil }
    if text == "any" { return .any }
    guard let tag = number(text, atMost: Limits.sequenceLimit - 1), tag > 0 else {
      throw Refusal(
        .badRequest, "`baseTag` must be the record's tag, or any to delete any version.")
    }
    return .version(tag)
  }

  private static func recordListQuery(
    _ target: RequestTarget
  ) throws(Refusal) -> RecordListQuery {
    var query = RecordListQuery(zone: try name(target.path[2]))
    query.after = try token("after", of: target)
    if let after = query.after, after.pinned == nil {
      throw Refusal(
        .badChangeToken,
        "`after` must be the `token` of a page of this list with `more` true; after the last page, "
          + "that token goes to /v1/changes as `since`.")
    }
    query.type = try stated("type", in: target).map(name)
    query.limit = try limit(target, atMost: Limits.pageRecords, of: "records")
    return query
  }

  /// Returns the parameter's value; nil if it is missing or empty, as templates make it.
  private static func stated(_ parameter: String, in target: RequestTarget) -> String? {
    target[parameter].flatMap { $0.isEmpty ? nil : $0 }
  }

  private static func chunk(_ segment: String) throws(Refusal) -> ChunkHash {
    guard let hash = ChunkHash(text: segment) else {
      throw Refusal(
        .badRequest,
        "The path must name a chunk by 64 hexadecimal digits, the SHA-256 of its bytes."
      )
    }
    return hash
  }

  private static func device(_ segment: String) throws(Refusal) -> DeviceID {
    guard let device = DeviceID(text: segment) else {
      throw Refusal(.notFound, "The account has no such device; list its devices first.")
    }
    return device
  }

  private static func token(
    _ parameter: String, of target: RequestTarget
  ) throws(Refusal) -> ChangeToken? {
    guard let text = target[parameter] else { return nil }
    // Without `through`, all of a zone is deleted, which must not be requested by mistake.
    if text.isEmpty, parameter != "through" { return nil }
    guard let token = ChangeToken(text: text) else {
      throw Refusal(
        .badChangeToken,
        "`\(parameter)` must be a token that the relay sent; omit it if you have none.")
    }
    return token
  }

  private static func account(_ segment: String) throws(Refusal) -> AccountID {
    guard let account = AccountID(text: segment) else { throw StoreRefusals.unknownAccount }
    return account
  }

  private static func accountsQuery(_ target: RequestTarget) throws(Refusal) -> AdminCall {
    var after: AccountID?
    if let text = target["after"] {
      guard let id = AccountID(text: text) else {
        throw Refusal(.badRequest, "`after` must be an account's id: sixteen hexadecimal digits.")
      }
      after = id
    }
    return .accounts(
      after: after,
      limit: try limit(target, atMost: Limits.listedAccounts, of: "accounts"))
  }

  /// Returns the maximum if the limit is left out or higher.
  private static func limit(
    _ target: RequestTarget, atMost most: Int, of things: String
  ) throws(Refusal) -> Int {
    guard let text = stated("limit", in: target) else { return most }
    guard let limit = number(text, atMost: Int64(most)), limit > 0 else {
      throw Refusal(.badRequest, "`limit` must be a number of \(things), at least 1.")
    }
    return Int(limit)
  }

  private static func fetchQuery(_ target: RequestTarget) throws(Refusal) -> FetchQuery {
    var query = FetchQuery()
    query.since = try token("since", of: target)
    if let text = target["zone"] { query.zone = try name(text) }
    query.limit = try limit(target, atMost: Limits.pageRecords, of: "records")
    if let text = stated("wait", in: target) {
      guard let seconds = number(text, atMost: Limits.longPollMilliseconds / 1_000) else {
        throw Refusal(.badRequest, "`wait` must be a number of whole seconds, at least 0.")
      }
      query.waitMilliseconds = seconds * 1_000
    }
    return query
  }

  /// Returns nil unless `text` is all digits. A number above `limit`, however long, counts as
  /// `limit`.
  private static func number(_ text: String, atMost limit: Int64) -> Int64? {
    guard !text.isEmpty else { return nil }
    var value: Int64 = 0
    for byte in text.utf8 {
      guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
      value = min(value * 10 + Int64(byte - UInt8(ascii: "0")), limit)
    }
    return value
  }
}
