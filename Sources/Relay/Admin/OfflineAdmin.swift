import LockstepModel
import LockstepStorage
import LockstepWire

/// Performs the owner's calls on a store that no relay serves. Each call is routed, checked,
/// performed and answered as by a running relay, one at a time and synchronously.
package struct OfflineAdmin: Sendable {
  package struct Response: Hashable, Sendable {
    package var status: Int
    /// JSON; a problem document if the status is an error.
    package var body: [UInt8]
  }

  private let secrets: SecretSource

  package init(secrets: SecretSource) { self.secrets = secrets }

  /// `wall` is the time in milliseconds since the Unix epoch. Throws if the store failed; nothing
  /// was done then.
  package func answer(
    _ method: String, _ target: RequestTarget, body: [UInt8], on store: some ZoneStore,
    _ files: some ChunkStore, wall: Int64
  ) throws(StorageError) -> Response {
    let answer: Answer
    switch Router.route(method: method, target: target, door: .control) {
    case .call(.owner(let call)):
      answer = try perform(call, body: body, on: store, files, wall: wall)
    case .refused(let refusal, let methods): answer = Answer(refusal, methods: methods)
    case .call, .options:
      answer = Answer(Refusal(.notFound, "No relay runs on this store; start it first."))
    }
    return Response(status: answer.status, body: answer.body)
  }

  private func perform(
    _ call: AdminCall, body: [UInt8], on store: some ZoneStore, _ files: some ChunkStore,
    wall: Int64
  ) throws(StorageError) -> Answer {
    let context = CallContext(
      configuration: RelayConfiguration(), secrets: secrets, wall: wall,
      address: PeerNetwork(of: .local(path: "")))
    do {
      switch try Owner().perform(call, body: body, in: context) {
      case .answer(let answer): return answer
      case .commit(let request, let continuation):
        var results = try store.commit([request], wall: wall)
        precondition(results.count == 1, "a store left a request unanswered")
        while let rest = request.rest(after: results[0]) {
          results = try store.commit([rest], wall: wall)
          precondition(results.count == 1, "a store left a request unanswered")
        }
        let answer = try continuation.answer(to: results[0])
        if case .removeAccount(let account) = call {
          _ = try files.perform(.removeAll(of: account))
        }
        return answer
      case .read(let request, .owner(.chunk)):
        return try self.answer(to: try store.read(request), from: files)
      case .read(let request, .owner(let continuation)):
        return try continuation.answer(to: try store.read(request)) { device, _ in device }
      case .read: throw ResponseBuilder.mismatch
      }
    } catch let refusal as Refusal {
      return Answer(refusal)
    } catch let error as StorageError {
      throw error
    } catch {
      preconditionFailure("neither the store nor the owner's desk says this")
    }
  }

  /// Builds the answer with a chunk's bytes in memory: a chunk has at most `Limits.chunkBytes`.
  private func answer(to result: ReadResult, from files: some ChunkStore) throws -> Answer {
    switch result {
    case .refused(let refusal): throw refusal
    case .chunk(let chunk):
      var answer = Answer(status: 200)
      while answer.body.count < chunk.bytes {
        let request = ChunkRequest.read(
          chunk.file, offset: answer.body.count, count: Limits.chunkPortionBytes)
        switch try files.perform(request) {
        case .bytes(let bytes) where !bytes.isEmpty: answer.body += bytes
        case .refused(let refusal): throw refusal
        case .bytes, .done, .files: throw ResponseBuilder.mismatch
        }
      }
      return answer
    default: throw ResponseBuilder.mismatch
    }
  }
}
