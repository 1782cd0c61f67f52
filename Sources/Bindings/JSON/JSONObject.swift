import Text

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
  /// Of the members by name, which jansson compares by bytes, too; nil while there are so few that
  /// they are gone through.
  private var indices: [ExactText: Int]?

  /// Up to here going through them is quicker than hashing.
  static let maximumScanned = 16

  /// A later member of the same name replaces the earlier one in its place.
  package init(_ members: [(String, JSONValue)] = []) {
    self.members = []
    for (name, value) in members { self[name] = value }
  }

  /// For the parser, which has already seen that no name occurs twice.
  init(unique members: [Member]) {
    self.members = members
    indexNames()
  }

  package var count: Int { members.count }
  package var isEmpty: Bool { members.isEmpty }

  /// Setting nil removes the member, which is linear in their number.
  package subscript(name: String) -> JSONValue? {
    get { index(of: name).map { members[$0].value } }
    set {
      switch (index(of: name), newValue) {
      case (let index?, let value?): members[index] = Member(name, value)
      case (let index?, nil):
        members.remove(at: index)
        indexNames()
      case (nil, let value?):
        members.append(Member(name, value))
        if indices == nil { indexNames() } else { indices?[ExactText(name)] = members.count - 1 }
      case (nil, nil): break
      }
    }
  }

  package static func == (one: JSONObject, other: JSONObject) -> Bool {
    one.members == other.members
  }

  private func index(of name: String) -> Int? {
    if let indices { return indices[ExactText(name)] }
    return members.firstIndex { $0.name.isExactly(name) }
  }

  private mutating func indexNames() {
    indices = nil
    guard members.count > Self.maximumScanned else { return }
    var indices = [ExactText: Int](minimumCapacity: members.count)
    for (index, member) in members.enumerated() { indices[ExactText(member.name)] = index }
    self.indices = indices
  }
}
