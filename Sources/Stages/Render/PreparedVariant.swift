import Model

/// One locale's payload with the event's fields in place: constant bytes between which only the recipient's
/// values are missing. Confined to one lane.
final class PreparedVariant {
  /// A constant stretch, then perhaps a value of the recipient.
  struct Step {
    var literal: ByteSlice
    /// The profile field's index in the template; negative: no value follows.
    var field: Int32 = -1
    var isNumber = false
    /// What stands for an empty value; missing only for a number, which is then left out.
    var fallback = ByteSlice.missing
    /// Of a number: its key, quoted, with the colon.
    var key = ByteSlice.missing
  }

  /// The text that may be shortened, as parts of an unescaped text.
  enum FieldPart {
    case text(String)
    case recipient(field: Int, fallback: String)
  }

  let constants = ByteArena(capacity: 1024)
  private(set) var steps: [Step] = []
  /// The most bytes that the steps write, the recipient's values aside.
  private(set) var fixedBytes = 0
  /// The steps inside the text that may be shortened; nil when the template names none.
  private(set) var fieldSteps: Range<Int>?
  private(set) var fieldParts: [FieldPart] = []

  init(_ pieces: [Template.Piece], _ event: Event) {
    var start = 0
    var fieldStart: Int?
    for piece in pieces {
      switch piece {
      case .literal(let bytes): constants.append(bytes)
      case .text(let text):
        constants.append(JSONText.escaped(text))
        if fieldStart != nil { fieldParts.append(.text(text)) }
      case .event(let path, let fallback):
        let value = BidiControls.cleaned(event.value(of: path))
        let text = value.isEmpty ? fallback : value
        constants.append(JSONText.escaped(text))
        if fieldStart != nil { fieldParts.append(.text(text)) }
      case .recipient(let field, let fallback):
        var step = step(from: &start)
        step.field = Int32(truncatingIfNeeded: field)
        step.fallback = constants.append(JSONText.escaped(fallback))
        start = constants.count
        steps.append(step)
        if fieldStart != nil { fieldParts.append(.recipient(field: field, fallback: fallback)) }
      case .number(let key, let field, let fallback):
        var step = step(from: &start)
        step.field = Int32(truncatingIfNeeded: field)
        step.isNumber = true
        step.key = constants.append(key)
        if let fallback { step.fallback = constants.append(fallback) }
        start = constants.count
        steps.append(step)
      case .shortenedBegin:
        steps.append(step(from: &start))
        fieldStart = steps.count
      case .shortenedEnd:
        steps.append(step(from: &start))
        fieldSteps = fieldStart.map { $0..<steps.count }
        fieldStart = nil
      }
    }
    steps.append(step(from: &start))
    // A number brings a comma.
    fixedBytes = constants.count + steps.count
  }

  private func step(from start: inout Int) -> Step {
    defer { start = constants.count }
    return Step(literal: ByteSlice(offset: start, count: constants.count - start))
  }

  /// The values of one recipient, as a page holds them.
  struct Values {
    let bytes: UnsafeRawPointer
    /// The recipient's row.
    let row: UnsafePointer<ByteSlice>
    /// For each field of the template its place in the row, or -1 when the page has no such field.
    let columns: UnsafePointer<Int32>

    @inline(__always)
    subscript(field: Int32) -> UnsafeRawBufferPointer {
      let column = Int(columns[Int(field)])
      guard column >= 0, row[column].count > 0 else {
        return UnsafeRawBufferPointer(start: bytes, count: 0)
      }
      let slice = row[column]
      return UnsafeRawBufferPointer(start: bytes + Int(slice.offset), count: Int(slice.count))
    }
  }

  /// The most bytes that `write` needs; nil when a value alone is longer than `limit`.
  @inline(__always)
  func bound(_ values: Values, limit: Int) -> Int? {
    var bound = fixedBytes
    for step in steps where step.field >= 0 {
      let count = values[step.field].count
      if count > limit { return nil }
      bound += count * JSONText.maximumGrowth
    }
    return bound
  }

  /// Writes the payload to `target`, which has room for `bound` bytes; returns its length. Nil when a value
  /// has a bidi control: such a payload is for `PayloadFitter`.
  @inline(__always)
  func write(_ values: Values, to target: UnsafeMutableRawPointer) -> Int? {
    let constants = UnsafeRawPointer(constants.base)
    var written = 0
    for step in steps {
      Self.copy(step.literal, of: constants, to: target, &written)
      guard step.field >= 0 else { continue }
      let value = values[step.field]
      if step.isNumber {
        Self.writeNumber(step, value, constants, target, &written)
      } else if value.count == 0 {
        Self.copy(step.fallback, of: constants, to: target, &written)
      } else if let source = value.baseAddress {
        guard let count = JSONText.write(source, value.count, to: target + written) else {
          return nil
        }
        written += count
      }
    }
    return written
  }

  @inline(__always)
  private static func copy(
    _ slice: ByteSlice, of constants: UnsafeRawPointer, to target: UnsafeMutableRawPointer,
    _ written: inout Int
  ) {
    (target + written).copyMemory(from: constants + Int(slice.offset), byteCount: Int(slice.count))
    written += Int(slice.count)
  }

  private static func writeNumber(
    _ step: Step, _ value: UnsafeRawBufferPointer, _ constants: UnsafeRawPointer,
    _ target: UnsafeMutableRawPointer, _ written: inout Int
  ) {
    let isInteger = IntegerText.isInteger(value)
    guard isInteger || !step.fallback.isMissing else { return }
    if written > 0, (target + written - 1).load(as: UInt8.self) != UInt8(ascii: "{") {
      (target + written).storeBytes(of: UInt8(ascii: ","), as: UInt8.self)
      written += 1
    }
    copy(step.key, of: constants, to: target, &written)
    if isInteger, let source = value.baseAddress {
      (target + written).copyMemory(from: source, byteCount: value.count)
      written += value.count
    } else {
      copy(step.fallback, of: constants, to: target, &written)
    }
  }
}
