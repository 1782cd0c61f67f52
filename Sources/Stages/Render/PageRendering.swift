import Model

/// A page being rendered, batch by batch, as Deliver takes them: a user with 100,000 devices fills
/// many batches and never more memory than one. Confined to one lane.
///
/// The tally learns of the page's followers, suppressed and skipped bindings at once, and of each
/// push when its batch is made, so that `pushes` never runs ahead of what will settle.
package final class PageRendering {
  package let page: RecipientPage
  package let prepared: PreparedEvent
  /// Payloads whose text was shortened to fit.
  package private(set) var shortened = 0
  /// Bindings whose payload could not be fitted; already counted as rejected on the tally.
  package private(set) var unrenderable = 0

  private let tally: SegmentTally
  private let maximumPushes: Int
  /// By destination.
  private let payloadOf: [UInt8]
  /// For each field of the template its place in the page's rows, or -1.
  private let columns: [Int32]
  private var recipient = 0
  /// Bindings of the current recipient that are done.
  private var doneBindings = 0
  private var payloadEstimate = 512

  init(_ page: RecipientPage, _ prepared: PreparedEvent, tally: SegmentTally, maximumPushes: Int) {
    self.page = page
    self.prepared = prepared
    self.tally = tally
    self.maximumPushes = max(maximumPushes, 1)
    payloadOf = prepared.payloadOf
    columns = prepared.fieldNames.map { name in
      Int32(truncatingIfNeeded: page.fieldNames.firstIndex(of: name) ?? -1)
    }
    tally.topic = prepared.headers.topic
    tally.recipients += page.followers
    tally.pushes += page.suppressed.total
    for (rule, count) in page.suppressed.byRule { tally.count(.suppressed(rule), times: count) }
    if let observer = tally.observer {
      for (rule, _) in page.suppressed.byRule {
        observer.suppressed(by: rule, topic: prepared.headers.topic)
      }
    }
    tally.skipped += page.skipped
    tally.unknownZones += page.unknownZones
    if tally.hearsOfPushes {
      for withheld in page.withheld {
        tally.note(
          user: page.bytes[withheld.user], member: page.bytes[withheld.member], withheld.fate)
      }
    }
  }

  /// The next batch: sealed, with at least one push; nil when the page is done.
  package func next() -> PushBatch? {
    guard recipient < page.recipients.count else { return nil }
    let batch = PushBatch(
      event: prepared.event.id, headers: prepared.headers, tally: tally, capacity: capacity())
    let count = page.fields.withUnsafeBufferPointer { fields in
      columns.withUnsafeBufferPointer { columns in
        fill(batch, PageValues(page, fields: fields, columns: columns))
      }
    }
    guard count > 0 else { return nil }
    tally.pushes += count
    tally.unknownLocales += prepared.takeUnknownLocales()
    payloadEstimate = max(payloadEstimate, batch.bytes.count / count)
    batch.seal()
    return batch
  }

  /// Gives the same outcome to all bindings that are not in a batch yet, without rendering them:
  /// `.expired` when the event's time is over in the middle of a page, `.cancelled` when somebody
  /// stopped it.
  ///
  /// - Parameter history: what a push has behind it: one that was sent before may have arrived, and
  ///   is no `outcome` but rejected as unanswered.
  package func settleRest(
    as outcome: Outcome,
    history: (_ user: UnsafeRawBufferPointer, _ member: UnsafeRawBufferPointer) -> PushHistory? = {
      _, _ in nil
    }
  ) {
    for index in recipient..<page.recipients.count {
      let current = page.recipients[index]
      let user = page.bytes[current.user]
      let first = Int(current.firstBinding)
      for binding in page.bindings[first + doneBindings..<first + Int(current.bindingCount)]
      where payloadOf[Int(binding.destination.index)] != PreparedEvent.nothing {
        let member = page.bytes[binding.member]
        let past = history(user, member)
        let own = past?.mayHaveArrived == true ? .rejected(.unanswered) : tally.known(outcome)
        tally.pushes += 1
        tally.count(own)
        tally.observer?.settled(
          binding, of: page, as: own, topic: prepared.headers.topic, sends: past?.sends ?? 0)
        tally.note(user: user, member: member, .outcome(own), sends: past?.sends ?? 0)
      }
      doneBindings = 0
    }
    recipient = page.recipients.count
  }

  /// Room for the batch in one piece when the pushes are like those before.
  private func capacity() -> Int {
    min(maximumPushes, max(page.bindings.count, 1)) * (payloadEstimate + 256)
  }

  /// The state is kept in locals while the loop runs: each access to a property of a class is
  /// checked for exclusivity at run time, which costs as much as rendering.
  private func fill(_ batch: PushBatch, _ values: PageValues) -> Int {
    let recipients = page.recipients
    let bindings = page.bindings
    let arena = batch.bytes
    var recipient = recipient
    var done = doneBindings
    var count = 0
    while count < maximumPushes, recipient < recipients.count {
      let current = recipients[recipient]
      let bindingCount = Int(current.bindingCount)
      if done < bindingCount {
        var rendered = RenderedPayloads()
        var user: ByteSlice?
        while count < maximumPushes, done < bindingCount {
          let binding = bindings[Int(current.firstBinding) + done]
          done += 1
          let index = payloadOf[Int(binding.destination.index)]
          guard index != PreparedEvent.nothing else { continue }
          if index != rendered.index {
            rendered.select(index) { render(values.row(recipient), Int(index), into: arena) }
          }
          if let payload = rendered.payload {
            let name = user ?? arena.append(page.bytes[current.user])
            user = name
            batch.append(user: name, binding: binding, of: page, payload: payload)
            count += 1
          } else {
            reject(current, binding)
          }
        }
      }
      if done >= bindingCount {
        recipient += 1
        done = 0
      }
    }
    self.recipient = recipient
    doneBindings = done
    return count
  }

  private func reject(_ current: RecipientPage.Recipient, _ binding: RecipientPage.Binding) {
    unrenderable += 1
    tally.pushes += 1
    tally.count(.rejected(.unrenderable))
    tally.note(
      user: page.bytes[current.user], member: page.bytes[binding.member],
      .outcome(.rejected(.unrenderable)))
  }

  /// Nil when the payload cannot be fitted; `arena` is then as before.
  /// - Parameter payload: of the template's payloads.
  @inline(__always)
  private func render(
    _ values: RecipientValues, _ payload: Int, into arena: ByteArena
  ) -> ByteSlice? {
    let limit = prepared.template.payloads[payload].limit
    let variant = prepared.variant(prepared.variantIndex(for: values[0]), of: payload)
    if let bound = variant.bound(values, limit: limit) {
      let payload = arena.append(atMost: bound) {
        guard let target = $0.baseAddress else { return 0 }
        return variant.write(values, to: target) ?? 0
      }
      if payload.count > 0 && Int(payload.count) <= limit { return payload }
      arena.truncate(to: Int(payload.offset))
    }
    let fitter = PayloadFitter(variant: variant, values: values, limit: limit)
    guard let fitted = fitter.payload() else { return nil }
    if fitted.isShortened { shortened += 1 }
    return arena.append(fitted.bytes)
  }
}

