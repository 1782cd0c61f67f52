import Keyspace
import Model
import Redis
import Rules

/// Makes a page out of the replies to SMEMBERS and HMGET of each user. Nothing is allocated per
/// user, and what a page's objects hold is touched once a page: each touch of a class's property
/// costs a run-time check of exclusive access, which was a fifth of the time.
struct PageBuilder {
  private let parser: BindingParser
  private let maximumFieldBytes: Int
  private let keyspace: Keyspace
  /// What stands before the page's fields in the reply to HMGET.
  private let ruleFields: [RuleField]

  init(app: String, ruleFields: [RuleField], maximumFieldBytes: Int, keyspace: Keyspace) {
    parser = BindingParser(app: app)
    self.maximumFieldBytes = maximumFieldBytes
    self.keyspace = keyspace
    self.ruleFields = ruleFields
  }

  /// `replies` holds for each user the members of its set, then the rules'
  /// fields (`muted` at least) and the page's.
  /// Throws what is neither a value nor another type at a key: then the page stays empty. A user
  /// with another type at a key is passed over, and returned by name: whether that is a device, or
  /// somebody who muted the streamer, nobody can tell.
  func build(
    _ page: RecipientPage, users: ArraySlice<ByteSlice>, of names: ByteArena,
    from replies: RedisReplies, judge: RecipientJudge
  ) throws(ExpandError) -> [SkippedUser] {
    var draft = PageDraft(
      fieldCount: page.fieldNames.count, users: users.count, start: page.bytes.count)
    let bound = try measure(users, of: names, replies, &draft)
    let base = UnsafeRawPointer(names.base)
    _ = page.bytes.append(atMost: bound) { room in
      draft.room = room
      var index = 0
      for user in users {
        let name = UnsafeRawBufferPointer(
          start: base + Int(user.offset), count: Int(user.count))
        add(name, bindings: replies[index], profile: replies[index + 1], judge, to: &draft)
        index += 2
      }
      return draft.used
    }
    page.followers = users.count
    page.suppressed = draft.suppressed
    page.skipped = draft.skipped
    page.recipients = draft.recipients
    page.bindings = draft.bindings
    page.fields = draft.fields
    return draft.wrongTypes
  }

  /// Looks at every reply's type, counts the users skipped, and returns the bytes that the page
  /// takes at most.
  private func measure(
    _ users: ArraySlice<ByteSlice>, of names: ByteArena, _ replies: RedisReplies,
    _ draft: inout PageDraft
  ) throws(ExpandError) -> Int {
    var bytes = 0
    var index = 0
    for user in users {
      let bindings = replies[index]
      let profile = replies[index + 1]
      index += 2
      if bindings.kind != .array || profile.kind != .array {
        draft.wrongTypes.append(
          try skippedUser(names.string(user), bindings: bindings, profile: profile))
        draft.skipped += 1
        continue
      }
      // One field more or less, and those behind it would be another field's.
      var isSound = profile.count == draft.fieldCount + ruleFields.count
      bytes += Int(user.count)
      bindings.forEachElement { _, kind, member in
        if kind != .string { isSound = false }
        if member.count <= BindingParser.maximumMemberBytes { bytes += member.count }
      }
      profile.forEachElement { _, kind, value in
        if kind != .string, kind != .null { isSound = false }
        if value.count <= maximumFieldBytes { bytes += value.count }
      }
      if !isSound { throw unsound(names.string(user), bindings: bindings, profile: profile) }
    }
    return bytes
  }

  private func add(
    _ user: UnsafeRawBufferPointer, bindings: RedisReply, profile: RedisReply,
    _ judge: RecipientJudge, to draft: inout PageDraft
  ) {
    guard bindings.kind == .array, profile.kind == .array else { return }
    let first = draft.bindings.count
    let mark = draft.used
    bindings.forEachElement { _, _, member in
      switch parser.parse(member) {
      case .addressed(let tokenCount, let environment):
        let slice = draft.write(member)
        draft.bindings.append(
          RecipientPage.Binding(
            member: slice, token: slice.last(tokenCount), environment: environment))
      case .ofAnotherApp: break
      case .malformed: draft.skipped += 1
      }
    }
    let count = draft.bindings.count - first
    guard count > 0 else { return }
    if let rule = addFields(profile, judge, to: &draft) {
      draft.suppressed[rule] += count
      draft.bindings.removeLast(count)
      draft.used = mark
      return
    }
    draft.recipients.append(
      RecipientPage.Recipient(user: draft.write(user), firstBinding: first, bindingCount: count))
  }

