/// Values by name in the order of their first appearance; a name set twice keeps its place and
/// takes the new value. For a handful of names: each look-up goes through them.
package struct NamedValues<Value: Sendable & Equatable>: Sendable, Equatable,
  ExpressibleByDictionaryLiteral
{
  package struct Member: Sendable, Equatable {
    package let name: String
    package var value: Value
  }

  package private(set) var members: [Member] = []

  package init() {}

  package init(dictionaryLiteral elements: (String, Value)...) {
    members.reserveCapacity(elements.count)
    for (name, value) in elements { self[name] = value }
  }

  package subscript(name: String) -> Value? {
    get { members.first { $0.name == name }?.value }
    set {
      let index = members.firstIndex { $0.name == name }
      switch (index, newValue) {
      case (let index?, let value?): members[index].value = value
      case (let index?, nil): members.remove(at: index)
      case (nil, let value?): members.append(Member(name: name, value: value))
      case (nil, nil): break
      }
    }
  }

  /// These, overridden and followed by others.
  package func merging(_ others: NamedValues) -> NamedValues {
    guard !members.isEmpty else { return others }
    var merged = self
    for member in others.members { merged[member.name] = member.value }
    return merged
  }
}