/// One recipient's payloads, each made for the first device that gets it. Most people have devices
/// of one platform.
private struct RenderedPayloads {
  /// Of the payload that was asked for last.
  private(set) var index = PreparedEvent.nothing
  /// Nil: it cannot be fitted.
  private(set) var payload: ByteSlice?
  private var others: [(index: UInt8, payload: ByteSlice?)] = []

  @inline(__always)
  mutating func select(_ index: UInt8, _ render: () -> ByteSlice?) {
    if self.index != PreparedEvent.nothing { others.append((self.index, payload)) }
    self.index = index
    if let known = others.first(where: { $0.index == index }) {
      payload = known.payload
    } else {
      payload = render()
    }
  }
}

/// The values of a page, lent for as long as a batch is being filled: plain pointers, since
/// millions of them are read. Nothing is appended to the page meanwhile.
struct PageValues {
  private let bytes: UnsafeRawPointer
  /// Nil when the page was read without any field.
  private let fields: UnsafePointer<ByteSlice>?
  private let stride: Int
  private let columns: UnsafePointer<Int32>?

  /// `columns`: for each field of the template its place in a recipient's row, or -1 when the page
  /// has no such field.
  init(
    _ page: RecipientPage, fields: UnsafeBufferPointer<ByteSlice>,
    columns: UnsafeBufferPointer<Int32>
  ) {
    bytes = UnsafeRawPointer(page.bytes.base)
    stride = page.fieldNames.count
    let isComplete = fields.count >= page.recipients.count * stride
    self.fields = stride > 0 && isComplete ? fields.baseAddress : nil
    self.columns = columns.baseAddress
  }

