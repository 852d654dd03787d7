import LockstepCrypto
import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire

/// The web pages of a relay: the account's pages and the reference of its calls, in the folder
/// `docs`, on the public listener, and the owner's pages, in the folders `status` and `admin`, on
/// the admin and control listeners. The page in `admin` may be served on the public listener, too.
@usableFromInline
package struct WebAssetCache: Sendable, Hashable {
  static let ownerPageFolder = "admin"
  private static let statusFolder = "status"
  private static let referenceFolder = "docs"
  /// Folders whose entry page is also served without a slash at the end of the path.
  private static let folders = [ownerPageFolder, statusFolder, referenceFolder]
  /// Folders of scripts, styles and icons that the owner's page shares with other pages.
  private static let sharedFolders = ["page", "json", "apps", "sealing", "model"]
  /// Paths of the pages that describe the calls, each with the names by which such pages are known
  /// elsewhere.
  private static let descriptions = [
    (path: "docs", names: ["docs", "doc", "documentation", "reference", "api-docs", "redoc"]),
    (
      path: "openapi.json",
      names: [
        "openapi.json", "openapi", "openapi.yaml", "openapi.yml", "swagger", "swagger.json",
      ]
    ),
  ]
  private let files: [String: PageFile]
  /// True if the owner has a folder of pages (`PageFolder`).
  private let hasFolder: Bool

  /// If two pages have the same path, the first one is used.
  @usableFromInline
  package init(_ pages: [PageFile] = [], hasFolder: Bool = false) {
    files = Dictionary(pages.map { ($0.path, $0) }) { first, _ in first }
    self.hasFolder = hasFolder
  }

  /// Returns the call for a path of a page; nil if there is none on that listener.
  func call(
    at path: [String], listenerKind: Opening.ListenerKind, hasPublicOwnerPage: Bool = false
  ) -> Call? {
    if hasFolder, listenerKind == .public, let names = PageFolderEntry.names(of: path) {
      return .ownPage(names)
    }
    return page(
      at: path, listenerKind: listenerKind, hasPublicOwnerPage: hasPublicOwnerPage
    ).map { .page($0) }
  }

  /// Returns the page at a path for requests on that listener; nil if there is none.
  /// `hasPublicOwnerPage`: the public listener serves the owner's page.
  func page(
    at path: [String], listenerKind: Opening.ListenerKind, hasPublicOwnerPage: Bool = false
  ) -> PageFile? {
    let folder = path.first ?? ""
    let isInFolder = path.count > 1 && path.last?.isEmpty == false
    let isServed =
      switch (listenerKind, folder) {
      case (.public, Self.ownerPageFolder): hasPublicOwnerPage
      // The page draws figures as the status page does, which itself is not public.
      case (.public, Self.statusFolder):
        hasPublicOwnerPage && isInFolder && path.last != "index.html"
      case (.public, _): true
      case (_, Self.ownerPageFolder), (_, Self.statusFolder): true
      case (_, _): isInFolder && Self.sharedFolders.contains(folder)
      }
    guard isServed else { return nil }
    let isFolder = path.count == 1 && Self.folders.contains(folder)
    let name = isFolder ? folder + "/" : path.joined(separator: "/")
    return files[name.isEmpty || name.hasSuffix("/") ? name + "index.html" : name]
  }

  /// Returns the path of a description of the calls that a person may have meant; nil if none is
  /// near or the relay has none. `v1/docs` means `docs`, too.
  func nearestDescription(to path: [String], at listenerKind: Opening.ListenerKind) -> String? {
    let name = path.last?.isEmpty == true ? path.dropLast().last : path.last
    guard let name, path.count <= 3, listenerKind == .public else { return nil }
    let candidates = WebAssetCache.descriptions.flatMap(\.names)
    let nearest = Suggestion.nearest(to: name.lowercased(), among: candidates)
    return WebAssetCache.descriptions.first { description in
      nearest.map(description.names.contains) == true
        && page(at: [description.path], listenerKind: listenerKind) != nil
    }.map { "/" + $0.path }
  }
}

