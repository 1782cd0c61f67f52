/// The characters that turn the direction of the text behind them: U+202A…U+202E and U+2066…U+2069.
///
/// A value that opens one and does not close it would turn the rest of the line, the template's own
/// words with it ("Trojan Source", Unicode TR 36, 2.10). So in values, of events and of profiles,
/// such a control is taken out unless it has its partner in the same value; pairs stay, and nothing
/// else of a text is touched. The template's own text is its author's and may use them, for
/// instance U+2068…U+2069 around a name in a right-to-left language.
enum BidiControls {
  /// Whether the three bytes of a valid sequence that starts with 0xE2 are one of them.
  @inline(__always)
  static func isControl(_ source: UnsafeRawPointer) -> Bool {
    let second = (source + 1).load(as: UInt8.self)
    let third = (source + 2).load(as: UInt8.self)
    return (second == 0x80 && third >= 0xAA && third <= 0xAE)
      || (second == 0x81 && third >= 0xA6 && third <= 0xA9)
  }

  /// The text with its invalid bytes repaired, then without its unpaired controls. In that order:
  /// taking a control out from between broken bytes could make another one of them.
  static func cleaned(_ bytes: UnsafeRawBufferPointer) -> String {
    cleaned(String(decoding: bytes, as: UTF8.self))
  }

  static func cleaned(_ text: String) -> String {
    let unpaired = Unpaired(of: text)
    return removing(unpaired.unending.union(unpaired.others), from: text)
  }

  /// `beginning`, with which `whole` begins, without the controls that end in the rest of it. A
  /// control that ends nowhere in the whole is the template's own, and stays.
  static func beginning(_ beginning: String, of whole: String) -> String {
    let unpaired = Unpaired(of: beginning).unending
    guard !unpaired.isEmpty else { return beginning }
    return removing(unpaired.subtracting(Unpaired(of: whole).unending), from: beginning)
  }

  private static func removing(_ unpaired: Set<Int>, from text: String) -> String {
    guard !unpaired.isEmpty else { return text }
    var result = String.UnicodeScalarView()
    for (index, scalar) in text.unicodeScalars.enumerated() where !unpaired.contains(index) {
      result.append(scalar)
    }
    return String(result)
  }

  /// The positions, in scalars, of the controls that have no partner (UAX 9, BD9 and BD11): an
  /// isolate ends at its U+2069, which also ends what was opened inside it; U+202C ends an
  /// embedding of the same isolate.
  private struct Unpaired {
    /// Opened, and nothing ends it.
    var unending: Set<Int> = []
    /// Controls that end nothing, and those that ended with the isolate around them.
    var others: Set<Int> = []

    init(of text: String) {
      var open: [(isIsolate: Bool, index: Int)] = []
      var openIsolates = 0
      for (index, scalar) in text.unicodeScalars.enumerated() {
        switch scalar.value {
        case 0x202A, 0x202B, 0x202D, 0x202E: open.append((false, index))
        case 0x2066, 0x2067, 0x2068:
          open.append((true, index))
          openIsolates += 1
        case 0x202C:
          if open.last?.isIsolate == false { open.removeLast() } else { others.insert(index) }
        case 0x2069:
          guard openIsolates > 0 else {
            others.insert(index)
            continue
          }
          openIsolates -= 1
          while let last = open.popLast(), !last.isIsolate { others.insert(last.index) }
        default: continue
        }
      }
      unending = Set(open.map(\.index))
    }
  }
}