  /// The rule that keeps the push from the user; then no fields are added.
  private func addFields(
    _ profile: RedisReply, _ judge: RecipientJudge, to draft: inout PageDraft
  ) -> SuppressionRule? {
    let own = ruleFields.count
    var values = RuleValues()
    var suppressedBy: SuppressionRule?
    var position = 0
    profile.forEachElement { index, kind, value in
      if index < own {
        values[ruleFields[index]] = value
        guard index == own - 1 else { return }
        let verdict = judge.verdict(on: values)
        suppressedBy = verdict.suppressedBy
        draft.skipped += verdict.malformed
        return
      }
      guard suppressedBy == nil else { return }
      position += 1
      if kind == .string, value.count <= maximumFieldBytes {
        draft.fields.append(draft.write(value))
      } else {
        draft.fields.append(.missing)
        if kind == .string { draft.skipped += 1 }
      }
    }
    if let suppressedBy { return suppressedBy }
    while position < draft.fieldCount {
      draft.fields.append(.missing)
      position += 1
    }
    return nil
  }

  /// Throws unless what stands in the way is another type at one of the user's keys.
  private func skippedUser(
    _ user: String, bindings: RedisReply, profile: RedisReply
  ) throws(ExpandError) -> SkippedUser {
    let reads = [
      (bindings, "SMEMBERS", keyspace.bindings(user: user), "set of bindings"),
      (profile, "HMGET", keyspace.profile(user: user), "hash with a profile"),
    ]
    var reasons: [String] = []
    for (reply, command, key, wanted) in reads where reply.kind != .array {
      guard let error = reply.error else {
        throw ExpandError.unexpected(reply, to: command, key: key)
      }
      guard error.kind == .wrongType else {
        throw ExpandError(reply: error, to: command, key: key, wanted: wanted)
      }
      reasons.append("\(key) is not a \(wanted)")
    }
    return SkippedUser(user: user, reason: reasons.joined(separator: "; "))
  }

  /// What neither SMEMBERS nor HMGET answers.
  private func unsound(
    _ user: String, bindings: RedisReply, profile: RedisReply
  ) -> ExpandError {
    let areStrings = (0..<bindings.count).allSatisfy { bindings[$0].kind == .string }
    return areStrings
      ? ExpandError.unexpected(profile, to: "HMGET", key: keyspace.profile(user: user))
      : ExpandError.unexpected(bindings, to: "SMEMBERS", key: keyspace.bindings(user: user))
  }
}

/// A page while it is made: plain values on the stack.
private struct PageDraft {
  let fieldCount: Int
  /// Bytes that the page's arena held before.
  let start: Int
  var room = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  var used = 0
  var recipients: [RecipientPage.Recipient] = []
  var bindings: [RecipientPage.Binding] = []
  var fields: [ByteSlice] = []
  var suppressed = SuppressionCounts()
  var skipped = 0
  var wrongTypes: [SkippedUser] = []

  init(fieldCount: Int, users: Int, start: Int) {
    self.fieldCount = fieldCount
    self.start = start
    recipients.reserveCapacity(users)
    bindings.reserveCapacity(users + users / 4)
    fields.reserveCapacity(users * fieldCount)
  }

  /// `measure` has found room for it.
  @inline(__always)
  mutating func write(_ bytes: UnsafeRawBufferPointer) -> ByteSlice {
    let slice = ByteSlice(offset: start + used, count: bytes.count)
    UnsafeMutableRawBufferPointer(rebasing: room[used..<used + bytes.count]).copyMemory(from: bytes)
    used += bytes.count
    return slice
  }
}
