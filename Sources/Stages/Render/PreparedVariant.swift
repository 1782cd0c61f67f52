import Model

/// One locale's payload with the event's fields in place: constant bytes between which only the
/// recipient's values are missing. Confined to one lane.
final class PreparedVariant {
  /// A constant stretch, then perhaps a value of the recipient.
  struct Step {
    var literal: ByteSlice
    /// The profile field's index in the template; negative: no value follows.
    var field: Int32 = -1
    /// Nil: a text.
    var type: ValueType?
    /// Stands for an empty value; missing only where there is a type: it is then left out.
    var fallback = ByteSlice.missing
    /// Of a value with a type: its key, quoted, with the colon.
    var key = ByteSlice.missing
  }

  /// The text that may be shortened, as parts of an unescaped text.
  enum FieldPart {
    case text(String)
    case recipient(field: Int, fallback: String)
  }

  let constants: ByteArena
  let steps: [Step]
  /// The most bytes that the steps write, the recipient's values aside.
  let fixedBytes: Int
  /// The steps inside the text that may be shortened; nil when the template names none.
  let fieldSteps: Range<Int>?
  let fieldParts: [FieldPart]

  /// - Parameter collapseID: of the fan-out.
  init(_ pieces: [Template.Piece], _ event: Event, collapseID: String?) {
    var builder = VariantBuilder(event, collapseID: collapseID)
    for piece in pieces { builder.add(piece) }
    builder.endStep()
    constants = builder.constants
    steps = builder.steps
    // A value with a type brings a comma.
    fixedBytes = builder.constants.count + builder.steps.count
    fieldSteps = builder.fieldSteps
    fieldParts = builder.fieldParts
  }

  /// The most bytes that `write` needs; nil when a value alone is longer than `limit`.
  @inline(__always)
  func bound(_ values: RecipientValues, limit: Int) -> Int? {
    var bound = fixedBytes
    for step in steps where step.field >= 0 {
      let count = values[step.field].count
      if count > limit { return nil }
      bound += count * JSONEscaping.maximumGrowth
    }
    return bound
  }

