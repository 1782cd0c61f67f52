import Glibc
import Keyspace
import Model
import Redis
import Rules

/// Makes a page out of the replies to SMEMBERS and HMGET of each user, and HGETALL where the age of
/// devices counts. Nothing is allocated per user, and what a page's objects hold is touched once a
/// page: each touch of a class's property costs a run-time check of exclusive access, which was a
/// fifth of the time.
package struct PageBuilder {
  private let parser: BindingParser
  private let maximumFieldBytes: Int
  private let keyspace: Keyspace
  /// The values before the page's fields in the reply to HMGET.
  private let ruleFields: [RuleField]
  /// Whether each user's third reply says when their devices were bound, and only the newest stays.
  private let picksNewest: Bool
  private var repliesAUser: Int { picksNewest ? 3 : 2 }

  package init(
    topic: String, ruleFields: [RuleField], picksNewest: Bool, maximumFieldBytes: Int,
    keyspace: Keyspace
  ) {
    parser = BindingParser(topic: topic)
    self.maximumFieldBytes = maximumFieldBytes
    self.keyspace = keyspace
    self.ruleFields = ruleFields
    self.picksNewest = picksNewest
  }

  /// `replies` holds for each user the members of its set, then the rules' fields (`muted` at
  /// least) and the page's. Throws what is neither a value nor another type at a key: then the page
  /// stays empty. A user with another type at a key is passed over, and returned by name: whether
  /// that is a device, or somebody who muted the streamer, nobody can tell. Users of other waves
  /// are left out, and counted there.
  package func build(
    _ page: RecipientPage, users: ArraySlice<ByteSlice>, of names: ByteArena,
    from replies: RedisReplies, judge: RecipientJudge, wave: LocalWave? = nil
  ) throws(ExpandError) -> [SkippedUser] {
    var draft = PageDraft(
      fieldCount: page.fieldNames.count, users: users.count, start: page.bytes.count)
    let bound = try measure(users, of: names, replies, wave, &draft)
    let base = UnsafeRawPointer(names.base)
    _ = page.bytes.append(atMost: bound) { room in
      draft.room = room
      var index = 0
      for user in users {
        let name = UnsafeRawBufferPointer(start: base + Int(user.offset), count: Int(user.count))
        add(
          name, bindings: replies[index], profile: replies[index + 1],
          bound: picksNewest ? replies[index + 2] : nil, judge, wave, to: &draft)
        index += repliesAUser
      }
      return draft.used
    }
    page.followers = users.count - draft.ofOtherWaves
    page.suppressed = draft.suppressed
    page.skipped = draft.skipped
    page.unknownZones = draft.unknownZones
    page.withheld = draft.withheld
    page.recipients = draft.recipients
    page.bindings = draft.bindings
    page.fields = draft.fields
    return draft.wrongTypes
  }

  /// Looks at every reply's type, counts the users skipped, and returns the bytes that the page
  /// takes at most.
  private func measure(
    _ users: ArraySlice<ByteSlice>, of names: ByteArena, _ replies: RedisReplies,
    _ wave: LocalWave?, _ draft: inout PageDraft
  ) throws(ExpandError) -> Int {
    var bytes = 0
    let maximumMemberBytes = Binding.maximumMemberBytes
    var index = 0
    for user in users {
      let bindings = replies[index]
      let profile = replies[index + 1]
      let bound = picksNewest ? replies[index + 2] : nil
      index += repliesAUser
      if bindings.kind != .array || profile.kind != .array
        || bound.map({ $0.kind != .array }) == true
      {
        guard wave?.hasUnknown ?? true else {
          draft.ofOtherWaves += 1
          continue
        }
        draft.wrongTypes.append(
          try skippedUser(names.string(user), bindings, profile, bound: bound))
        draft.skipped += 1
        continue
      }
      // One field more or less, and those behind it would be another field's.
      var isSound = profile.count == draft.fieldCount + ruleFields.count
      bytes += Int(user.count)
      bindings.forEachElement { _, kind, member in
        if kind != .string { isSound = false }
        if member.count <= maximumMemberBytes { bytes += member.count }
      }
      profile.forEachElement { _, kind, value in
        if kind != .string, kind != .null { isSound = false }
        if value.count <= maximumFieldBytes { bytes += value.count }
      }
      if !isSound { throw unsound(names.string(user), bindings: bindings, profile: profile) }
      if let bound, !areTimes(bound) {
        throw ExpandError.unexpected(
          bound, to: "HGETALL", key: keyspace.bound(user: names.string(user)))
      }
    }
    return bytes
  }

  private func add(
    _ user: UnsafeRawBufferPointer, bindings: RedisReply, profile: RedisReply, bound: RedisReply?,
    _ judge: RecipientJudge, _ wave: LocalWave?, to draft: inout PageDraft
  ) {
    guard bindings.kind == .array, profile.kind == .array else { return }
    if let bound, bound.kind != .array { return }
    if let wave, !wave.contains(zone(in: profile)) {
      draft.ofOtherWaves += 1
      return
    }
    let first = draft.bindings.count
    let mark = draft.used
    bindings.forEachElement { _, _, member in
      switch parser.parse(member) {
      case .addressed(let tokenCount, let keyCount, let destination):
        let slice = draft.write(member)
        draft.bindings.append(
          RecipientPage.Binding(
            member: slice, token: slice.last(tokenCount), keyCount: keyCount,
            destination: destination))
      case .ofAnotherTopic: break
      case .malformed: draft.skipped += 1
      }
    }
    let count = draft.bindings.count - first
    guard count > 0 else { return }
    if let rule = addFields(profile, judge, to: &draft) {
      draft.suppressed[rule] += count
      draft.bindings.removeLast(count)
      draft.used = mark
      draft.withheld.append(.init(user: draft.write(user), fate: .outcome(.suppressed(rule))))
      return
    }
    draft.recipients.append(
      RecipientPage.Recipient(user: draft.write(user), firstBinding: first, bindingCount: count))
    if let bound, count > 1 { keepNewest(from: first, bound, in: &draft) }
  }

  private func zone(in profile: RedisReply) -> UnsafeRawBufferPointer {
    ruleFields.firstIndex(of: .timeZone).flatMap { profile[$0].bytes }
      ?? UnsafeRawBufferPointer(start: nil, count: 0)
  }

  /// Leaves the user who was added last the device that was bound last; `bound` may speak of
  /// devices that are gone, and of other topics'. The user's devices are looked through only for
  /// what would be newer than all before it.
  private func keepNewest(from first: Int, _ bound: RedisReply, in draft: inout PageDraft) {
    let count = draft.bindings.count - first
    var newest = NewestDevice(index: first, member: draft.bytes(draft.bindings[first].member))
    for index in first + 1..<first + count {
      newest.offer(index: index, member: draft.bytes(draft.bindings[index].member))
    }
    var member = UnsafeRawBufferPointer(start: nil, count: 0)
    bound.forEachElement { position, _, bytes in
      guard position % 2 == 1 else {
        member = bytes
        return
      }
      let time = NewestDevice.time(bytes)
      guard time >= 0, newest.isOlder(than: member, boundAt: time),
        let index = draft.binding(with: member, from: first)
      else { return }
      newest.offer(index: index, member: member, boundAt: time)
    }
    let user = draft.recipients[draft.recipients.count - 1].user
    for index in first..<first + count where index != newest.index {
      draft.withheld.append(
        .init(
          user: user, member: draft.bindings[index].member, fate: .outcome(.suppressed(.device))))
    }
    draft.bindings[first] = draft.bindings[newest.index]
    draft.bindings.removeLast(count - 1)
    draft.recipients[draft.recipients.count - 1].bindingCount = 1
    draft.suppressed[.device] += count - 1
  }

  /// The rule that keeps the push from the user; then no fields are added.
  private func addFields(
    _ profile: RedisReply, _ judge: RecipientJudge, to draft: inout PageDraft
  ) -> SuppressionRule? {
    let own = ruleFields.count
    var values = RuleValues()
    var suppressedBy: SuppressionRule?
    profile.forEachElement { index, kind, value in
      if index < own {
        values[ruleFields[index]] = value
        guard index == own - 1 else { return }
        let verdict = judge.verdict(on: values)
        suppressedBy = verdict.suppressedBy
        draft.skipped += verdict.malformed
        if verdict.isZoneUnknown { draft.unknownZones += 1 }
        return
      }
      guard suppressedBy == nil else { return }
      if kind == .string, value.count <= maximumFieldBytes {
        draft.fields.append(draft.write(value))
      } else {
        draft.fields.append(.missing)
        if kind == .string { draft.skipped += 1 }
      }
    }
    return suppressedBy
  }

  /// Throws unless what stands in the way is another type at one of the user's keys.
  private func skippedUser(
    _ user: String, _ bindings: RedisReply, _ profile: RedisReply, bound: RedisReply?
  ) throws(ExpandError) -> SkippedUser {
    var reads = [
      (bindings, "SMEMBERS", keyspace.bindings(user: user), "set of bindings"),
      (profile, "HMGET", keyspace.profile(user: user), "hash with a profile"),
    ]
    if let bound {
      reads.append((bound, "HGETALL", keyspace.bound(user: user), "hash with times of bindings"))
    }
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

  /// Fields and values, all of them strings.
  private func areTimes(_ bound: RedisReply) -> Bool {
    var isSound = bound.count % 2 == 0
    bound.forEachElement { _, kind, _ in if kind != .string { isSound = false } }
    return isSound
  }

  /// The error for a reply that neither SMEMBERS nor HMGET gives.
  private func unsound(_ user: String, bindings: RedisReply, profile: RedisReply) -> ExpandError {
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
  var unknownZones = 0
  var ofOtherWaves = 0
  var wrongTypes: [SkippedUser] = []
  var withheld: [RecipientPage.Withheld] = []

  init(fieldCount: Int, users: Int, start: Int) {
    self.fieldCount = fieldCount
    self.start = start
    recipients.reserveCapacity(users)
    bindings.reserveCapacity(users + users / 4)
    fields.reserveCapacity(users * fieldCount)
  }

  func bytes(_ slice: ByteSlice) -> UnsafeRawBufferPointer {
    let offset = Int(slice.offset) - start
    return UnsafeRawBufferPointer(rebasing: room[offset..<offset + Int(slice.count)])
  }

  /// Of those from `first` on the one whose member this is.
  func binding(with member: UnsafeRawBufferPointer, from first: Int) -> Int? {
    guard let wanted = member.baseAddress else { return nil }
    return bindings.indices[first...].first { index in
      let own = bytes(bindings[index].member)
      guard own.count == member.count, let start = own.baseAddress else { return false }
      return memcmp(start, wanted, member.count) == 0
    }
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

/// Reads members of a user's set of bindings, as bytes: platform, environment if the platform has
/// several, topic, keys if it has some, token.
package struct BindingParser {
  package enum Result: Equatable {
    case addressed(tokenCount: Int, keyCount: Int = 0, Destination)
    case ofAnotherTopic
    case malformed
  }

  private struct Prefix {
    let bytes: [UInt8]
    let destination: Destination
    let tokens: Platform.TokenFormat
    let keyBytes: ClosedRange<Int>?
  }

  /// Of the topic.
  private let prefixes: [Prefix]
  /// Of any.
  private let platforms: [Prefix]

  /// - Parameter topic: as it stands in a member, of APNs a push type's suffix with it.
  package init(topic: String) {
    func prefixes(_ rest: String) -> [Prefix] {
      Destination.all.map {
        Prefix(
          bytes: Array(($0.memberPrefix + rest).utf8), destination: $0,
          tokens: $0.platform.tokens, keyBytes: $0.platform.keyBytes)
      }
    }
    self.prefixes = prefixes(topic + ":")
    platforms = prefixes("")
  }

  package func parse(_ member: UnsafeRawBufferPointer) -> Result {
    for prefix in prefixes where Self.begins(member, with: prefix.bytes) {
      let rest = UnsafeRawBufferPointer(rebasing: member[prefix.bytes.count...])
      guard let (token, keys) = Self.split(rest, of: prefix) else { return .malformed }
      return .addressed(tokenCount: token, keyCount: keys, prefix.destination)
    }
    return isWellFormed(member) ? .ofAnotherTopic : .malformed
  }

  /// Bytes of the token and of the keys; nil for what is neither.
  private static func split(
    _ rest: UnsafeRawBufferPointer, of prefix: Prefix
  ) -> (token: Int, keys: Int)? {
    guard let keyBytes = prefix.keyBytes else {
      return prefix.tokens.accepts(rest) ? (rest.count, 0) : nil
    }
    guard let colon = rest.firstIndex(of: 0x3A), keyBytes.contains(colon),
      Platform.areKeys(UnsafeRawBufferPointer(rebasing: rest[..<colon])),
      prefix.tokens.accepts(UnsafeRawBufferPointer(rebasing: rest[(colon + 1)...]))
    else { return nil }
    return (rest.count - colon - 1, colon)
  }

  private static func begins(_ member: UnsafeRawBufferPointer, with prefix: [UInt8]) -> Bool {
    guard member.count > prefix.count, let start = member.baseAddress else { return false }
    return memcmp(start, prefix, prefix.count) == 0
  }

  private func isWellFormed(_ member: UnsafeRawBufferPointer) -> Bool {
    guard let prefix = platforms.first(where: { Self.begins(member, with: $0.bytes) }) else {
      return false
    }
    let rest = member[prefix.bytes.count...]
    guard let colon = rest.prefix(Binding.maximumTopicBytes + 1).firstIndex(of: 0x3A),
      let topic = String(validating: rest[..<colon], as: UTF8.self), Binding.isTopic(topic)
    else { return false }
    return Self.split(UnsafeRawBufferPointer(rebasing: rest[(colon + 1)...]), of: prefix) != nil
  }
}

/// Somebody who is passed over, for the log: the counters only say how many.
package struct SkippedUser: Sendable, Equatable {
  package let user: String
  /// A sentence that names what to mend.
  package let reason: String
}
