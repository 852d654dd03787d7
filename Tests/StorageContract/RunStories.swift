import LockstepModel
import LockstepStorage
import Testing

/// Restarts of the relay, and silent rollbacks of all its storage to an earlier state.
package enum RunStories {
  package static let all = tokens + saves

  private static func lostAfter(_ scene: ZoneScene, since: ChangeToken) throws -> ChangeTag? {
    let read = ReadRequest.changes(scene.account, since: since, zones: .all, limit: 10)
    guard case .refused(let refusal) = try scene.store.read(read) else { return nil }
    #expect(refusal.code == .storeRestored)
    return refusal.restoredThrough
  }

  private static func newest(_ scene: ZoneScene) throws -> ChangeToken {
    guard case .token(let token) = try scene.store.read(.newestToken(scene.account)) else {
      throw Unexpected(what: "no token")
    }
    return token
  }

  @discardableResult private static func save(
    _ names: String..., in scene: ZoneScene
  ) throws -> ChangeToken {
    for name in names { try scene.save(ZoneScene.put(name, over: nil)) }
    return try newest(scene)
  }

  private static func prepare(_ scene: ZoneScene) throws {
    try scene.restart()
    try scene.makeAccount()
    try save("a", "b", in: scene)
  }

  private static let tokens = [
    ZoneStory("a token of lost saves is detected before the next save") { scene in
      try prepare(scene)
      let kept = try newest(scene)
      let copy = try scene.copyAll()
      let lost = try save("c", "d", in: scene)
      try scene.rollBack(to: copy)
      #expect(try lostAfter(scene, since: lost) == kept.sequence)
      #expect(try scene.page(since: kept).changes.isEmpty)
      #expect(try newest(scene) == kept)
    },
    ZoneStory("a token of lost saves is detected after any number of saves") { scene in
      try prepare(scene)
      let kept = try newest(scene)
      let copy = try scene.copyAll()
      let lost = try save("c", "d", in: scene)
      try scene.rollBack(to: copy)
      let next = try save("e", "f", "g", "h", in: scene)
      #expect(next.sequence > lost.sequence && next.generation == kept.generation)
      #expect(try lostAfter(scene, since: lost) == kept.sequence)
      #expect(try scene.page(since: kept).names == ["e", "f", "g", "h"])
      #expect(try scene.page(since: ZoneScene.token(1)).names == ["b", "e", "f", "g", "h"])
      try scene.restart()
      #expect(try lostAfter(scene, since: lost) == kept.sequence)
      #expect(try scene.page(since: next).changes.isEmpty)
    },
    ZoneStory("tokens issued in runs that are lost as a whole are detected") { scene in
      try prepare(scene)
      let kept = try newest(scene)
      let copy = try scene.copyAll()
      try scene.restart()
      let first = try save("c", in: scene)
      try scene.restart()
      let second = try save("d", in: scene)
      try scene.rollBack(to: copy)
      #expect(try lostAfter(scene, since: first) == kept.sequence)
      let next = try save("e", in: scene)
      #expect(try lostAfter(scene, since: first) == kept.sequence)
      #expect(try lostAfter(scene, since: second) == kept.sequence)
      // Rolled back again, to the same state.
      try scene.rollBack(to: copy)
      let last = try save("f", in: scene)
      for lost in [first, second, next] {
        #expect(try lostAfter(scene, since: lost) == kept.sequence)
      }
      #expect(try scene.page(since: kept).names == ["f"])
      #expect(Set([first, second, next, last].map(\.sequence)).count == 4)
    },
    ZoneStory("a read without a token, or across a gap, reports the lost tags") {
      scene in
      try prepare(scene)
      let kept = try newest(scene)
      #expect(try scene.page(since: kept).lostTags.isEmpty)
      let copy = try scene.copyAll()
      let lost = try save("c", "d", in: scene)
      try scene.rollBack(to: copy)
      // Nothing was saved since; the next tags will be beyond the lost ones.
      let told = try #require(try scene.page().lostTags.last)
      #expect(told.after == kept.sequence && told.contains(lost.sequence))
      #expect(try scene.page(since: kept).lostTags.isEmpty)
      let next = try save("e", "f", in: scene)
      for page in [try scene.page(), try scene.page(since: kept)] {
        let gap = try #require(page.lostTags.last)
        #expect(gap == told)
        #expect(!gap.contains(next.sequence) && !gap.contains(kept.sequence))
      }
      #expect(try scene.page(since: next).lostTags.isEmpty)
      guard
        case .refused(let refusal) = try scene.store.read(
          .changes(scene.account, since: lost, zones: .all, limit: 10))
      else { throw Unexpected(what: "a lost token is followed") }
      #expect(refusal.lostThrough == told.through)
    },
    ZoneStory("tokens of all runs stay good, and nothing else changes") { scene in
      try prepare(scene)
      var told: [ChangeToken] = [try newest(scene)]
      for name in ["c", "d", "e"] {
        try scene.restart()
        #expect(try newest(scene) == told.last)
        told.append(try save(name, in: scene))
      }
      for (index, token) in told.enumerated() {
        #expect(try scene.page(since: token).names == Array(["c", "d", "e"][index...]))
      }
      #expect(try scene.page().names == ["a", "b", "c", "d", "e"])
      #expect(told.map(\.sequence) == told.map(\.sequence).sorted())
    },
    ZoneStory("a run without a save of the account leaves its tags alone") { scene in
      try prepare(scene)
      let before = try newest(scene)
      for _ in 0..<3 { try scene.restart() }
      #expect(try scene.save(ZoneScene.put("a", over: 2)).conflicts.count == 1)
      #expect(try newest(scene) == before)
    },
    ZoneStory("a token from the middle of a read reveals the lost tags that it covers") {
      scene in
      try prepare(scene)
      let copy = try scene.copyAll()
      try save("c", in: scene)
      let middle = try scene.page(since: ZoneScene.token(0), limit: 1).token
      let snapshot = try scene.page(limit: 1).token
      try scene.rollBack(to: copy)
      try save("d", in: scene)
      #expect(try lostAfter(scene, since: middle) == 2)
      #expect(try lostAfter(scene, since: snapshot) == 2)
    },
    ZoneStory("a lost token is detected also if newer tokens of the store were issued since") {
      scene in
      try prepare(scene)
      let copy = try scene.copyAll()
      var lost = try save("c", in: scene)
      try scene.rollBack(to: copy)
      lost.horizon = try save("d", in: scene).sequence
      #expect(try lostAfter(scene, since: lost) == 2)
    },
    ZoneStory("a zone is not deleted through a lost token") { scene in
      try prepare(scene)
      let copy = try scene.copyAll()
      let lost = try save("c", in: scene)
      try scene.rollBack(to: copy)
      try save("d", in: scene)
      let deletion = CommitRequest.deleteZone(
        scene.account, scene.phone, scene.zone, through: lost)
      #expect(try scene.refusal(deletion) == .storeRestored)
      #expect(try scene.page().names == ["a", "b", "d"])
    },
    ZoneStory("the deletion of a zone begins a run as a save does") { scene in
      try prepare(scene)
      let kept = try newest(scene)
      let copy = try scene.copyAll()
      let lost = try save("c", in: scene)
      try scene.rollBack(to: copy)
      let request = CommitRequest.deleteZone(
        scene.account, scene.phone, scene.zone, through: nil)
      guard case .zoneDeleted(let deletion) = try scene.commit(request) else {
        throw Unexpected(what: "the zone was not deleted")
      }
      #expect(deletion.since == kept && deletion.token.sequence > lost.sequence)
      #expect(deletion.changed?.last?.tag == deletion.token.sequence)
      #expect(try lostAfter(scene, since: lost) == kept.sequence)
      #expect(try scene.page(since: kept).changes.filter(\.isDeleted).count == 2)
    },
  ]

  private static let saves = [
    ZoneStory("an answer links the state before a run to the saves in it") { scene in
      try prepare(scene)
      let before = try newest(scene)
      try scene.restart()
      let batch = scene.batch([ZoneScene.put("c", over: nil), ZoneScene.put("d", over: nil)])
      let outcome = try scene.save(batch)
      #expect(outcome.answer.since == before)
      #expect(outcome.tags == [outcome.answer.token.sequence - 1, outcome.answer.token.sequence])
      #expect(try scene.save(batch).tags == outcome.tags)
      try scene.restart()
      #expect(try scene.save(batch).tags == outcome.tags)
      #expect(try newest(scene) == outcome.answer.token)
    },
    ZoneStory("a change that is based on a lost save is refused") { scene in
      try prepare(scene)
      let copy = try scene.copyAll()
      let lost = try #require(try scene.save(ZoneScene.put("a", #"{"n":2}"#, over: nil)).tags.first)
      try scene.rollBack(to: copy)
      let change = scene.batch([ZoneScene.put("a", #"{"n":3}"#, over: lost)])
      guard case .refused(let refusal) = try scene.commit(.save(change)) else {
        throw Unexpected(what: "it was taken")
      }
      #expect(refusal.code == .storeRestored && refusal.restoredThrough == 2)
      // The account has new saves.
      try scene.save(ZoneScene.put("a", #"{"n":4}"#, over: nil))
      #expect(try scene.refusal(.save(change)) == .storeRestored)
      #expect(try scene.current("a")?.fields == Array(#"{"n":4}"#.utf8))
    },
    ZoneStory("a change that was made in a former run meets a conflict, or lands") { scene in
      try prepare(scene)
      try scene.restart()
      try save("c", in: scene)
      try scene.restart()
      #expect(try scene.save(ZoneScene.put("a", #"{"n":2}"#, over: 1)).tags.count == 1)
      #expect(try scene.save(ZoneScene.put("a", #"{"n":3}"#, over: 1)).conflicts.count == 1)
    },
    ZoneStory("lost tags are detected many runs later") {
      scene in
      try prepare(scene)
      let copy = try scene.copyAll()
      let lost = try save("lost", in: scene)
      try scene.rollBack(to: copy)
      let early = try save("c", in: scene)
      for _ in 0..<12 {
        try scene.restart()
        try save("d", in: scene)
      }
      #expect(try scene.page(since: early).names == ["d"])
      #expect(try lostAfter(scene, since: lost) == 2)
    },
  ]
}