  /// Writes the payload to `target`, which has room for `bound` bytes; returns its length. Nil when
  /// a value has a bidi control: such a payload is for `PayloadFitter`.
  @inline(__always)
  func write(_ values: RecipientValues, to target: UnsafeMutableRawPointer) -> Int? {
    let constants = UnsafeRawPointer(constants.base)
    var written = 0
    for step in steps {
      Self.copy(step.literal, of: constants, to: target, &written)
      guard step.field >= 0 else { continue }
      let value = values[step.field]
      if let type = step.type {
        Self.write(step, value, as: type, constants, target, &written)
      } else if value.count == 0 {
        Self.copy(step.fallback, of: constants, to: target, &written)
      } else if let source = value.baseAddress {
        guard let count = JSONEscaping.write(source, value.count, to: target + written) else {
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

  private static func copy(
    _ value: UnsafeRawBufferPointer, to target: UnsafeMutableRawPointer, _ written: inout Int
  ) {
    guard let source = value.baseAddress else { return }
    (target + written).copyMemory(from: source, byteCount: value.count)
    written += value.count
  }

  private static func put(
    _ byte: UInt8, to target: UnsafeMutableRawPointer, _ written: inout Int
  ) {
    (target + written).storeBytes(of: byte, as: UInt8.self)
    written += 1
  }

  private static func write(
    _ step: Step, _ value: UnsafeRawBufferPointer, as type: ValueType,
    _ constants: UnsafeRawPointer, _ target: UnsafeMutableRawPointer, _ written: inout Int
  ) {
    let spelling = type.spelling(of: value)
    guard spelling != .not || !step.fallback.isMissing else { return }
    if written > 0, (target + written - 1).load(as: UInt8.self) != UInt8(ascii: "{") {
      put(UInt8(ascii: ","), to: target, &written)
    }
    copy(step.key, of: constants, to: target, &written)
    switch spelling {
    case .asItIs: copy(value, to: target, &written)
    case .quoted:
      // With its quotation marks no longer than JSONEscaping.maximumGrowth makes a URL.
      put(UInt8(ascii: "\""), to: target, &written)
      copy(value, to: target, &written)
      put(UInt8(ascii: "\""), to: target, &written)
    case .word(let word):
      // No longer than JSONEscaping.maximumGrowth makes a value of one byte.
      (target + written).copyMemory(from: word.utf8Start, byteCount: word.utf8CodeUnitCount)
      written += word.utf8CodeUnitCount
    case .not: copy(step.fallback, of: constants, to: target, &written)
    }
  }
}

/// Puts the event's fields between the template's pieces.
private struct VariantBuilder {
  let event: Event
  let collapseID: String?
  let constants = ByteArena(capacity: 1024)
  var steps: [PreparedVariant.Step] = []
  var fieldSteps: Range<Int>?
  var fieldParts: [PreparedVariant.FieldPart] = []
  /// Where the constant bytes begin that are in no step yet.
  private var start = 0
  private var fieldStart: Int?

  init(_ event: Event, collapseID: String?) {
    self.event = event
    self.collapseID = collapseID
  }

  mutating func add(_ piece: Template.Piece) {
    switch piece {
    case .literal(let bytes): constants.append(bytes)
    case .text(let text): add(text)
    case .event(let path, let fallback):
      let value = BidiControls.cleaned(event.value(of: path))
      add(value.isEmpty ? fallback : value)
    case .recipient(let field, let fallback):
      endStep { step, constants in
        step.field = Int32(truncatingIfNeeded: field)
        step.fallback = constants.append(JSONEscaping.escaped(fallback))
      }
      if fieldStart != nil { fieldParts.append(.recipient(field: field, fallback: fallback)) }
    case .value(let key, let value): add(value, key: key)
    case .collapseID(let key):
      guard let collapseID else { return }
      addMember(key, [0x22] + JSONEscaping.escaped(collapseID) + [0x22])
    case .shortenedBegin:
      endStep()
      fieldStart = steps.count
    case .shortenedEnd:
      endStep()
      fieldSteps = fieldStart.map { $0..<steps.count }
      fieldStart = nil
    }
  }

  private mutating func add(_ value: TemplateValue, key: [UInt8]) {
    switch value.source {
    case .event(let path):
      let written = value.type.written(BidiControls.cleaned(event.value(of: path)))
      guard let json = written ?? value.fallback else { return }
      addMember(key, json)
    case .recipient(let field):
      endStep { step, constants in
        step.field = Int32(truncatingIfNeeded: field)
        step.type = value.type
        step.key = constants.append(key)
        if let fallback = value.fallback { step.fallback = constants.append(fallback) }
      }
    }
  }

  private func addMember(_ key: [UInt8], _ json: [UInt8]) {
    if constants.last != UInt8(ascii: "{") { constants.append([UInt8(ascii: ",")]) }
    constants.append(key)
    constants.append(json)
  }

  private mutating func add(_ text: String) {
    constants.append(JSONEscaping.escaped(text))
    if fieldStart != nil { fieldParts.append(.text(text)) }
  }

  mutating func endStep(_ complete: (inout PreparedVariant.Step, ByteArena) -> Void = { _, _ in }) {
    var step = PreparedVariant.Step(
      literal: ByteSlice(offset: start, count: constants.count - start))
    complete(&step, constants)
    start = constants.count
    steps.append(step)
  }
}

extension ByteArena {
  fileprivate var last: UInt8? {
    count > 0 ? base.load(fromByteOffset: count - 1, as: UInt8.self) : nil
  }
}

/// The values of one recipient.
struct RecipientValues {
  let bytes: UnsafeRawPointer
  let row: UnsafePointer<ByteSlice>?
  let columns: UnsafePointer<Int32>?

  /// The value of a field of the template; no bytes when it is missing.
  @inline(__always)
  subscript(field: Int32) -> UnsafeRawBufferPointer {
    guard let row, let columns, columns[Int(field)] >= 0 else {
      return UnsafeRawBufferPointer(start: bytes, count: 0)
    }
    let slice = row[Int(columns[Int(field)])]
    guard slice.count > 0 else { return UnsafeRawBufferPointer(start: bytes, count: 0) }
    return UnsafeRawBufferPointer(start: bytes + Int(slice.offset), count: Int(slice.count))
  }
}
