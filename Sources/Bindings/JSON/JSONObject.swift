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
  /// Where each name stands; nil while there are so few that they are gone through.
  private var places: [Name: Int]?

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
    hash()
  }

  package var count: Int { members.count }
  package var isEmpty: Bool { members.isEmpty }

  /// Setting nil removes the member, which is linear in their number.
  package subscript(name: String) -> JSONValue? {
    get { place(of: name).map { members[$0].value } }
    set {
      switch (place(of: name), newValue) {
      case (let place?, let value?): members[place] = Member(name, value)
      case (let place?, nil):
        members.remove(at: place)
        places = nil
        hash()
      case (nil, let value?):
        places?[Name(text: name)] = members.count
        members.append(Member(name, value))
        if places == nil { hash() }
      case (nil, nil): break
      }
    }
  }

  package static func == (one: JSONObject, other: JSONObject) -> Bool {
    one.members == other.members
  }

  private func place(of name: String) -> Int? {
    if let places { return places[Name(text: name)] }
    return members.firstIndex { Name.isSame($0.name, name) }
  }

  private mutating func hash() {
    guard members.count > Self.maximumScanned else { return }
    var places = [Name: Int](minimumCapacity: members.count)
    for (place, member) in members.enumerated() { places[Name(text: member.name)] = place }
    self.places = places
  }

  /// By bytes, as jansson compares: Swift's `==` would take two normal forms of "é" for one name.
  private struct Name: Hashable, Sendable {
    let text: String

    static func isSame(_ one: String, _ other: String) -> Bool {
      one.utf8.elementsEqual(other.utf8)
    }

    static func == (one: Name, other: Name) -> Bool { isSame(one.text, other.text) }

    func hash(into hasher: inout Hasher) {
      var text = text
      text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
  }
}
