import Model

/// The slow way to a payload, for what the fast one cannot do: values with bidi controls, and
/// payloads over Apple's limit, whose text named by `shorten` is cut between two Characters.
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
