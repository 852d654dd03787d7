/// Tags that an account's history has skipped: those after `after`, up to `through`.
///
/// A *run* begins when a store is opened for writing, and has its own number, an `OpeningNumber`.
/// At an account's first save in a run, its tags continue from the time of that opening, above all
/// tags given before:
///
///     first run         second                third
///     1 2 3 … 100       20001 … 20007         30001 …
///                ‹ gap ›             ‹  gap  ›
///
/// If the whole store goes back to an earlier state, the tags that it gives then differ from those
/// that it gave before. A client with a lost tag is recognised: the tag is in a gap.
public struct TagGap: Hashable, Sendable {
  public var after: ChangeTag
  public var through: ChangeTag

  public init(after: ChangeTag, through: ChangeTag) {
    self.after = after
    self.through = through
  }

  public func contains(_ tag: ChangeTag) -> Bool { tag > after && tag <= through }
}
