/// An id by its bytes, as Redis tells ids apart. Swift takes two texts for the same that are only
/// canonically equivalent (é as one scalar or as two); they are two users, or two streamers.
struct ExactText: Hashable {
  let text: String

  init(_ text: String) { self.text = text }

  static func == (left: ExactText, right: ExactText) -> Bool {
    left.text.isExactly(right.text)
  }

  func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}

extension String {
  func isExactly(_ other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
