import Model

/// Where the user ids of a segment come from. Each call of `nextBatch` that throws can be repeated:
/// what it had not got is asked for again, what had come is not. Confined to one lane.
package final class SegmentUsers {
  enum Source {
    case list(FollowerSource)
    case selection(SelectionSource)
    /// The event or the segment names them itself; nil when they were given out.
    case known(FollowerBatch?)
  }

  let segment: Segment
  private var source: Source

  init(_ segment: Segment, _ source: Source) {
    self.segment = segment
    self.source = source
  }

  /// Whether `readAhead` asks for members, not only for how many there are.
  package var beginsWithMembers: Bool {
    if case .list(let list) = source { list.beginsWithMembers } else { false }
  }

  /// Asks Redis what reading begins with, while the caller asks for the right to do so: one round
  /// trip less. Not to be called again, nor while `nextBatch` runs. `nextBatch` asks again for a
  /// failed batch; a batch that nobody reads then is thrown away.
  package func readAhead() async {
    switch source {
    case .list(let list): await list.readAhead()
    case .selection(let selection): await selection.readAhead()
    case .known: break
    }
  }

  /// Nothing more is read: frees what is remembered, which may be 2 MiB, while the segment goes on.
  package func finish() {
    switch source {
    case .list(let list): list.finish()
    case .selection(let selection): selection.finish()
    case .known: source = .known(nil)
    }
  }

  /// How often reading began again, because Redis was restarted under a scan or a list was
  /// resharded.
  var restarts: Int {
    switch source {
    case .list(let list): list.restarts
    case .selection(let selection): selection.restarts
    case .known: 0
    }
  }

  /// Whether anything is kept of who was read.
  var remembers: Bool {
    switch source {
    case .list(let list): list.remembers
    case .selection(let selection): selection.remembers
    case .known(let batch): batch != nil
    }
  }

  /// The next ids, perhaps none; nil when all are read.
  func nextBatch() async throws(ExpandError) -> FollowerBatch? {
    switch source {
    case .list(let list): return try await list.nextBatch()
    case .selection(let selection): return try await selection.nextBatch()
    case .known(let batch):
      source = .known(nil)
      return batch
    }
  }
}
