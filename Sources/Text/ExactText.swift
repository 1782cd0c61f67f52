/// An id, a token or a name by its bytes, as Redis, Kafka and Apple tell them apart. Swift takes
/// two texts for the same that are only canonically equivalent (é as one scalar or as two); they
/// are two users, or two streamers. All that is known by an id is known by this: it cannot be
/// compared otherwise.
package struct ExactText: Hashable, Sendable {
  package let text: String

  package init(_ text: String) { self.text = text }

  package static func == (left: ExactText, right: ExactText) -> Bool {
    left.text.isExactly(right.text)
  }

  package func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}

/// For what is chosen by us.
extension ExactText: ExpressibleByStringLiteral {
  package init(stringLiteral text: String) { self.text = text }
}

extension String {
  package func isExactly(_ other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