  @inline(__always)
  func row(_ recipient: Int) -> RecipientValues {
    RecipientValues(bytes: bytes, row: fields.map { $0 + recipient * stride }, columns: columns)
  }
}

/// The slow way to a payload, for what the fast one cannot do: values with bidi controls, and
/// payloads over the platform's limit, whose text named by `shorten` is cut between two Characters.
struct PayloadFitter {
  /// Of a longer value only this much is read: more would not fit anyhow.
  static let maximumValueBytes = 16 * 1024
  private static let ellipsis = "…"

  struct Fitted {
    let bytes: [UInt8]
    let isShortened: Bool
  }

  let variant: PreparedVariant
  let values: RecipientValues
  let limit: Int

  /// Nil when the payload is over the limit with the text left empty too, or no text may be
  /// shortened.
  func payload() -> Fitted? {
    let all = variant.steps.indices
    guard let fieldSteps = variant.fieldSteps else {
      let bytes = written(all)
      return bytes.count <= limit ? Fitted(bytes: bytes, isShortened: false) : nil
    }
    let head = written(0..<fieldSteps.lowerBound)
    let tail = written(fieldSteps.upperBound..<all.upperBound)
    let room = limit - head.count - tail.count
    guard room >= 0 else { return nil }
    let text = fieldText()
    let kept = Self.fit(text, into: room)
    return Fitted(bytes: head + JSONEscaping.escaped(kept) + tail, isShortened: kept != text)
  }

  /// The longest beginning of `text` that fits with "…" behind it into `room` bytes of JSON, when
  /// the whole does not; "…" alone, or nothing, when not one Character does. A bidi control whose
  /// partner is cut off goes too: it would turn what stands behind the text.
  static func fit(_ text: String, into room: Int) -> String {
    var used = 0
    var cut = text.startIndex
    var index = text.startIndex
    while index < text.endIndex {
      let next = text.index(after: index)
      used += JSONEscaping.escapedCount(text.utf8[index..<next])
      if used > room { break }
      if used + ellipsis.utf8.count <= room { cut = next }
      index = next
    }
    if used <= room { return text }
    guard ellipsis.utf8.count <= room else { return "" }
    var kept = text[..<cut]
    while kept.last?.isWhitespace == true { kept.removeLast() }
    return BidiControls.beginning(String(kept), of: text) + ellipsis
  }

  private func fieldText() -> String {
    var text = ""
    for part in variant.fieldParts {
      switch part {
      case .text(let constant): text += constant
      case .recipient(let field, let fallback):
        let value = cleaned(Int32(truncatingIfNeeded: field))
        text += value.isEmpty ? fallback : value
      }
    }
    return text
  }

  private func cleaned(_ field: Int32) -> String {
    BidiControls.cleaned(
      UnsafeRawBufferPointer(rebasing: values[field].prefix(Self.maximumValueBytes)))
  }

  private func written(_ range: Range<Int>) -> [UInt8] {
    var result: [UInt8] = []
    for step in variant.steps[range] {
      result += variant.constants[step.literal]
      guard step.field >= 0 else { continue }
      let value = values[step.field]
      if let type = step.type {
        let json = type.written(String(decoding: value, as: UTF8.self))
        guard json != nil || !step.fallback.isMissing else { continue }
        if result.last != UInt8(ascii: "{") { result.append(UInt8(ascii: ",")) }
        result += variant.constants[step.key]
        if let json { result += json } else { result += variant.constants[step.fallback] }
      } else {
        let text = cleaned(step.field)
        if text.isEmpty {
          result += variant.constants[step.fallback]
        } else {
          result += JSONEscaping.escaped(text)
        }
      }
    }
    return result
  }
}
