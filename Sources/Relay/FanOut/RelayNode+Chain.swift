import LockstepModel
import LockstepStorage
import LockstepWire

/// Continues a socket's cursor chain: pages that the relay reads for it, its own fetches, and the
/// answers to its saves.
extension RelayNode {
  /// Performs the chain's action, and then sends the answers that it makes due.
  mutating func follow(_ slot: Hub.Slot, _ push: CursorChain.Push) {
    switch push {
    case .nothing, .push: break
    case .hint:
      if let token = connections[slot].socket?.chain.hintToken {
        status.hints += 1
        say(slot, .changed(token: token))
      }
    case .read: readPage(slot)
    }
    sendSaved(slot)
  }

  /// Reads the changes after the cursor, as soon as the connection takes bytes.
  mutating func readPage(_ slot: Hub.Slot) {
    guard let session = connections[slot].session,
      let cursor = connections[slot].socket?.chain.cursor
    else { return }
    let isClogged = isClogged(slot)
    connections[slot].socket?.owesRead = isClogged
    if isClogged { return }
    let isAsked = askPage(
      session, FetchQuery(since: cursor),
      as: PageForm(
        shape: .frame(request: nil, isCompressed: takesCompressed(slot)),
        keepsRecords: mayPassPages(slot)),
      for: .catchUp(connections[slot].id, since: cursor))
    if !isAsked { pageFailed(slot) }
  }

  /// True if the connection is a socket that takes compressed messages.
  func takesCompressed(_ slot: Hub.Slot) -> Bool {
    connections[slot].socket?.takesCompressed ?? false
  }

  private mutating func pageFailed(_ slot: Hub.Slot) {
    let push = connections[slot].socket?.chain.pageFailed()
    follow(slot, push ?? .nothing)
  }

  mutating func caughtUp(
    _ id: ConnectionID, since: ChangeToken, _ result: Result<ReadPage, Refusal>
  ) {
    guard let slot = connections.slot(of: id),
      connections[slot].socket?.chain.awaitsPage(since: since) == true
    else { return }
    switch result {
    case .success(let page) where passes(slot, page, connections[slot].socket?.chain):
      let push = connections[slot].socket?.chain.passedPage(to: page.token)
      follow(slot, push ?? .nothing)
    case .success(let page):
      // An empty page that does not move the cursor carries no information.
      if !page.isEmpty || page.token != since { send(slot, page.bytes) }
      let push = connections[slot].socket?.chain.paged(to: page.token, more: page.more)
      follow(slot, push ?? .nothing)
    case .failure(let refusal):
      if refusal.code.advice == .fetchFirst {
        connections[slot].socket?.chain.cursorRefused()
        refuse(slot, nil, refusal)
        sendSaved(slot)
      } else {
        pageFailed(slot)
      }
    }
    read(slot)
  }

  mutating func socketFetched(
    _ id: ConnectionID, request: String, ofWholeAccount: Bool,
    _ result: Result<ReadPage, Refusal>
  ) {
    guard let slot = connections.slot(of: id) else { return }
    connections[slot].socket?.requests -= 1
    connections[slot].socket?.isFetching = false
    switch result {
    case .success(let page):
      send(slot, page.bytes)
      if ofWholeAccount {
        let push = connections[slot].socket?.chain.fetched(to: page.token, more: page.more)
        follow(slot, push ?? .nothing)
      }
    case .failure(let refusal): fetchFailed(slot, request, ofWholeAccount, refusal)
    }
    read(slot)
  }

  private mutating func fetchFailed(
    _ slot: Hub.Slot, _ request: String, _ ofWholeAccount: Bool, _ refusal: Refusal
  ) {
    refuse(slot, request, refusal)
    guard ofWholeAccount else { return }
    connections[slot].socket?.chain.fetchFailed()
    sendSaved(slot)
  }

  // MARK: saves

  mutating func socketSaved(
    _ id: ConnectionID, _ batch: BatchID, bytes: Int, _ result: Result<CommitResult, Refusal>
  ) {
    guard let slot = connections.slot(of: id) else { return }
    connections[slot].socket?.requestBytes -= bytes
    if case .success(.saved(let outcome)) = result {
      // Counts as a request until it has its place in the chain.
      connections[slot].socket?.requestBytes += outcome.answer.conflictBytes
      connections[slot].socket?.chain.saved(.init(id: batch, answer: outcome.answer))
      sendSaved(slot)
      read(slot)
      return
    }
    connections[slot].socket?.requests -= 1
    switch result {
    case .success: refuse(slot, batch.text, ResponseBuilder.mismatch)
    case .failure(let refusal) where refusal.code == .badToken: closeSocket(slot, refusal)
    case .failure(let refusal): refuse(slot, batch.text, refusal)
    }
    read(slot)
  }

  /// Sends the answers to saves that are due.
  private mutating func sendSaved(_ slot: Hub.Slot) {
    while let turn = connections[slot].socket?.chain.nextSaved() {
      switch turn {
      case .send(let saved):
        connections[slot].socket?.requests -= 1
        connections[slot].socket?.requestBytes -= saved.answer.conflictBytes
        say(slot, .saved(id: saved.id, saved.answer))
      case .read:
        readPage(slot)
        return
      case .wait: return
      }
    }
  }
}

extension SaveAnswer {
  /// Bytes of the records in its conflicts.
  fileprivate var conflictBytes: Int {
    results.reduce(0) { sum, result in
      guard case .conflict(_, let record) = result else { return sum }
      return sum + (record.fields?.count ?? 0)
    }
  }
}
