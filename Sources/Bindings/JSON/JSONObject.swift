/// The members of an object in the order in which they were written; a name occurs once.
package struct JSONObject: Sendable, Equatable {
  package struct Member: Sendable, Equatable {
    package let name: String
    package let value: JSONValue

    package init(_ name: String, _ value: JSONValue) {
      self.name = name
      self.value = value
    }
  }

  package private(set) var members: [Member]

  /// A later member of the same name replaces the earlier one in its place.
  package init(_ members: [(String, JSONValue)] = []) {
    self.members = []
    for (name, value) in members { self[name] = value }
  }

  /// For the parser, which has already seen that no name occurs twice.
  init(unique members: [Member]) { self.members = members }

  package var count: Int { members.count }
  package var isEmpty: Bool { members.isEmpty }

  /// Linear in the number of members: documents here have few. Setting nil removes the member.
  package subscript(name: String) -> JSONValue? {
    get { members.first { Self.isSame($0.name, name) }?.value }
    set {
      let index = members.firstIndex { Self.isSame($0.name, name) }
      switch (index, newValue) {
      case (let index?, let value?): members[index] = Member(name, value)
      case (let index?, nil): members.remove(at: index)
      case (nil, let value?): members.append(Member(name, value))
      case (nil, nil): break
      }
    }
  }

  /// By bytes, as jansson compares: Swift's `==` would take two normal forms of "é" for one name.
  private static func isSame(_ one: String, _ other: String) -> Bool {
    one.utf8.elementsEqual(other.utf8)
  }
}
