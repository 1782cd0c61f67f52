import Model
import Redis

/// Makes a page out of the replies to SMEMBERS and HMGET of each user. Nothing is allocated per
/// user.
struct PageBuilder {
  private let parser: BindingParser
  private let maximumFieldBytes: Int

  init(app: String, maximumFieldBytes: Int) {
    parser = BindingParser(app: app)
    self.maximumFieldBytes = maximumFieldBytes
  }

  /// `replies` holds for each user the members of its set, then `muted` and the page's fields.
  /// Throws what is neither a value nor another type at a key: then nothing of the page may be
  /// used.
  func build(
    _ page: RecipientPage, users: ArraySlice<ByteSlice>, of names: ByteArena,
    from replies: RedisReplies
  ) throws(ExpandError) {
    page.recipients.reserveCapacity(users.count)
    page.bindings.reserveCapacity(users.count + users.count / 4)
    page.fields.reserveCapacity(users.count * page.fieldNames.count)
    var index = 0
    for user in users {
      let bindings = replies[index]
      let profile = replies[index + 1]
      index += 2
      page.followers += 1
      var isSkipped = false
      if bindings.kind != .array {
        try Self.expectWrongType(bindings, wanted: "set of bindings")
        isSkipped = true
      }
      if profile.kind != .array {
        try Self.expectWrongType(profile, wanted: "hash with a profile")
        isSkipped = true
      }
      if isSkipped { page.skipped += 1 }
      add(names[user], bindings, profile, to: page)
    }
  }

  private func add(
    _ user: UnsafeRawBufferPointer, _ bindings: RedisReply, _ profile: RedisReply,
    to page: RecipientPage
  ) {
    let first = page.bindings.count
    bindings.forEachElement { _, _, member in
      switch parser.parse(member) {
      case .addressed(let tokenCount, let environment):
        let slice = page.bytes.append(member)
        page.bindings.append(
          RecipientPage.Binding(
            member: slice, token: slice.last(tokenCount), environment: environment))
      case .ofAnotherApp: break
      case .malformed: page.skipped += 1
      }
    }
    let count = page.bindings.count - first
    guard count > 0 else { return }
    if Self.isMuted(profile) {
      page.suppressed += count
      page.bindings.removeLast(count)
      return
    }
    addFields(profile, to: page)
    page.recipients.append(
      RecipientPage.Recipient(
        user: page.bytes.append(user), firstBinding: first, bindingCount: count))
  }

  private func addFields(_ profile: RedisReply, to page: RecipientPage) {
    let count = page.fieldNames.count
    guard profile.count == count + 1 else {
      for _ in 0..<count { page.fields.append(.missing) }
      return
    }
    profile.forEachElement { position, kind, value in
      guard position > 0 else { return }
      if kind != .string {
        page.fields.append(.missing)
      } else if value.count > maximumFieldBytes {
        page.fields.append(.missing)
        page.skipped += 1
      } else {
        page.fields.append(page.bytes.append(value))
      }
    }
  }

  private static func isMuted(_ profile: RedisReply) -> Bool {
    guard let value = profile[0].bytes else { return false }
    return value.elementsEqual("1".utf8) || value.elementsEqual("true".utf8)
  }

  private static func expectWrongType(
    _ reply: RedisReply, wanted: String
  ) throws(ExpandError) {
    guard let error = reply.error else {
      throw ExpandError(
        .unexpected, "Redis answered no \(wanted) but a reply of kind \(reply.kind)")
    }
    if error.kind != .wrongType {
      throw ExpandError(reply: error, key: "the key of a user", wanted: wanted)
    }
  }
}
