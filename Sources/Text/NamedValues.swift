/// Values by name in the order of their first appearance; a name set twice keeps its place and
/// takes the new value. For a handful of names: each look-up goes through them.
public struct NamedValues<Value: Sendable & Equatable>: Sendable, Equatable,
  ExpressibleByDictionaryLiteral
{
  public struct Member: Sendable, Equatable {
    public let name: String
    public var value: Value

    @inlinable init(name: String, value: Value) {
      self.name = name
      self.value = value
    }
  }

  @usableFromInline var kept: [Member] = []

  /// In order, each name once.
  @inlinable public var members: [Member] { kept }

  public init() {}

  @inlinable public init(dictionaryLiteral elements: (String, Value)...) {
    kept.reserveCapacity(elements.count)
    for (name, value) in elements { self[name] = value }
  }

  /// For who knows that no name occurs twice: without a look at each for each.
  @inlinable public init(unique members: [(name: String, value: Value)]) {
    kept = members.map { Member(name: $0.name, value: $0.value) }
  }

  @inlinable public subscript(name: String) -> Value? {
    get { kept.first { $0.name == name }?.value }
    set {
      let index = kept.firstIndex { $0.name == name }
      switch (index, newValue) {
      case (let index?, let value?): kept[index].value = value
      case (let index?, nil): kept.remove(at: index)
      case (nil, let value?): kept.append(Member(name: name, value: value))
      case (nil, nil): break
      }
    }
  }

  /// These, overridden and followed by others.
  @inlinable public func merging(_ others: NamedValues) -> NamedValues {
    guard !members.isEmpty else { return others }
    var merged = self
    for member in others.members { merged[member.name] = member.value }
    return merged
  }
}