/// A file that a browser may load from the relay.
@usableFromInline
package struct PageFile: Sendable, Hashable {
  /// Path from the root, without the leading slash: `client/limits.js`.
  @usableFromInline package let path: String
  @usableFromInline package let bytes: [UInt8]
  /// True if the path names the version, so that a browser may keep the file for good.
  @usableFromInline package let isImmutable: Bool
  /// True if only pages of the relay's own origin load the file. Its answers then do not depend on
  /// the origin that a request names: browsers name it for a script of a page and not for the same
  /// file in a service worker, and would check a kept file again if the answers differed by it.
  @usableFromInline package let isForOwnPages: Bool
  /// True if `bytes` are in the coding gzip. Clients that do not accept it get them decoded.
  @usableFromInline package let isGzipped: Bool

  @usableFromInline
  package init(
    path: String, bytes: [UInt8], isImmutable: Bool = false, isForOwnPages: Bool = false,
    isGzipped: Bool = false
  ) {
    self.path = path
    self.bytes = bytes
    self.isImmutable = isImmutable
    self.isForOwnPages = isForOwnPages
    self.isGzipped = isGzipped
  }

  /// Returns the same file without a coding; itself if it has none, or one that cannot be read.
  func decoded() -> PageFile {
    guard isGzipped,
      let plain = GzipContent.decoded(bytes, limit: PageFolderEntry.pageFileBytes)
    else { return self }
    return PageFile(
      path: path, bytes: plain, isImmutable: isImmutable, isForOwnPages: isForOwnPages)
  }

  /// Entity tag (RFC 9110 section 8.8.3); equal bytes have equal tags. Computed on access, so that
  /// a relay's start does not wait for it.
  package var tag: String { "\"\((ChunkHash(bytes: SHA256.hash(bytes))?.text ?? "").prefix(24))\"" }

  /// Media type, derived from the file name's extension.
  var mediaType: String {
    switch path.split(separator: ".").last {
    case "html": "text/html; charset=utf-8"
    case "js", "mjs": "text/javascript; charset=utf-8"
    case "css": "text/css; charset=utf-8"
    case "svg": "image/svg+xml"
    case "png": "image/png"
    case "jpg", "jpeg": "image/jpeg"
    case "gif": "image/gif"
    case "webp": "image/webp"
    case "ico": "image/x-icon"
    case "txt": "text/plain; charset=utf-8"
    case "json": "application/json"
    case "webmanifest": "application/manifest+json"
    default: "application/octet-stream"
    }
  }
}

extension Answer {
  /// Content security policy: a page loads nothing from other origins, sends nothing to them, and
  /// no other page may frame it.
  static let policy = [
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:",
    "connect-src 'self'", "manifest-src 'self'", "worker-src 'self'", "base-uri 'none'",
    "form-action 'none'", "frame-ancestors 'none'",
  ].joined(separator: "; ")

  /// Answer to a request for a page that the program contains.
  init(page: PageFile, to headers: HTTPHeaders) {
    let ifNoneMatch = headers.list("If-None-Match")
    guard page.isGzipped else {
      self.init(page: page, tag: page.tag, ifNoneMatch: ifNoneMatch)
      return
    }
    // Each coding has an entity tag of its own (RFC 9110 section 8.8.3.3).
    let chosen = GzipContent.isAccepted(by: headers.list("Accept-Encoding")) ? page : page.decoded()
    self.init(page: chosen, tag: chosen.tag, ifNoneMatch: ifNoneMatch)
    self.headers.append("Vary", "Accept-Encoding")
    if chosen.isGzipped, status == 200 { self.headers.append("Content-Encoding", "gzip") }
  }

  init(page: PageFile, tag: String, ifNoneMatch: [String]) {
    let isHeld = Answer.isHeld(tag, by: ifNoneMatch)
    self.init(status: isHeld ? 304 : 200)
    isForOwnPages = page.isForOwnPages
    headers.append("ETag", tag)
    // A newer program has newer pages, so browsers must revalidate. A year is the usual maximum
    // (RFC 9111 section 1.2.2); `immutable` is RFC 8246.
    headers.append(
      "Cache-Control", page.isImmutable ? "public, max-age=31536000, immutable" : "no-cache")
    headers.append("Content-Security-Policy", Answer.policy)
    if isHeld { return }
    headers.append("Content-Type", page.mediaType)
    headers.append("X-Content-Type-Options", "nosniff")
    headers.append("Referrer-Policy", "no-referrer")
    body = page.bytes
  }

  /// Answer to a request for one of the owner's pages.
  init(ownPage result: Result<PageFolderEntry, StorageError>, to head: HTTPRequestHead) {
    switch result {
    case .success(.file(let page, let tag)):
      self.init(page: page, tag: tag, ifNoneMatch: head.headers.list("If-None-Match"))
    case .success(.folder):
      // The links of a page are relative to its folder.
      self.init(status: 308)
      headers.append("Location", RequestTarget(path: head.target.path + [""]).text)
      headers.append("Cache-Control", "no-cache")
    case .success(.missing):
      self.init(
        missing: Refusal(
          .notFound, "The relay's folder of pages has no such file; check the path."), to: head)
    case .success(.tooLarge):
      self.init(
        Refusal(
          .notFound,
          "The file has more than \(PageFolderEntry.pageFileBytes >> 20) MiB, which the relay does "
            + "not serve; make it smaller."))
    case .failure:
      self.init(
        Refusal(
          .overloaded, "The relay cannot read its folder of pages now; try again in a moment.",
          retryAfterMilliseconds: 1_000))
    }
  }
}
