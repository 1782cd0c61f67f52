/// The orders that the keys of a terminal give. A pure machine: bytes go in.
struct DevelopmentKeys {
  enum Wish: Equatable {
    case sendExample, undoTemplate, showDashboard, toggleLog, stop
  }

  /// Of an escape sequence, such as an arrow's, of which no byte is a key.
  private enum Sequence { case none, begun, parameters }
  private var sequence = Sequence.none

  /// Keys without a meaning are passed over.
  mutating func wishes(_ bytes: [UInt8]) -> [Wish] {
    // A terminal sends a sequence as a whole: an escape alone was the key.
    defer { if sequence == .begun { sequence = .none } }
    return bytes.compactMap { wish($0) }
  }

  private mutating func wish(_ byte: UInt8) -> Wish? {
    switch sequence {
    case .begun:
      let isLong = byte == UInt8(ascii: "[") || byte == UInt8(ascii: "O")
      sequence = isLong ? .parameters : .none
      return nil
    case .parameters:
      if (0x40...0x7E).contains(byte) { sequence = .none }
      return nil
    case .none: break
    }
    switch byte {
    case 0x1B:
      sequence = .begun
      return nil
    case UInt8(ascii: "e"), UInt8(ascii: "E"): return .sendExample
    case UInt8(ascii: "u"), UInt8(ascii: "U"): return .undoTemplate
    case UInt8(ascii: "b"), UInt8(ascii: "B"): return .showDashboard
    case UInt8(ascii: "l"), UInt8(ascii: "L"): return .toggleLog
    // Ctrl-C is a signal, unless the terminal was told otherwise.
    case UInt8(ascii: "q"), UInt8(ascii: "Q"), 0x03: return .stop
    default: return nil
    }
  }
}
