/// The entries of a list of stragglers, found by the bytes of user and member.
package struct StragglerIndex {
  private let histories: [[UInt8]: PushHistory]
  private let pushes: [Straggler]

  package init(_ list: StragglerList) {
    pushes = list.pushes
    histories = Dictionary(
      list.pushes.map { (Self.key(Array($0.user.utf8), Array($0.member.utf8)), $0.history) }
    ) { first, _ in first }
  }

  package var count: Int { histories.count }

  /// Nil for a push that is not on the list.
  package func history(
    user: UnsafeRawBufferPointer, member: UnsafeRawBufferPointer
  ) -> PushHistory? {
    histories[Self.key(Array(user), Array(member))]
  }

  /// No user id holds a NUL.
  private static func key(_ user: [UInt8], _ member: [UInt8]) -> [UInt8] { user + [0] + member }

  /// Takes out of a page the bindings that are not on the list; returns how many are left. The
  /// page's users, and what was passed over of them, were counted by the segment that the pushes
  /// left.
  package func keepListed(of page: RecipientPage) -> Int {
    let users = page.recipients.map(\.user)
    page.keepBindings { recipient, binding in
      history(user: page.bytes[users[recipient]], member: page.bytes[binding.member]) != nil
    }
    page.followers = 0
    page.suppressed = SuppressionCounts()
    page.skipped = 0
    page.unknownZones = 0
    page.withheld = []
    return page.bindings.count
  }

  /// The names of a page's pushes, all of them listed.
  package func names(in page: RecipientPage) -> [[UInt8]] {
    page.recipients.flatMap { recipient in
      let user = Array(page.bytes[recipient.user])
      let first = Int(recipient.firstBinding)
      return page.bindings[first..<first + Int(recipient.bindingCount)].map {
        Self.key(user, Array(page.bytes[$0.member]))
      }
    }
  }

  /// Those that were not found.
  /// - Parameter found: what names those that were.
  package func missing(_ found: Set<[UInt8]>) -> [Straggler] {
    var found = found
    return pushes.filter {
      found.insert(Self.key(Array($0.user.utf8), Array($0.member.utf8))).inserted
    }
  }

  /// Gives each push of a sealed batch the tries that it has behind it.
  package func setHistories(of batch: PushBatch) {
    for (index, entry) in batch.entries.enumerated() {
      if let history = history(user: batch.bytes[entry.user], member: batch.bytes[entry.member]) {
        batch.setHistory(index, history)
      }
    }
  }
}
