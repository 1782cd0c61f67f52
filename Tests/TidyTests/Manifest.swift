/// The targets of Package.swift and what each depends on: the table of the walls.
struct Manifest: Sendable {
  struct Target: Sendable, Equatable {
    let name: String
    /// By the function that declares it: `binding`, `stage`, `room`, …
    let kind: String
    let dependencies: Set<String>
  }

  let targets: [Target]

  static let this = Manifest(PackageTree.this.text(of: "Package.swift"))

  /// Reads the calls `kind("Name", …, ["Dependency", …])`.
  init(_ text: String) {
    let call =
      #/
      \b(binding|stage|platform|room|program|support|driver|tests)
      \(\s*"(\w+)"([^\[\]]*)\[([^\]]*)\]
      /#
    let declared = text.matches(of: call).map { match in
      Target(
        name: String(match.2), kind: String(match.1),
        dependencies: Set(match.4.matches(of: /"(\w+)"/).map { String($0.1) }))
    }
    let library = /\b(?:cLibrary\(\s*|systemLibrary\(\s*name: )"(\w+)"/
    let libraries = text.matches(of: library).map {
      Target(name: String($0.1), kind: "library", dependencies: [])
    }
    targets = libraries + declared
  }

  subscript(name: String) -> Target? { targets.first { $0.name == name } }

  var names: Set<String> { Set(targets.map(\.name)) }

  func names(of kind: String) -> Set<String> {
    Set(targets.filter { $0.kind == kind }.map(\.name))
  }
}
