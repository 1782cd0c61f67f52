import Expand
import JSON
import Keyspace
import Model
import Redis
import Render
import Rules

let pageTargets = [
  // What Redis answers about two users: members of their sets and fields of their profiles, and
  // with an odd first byte when their devices were bound. All of it is written into memory that was
  // measured before, so that what is read must be what was measured.
  FuzzTarget("page") { input in
    guard let first = input.first else { return }
    try PageReading(picksNewest: first % 2 == 1).check(input[piece: 1..<input.count])
  }
]

private struct PageReading {
  private static let users = ["u1", "u2"]
  private static let topic = "com.example.live"
  private static let maximumFieldBytes = 64

  let picksNewest: Bool

  func check(_ input: UnsafeRawBufferPointer) throws {
    guard let template = SmallTemplate.compiled else {
      throw BrokenProperty(description: "the template of the target does not compile")
    }
    let reader = try RedisReplyReader()
    let replies = RedisReplies(
      expecting: Self.users.count * (picksNewest ? 3 : 2), maximumBytes: 64 << 10)
    reader.expect(replies)
    do throws(RedisError) { try reader.receive(input) } catch { return }
    guard replies.isComplete else { return }
    let prepared = try RenderStage(templates: [template]).prepare(
      SmallTemplate.event(template.name))
    let page = RecipientPage(fieldNames: prepared.fieldNames)
    let names = ByteArena()
    let users = Self.users.map { names.append(utf8: $0) }
    let skipped: [SkippedUser]
    do throws(ExpandError) {
      skipped = try builder(prepared.fieldNames).build(
        page, users: users[...], of: names, from: replies, judge: judge)
    } catch {
      try hold(!"\(error)".isEmpty, "refused without words")
      try hold(page.recipients.isEmpty, "a page that was refused has recipients")
      return
    }
    try hold(skipped.allSatisfy { !$0.reason.isEmpty }, "skipped without a reason")
    try check(page)
    try check(page, prepared)
  }

  private func builder(_ fieldNames: [String]) -> PageBuilder {
    PageBuilder(
      topic: Self.topic, ruleFields: RuleField.allCases, picksNewest: picksNewest,
      maximumFieldBytes: Self.maximumFieldBytes, keyspace: Keyspace())
  }

  private var judge: RecipientJudge {
    RecipientJudge(
      RecipientRules(
        mutesStreamers: true, timeZones: TimeZones(["Europe/Berlin": .utc]),
        picksNewestDevice: picksNewest),
      streamer: Array("s42".utf8), now: fuzzTime)
  }

  private func check(_ page: RecipientPage) throws {
    func isWithin(_ slice: ByteSlice) -> Bool {
      slice.isMissing || slice.offset >= 0 && Int(slice.offset + slice.count) <= page.bytes.count
    }
    try hold(page.fields.allSatisfy(isWithin), "a field outside of the page")
    try hold(page.fields.allSatisfy { $0.count <= Self.maximumFieldBytes }, "a long field")
    try holdEqual(
      page.fields.count, page.recipients.count * page.fieldNames.count, "fields of recipients")
    try holdEqual(
      page.recipients.reduce(0) { $0 + Int($1.bindingCount) }, page.bindings.count, "bindings")
    for recipient in page.recipients {
      try hold(
        isWithin(recipient.user) && Self.users.contains(page.bytes.string(recipient.user)),
        "a recipient who is none of the users")
    }
    for binding in page.bindings {
      try hold(isWithin(binding.member) && isWithin(binding.token), "a device outside of the page")
      let known = Binding(
        destination: binding.destination, topic: Self.topic, token: page.bytes.string(binding.token)
      )
      try hold(known != nil, "what is no device: \(page.bytes.string(binding.member))")
    }
  }

  private func check(_ page: RecipientPage, _ prepared: PreparedEvent) throws {
    let rendering = RenderStage(templates: [prepared.template]).batches(
      of: page, for: prepared, tally: SegmentTally(), maximumPushes: 3)
    var pushes = 0
    while let batch = rendering.next() {
      pushes += batch.entries.count
      for entry in batch.entries {
        let payload = Array(batch.bytes[entry.payload])
        try hold(payload.count <= 4096, "a payload of \(payload.count) bytes")
        let value = try JSONValue.parseWithAnyIntegers(payload)
        try hold(value.object?["aps"]?.object != nil, "a payload without aps")
      }
    }
    try holdEqual(pushes + rendering.unrenderable, page.bindings.count, "pushes")
  }
}
