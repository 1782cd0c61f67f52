import Glibc

/// What the sources say about the walls that the manifest names.
struct ImportRules {
  let manifest: Manifest

  struct Import: Equatable {
    let module: String
    let line: Int
    let isReexported: Bool
  }

  /// What the toolchain brings. Foundation is a rule of its own (`BannedCalls`).
  static let toolchain: Set<String> = [
    "Swift", "Glibc", "Synchronization", "FoundationEssentials", "Foundation", "Dispatch",
    "Testing",
  ]

  /// In these rooms every push or every page passes: `Foundation` costs (a `UUID()` alone 2.7 µs),
  /// and its parsers accept what they should refuse.
  static let hotRooms: Set<String> = [
    "EventLoop", "TLS", "HTTP2", "Transport", "Redis", "Kafka", "Model", "Keyspace", "Rules",
    "Expand", "Render", "Deliver", "Record", "Telemetry",
  ]

  /// Assembly makes options of settings; `check` names keys in what it finds; verbs load settings.
  static let readersOfSettings: Set<String> = ["Assembly", "Checks", "PushSupport", "VerbSupport"]

  /// A program holds verbs: options in, rooms wired, exit code out.
  static let mostRoomsOfAProgram = 12

  /// C types leave no binding: each library has one importer. CLinux holds system calls, not a
  /// library, and is no one's.
  static let importersOfC = [
    "CRdKafka": "Kafka", "CHiredis": "Redis", "CNghttp2": "HTTP2", "COpenSSL": "TLS",
    "CYAML": "YAML", "CJansson": "JSON", "CLua": "MemoryRedis",
  ]

  /// Every import of the file, with attributes, access level and kind (`import struct A.B`) read
  /// over.
  static func imports(of file: SourceFile) -> [Import] {
    file.code.enumerated().flatMap { index, line in
      guard line.contains("import") else { return [Import]() }
      return line.split(separator: ";").compactMap { statement(String($0), line: index + 1) }
    }
  }

  private static func statement(_ text: String, line: Int) -> Import? {
    var words = text.split(separator: " ").map(String.init)[...]
    let isReexported = words.contains("@_exported")
    while let word = words.first, word.hasPrefix("@") || accessLevels.contains(word) {
      words.removeFirst()
    }
    guard words.popFirst() == "import", var module = words.popFirst() else { return nil }
    if kinds.contains(module), let next = words.popFirst() { module = next }
    return Import(
      module: String(module.prefix { $0 != "." }), line: line, isReexported: isReexported)
  }

  private static let accessLevels: Set<String> = [
    "public", "package", "internal", "private", "fileprivate",
  ]
  private static let kinds: Set<String> = [
    "struct", "class", "enum", "protocol", "func", "typealias", "var", "let", "actor",
  ]

  /// What files of a target import of ours without its manifest saying so, or hide from it.
  func violations(in file: SourceFile) -> [Violation] {
    guard let name = file.target, let target = manifest[name] else { return [] }
    return Self.imports(of: file).flatMap { found -> [Violation] in
      var broken: [Violation] = []
      if !target.dependencies.contains(found.module), !Self.toolchain.contains(found.module) {
        broken.append(file.violation(found.line, "\(name) does not depend on \(found.module)"))
      }
      if found.isReexported {
        broken.append(
          file.violation(found.line, "@_exported import of \(found.module) opens a wall unseen"))
      }
      return broken
    }
  }

  /// Doors that nobody uses. A program is built for those who run it; they need not import it.
  func unused(in files: [SourceFile]) -> [Violation] {
    let programs = manifest.names(of: "program")
    let imported = Dictionary(grouping: files, by: \.target).mapValues { files in
      Set(files.flatMap { Self.imports(of: $0) }.map(\.module))
    }
    return manifest.targets.flatMap { target in
      target.dependencies.subtracting(programs).subtracting(imported[target.name] ?? []).sorted()
        .map {
          Violation(file: "Package.swift", line: 0, rule: "\(target.name) imports no \($0)")
        }
    }
  }

  /// What the design says of the table itself.
  func brokenDesign() -> [String] {
    let stages = manifest.names(of: "stage")
    var broken: [String] = []
    for target in manifest.targets where target.kind != "tests" && target.kind != "support" {
      let (name, imports) = (target.name, target.dependencies)
      if stages.contains(name), !imports.isDisjoint(with: stages) {
        broken.append("\(name) imports another stage")
      }
      if imports.contains("Settings"), !Self.readersOfSettings.contains(name) {
        broken.append("\(name) imports Settings: it takes options instead")
      }
      if imports.contains("Pipeline"), name != "Assembly", name != "fanfare" {
        broken.append("\(name) stands above the Pipeline")
      }
      for (library, importer) in Self.importersOfC
      where imports.contains(library) && name != importer {
        broken.append("only \(importer) may import \(library)")
      }
    }
    for program in manifest.targets where program.kind == "program" {
      let count = program.dependencies.count
      if count > Self.mostRoomsOfAProgram {
        broken.append("\(program.name) imports \(count) rooms: what is no verb belongs in one")
      }
    }
    for pure in ["Text", "Model", "Keyspace", "Telemetry", "Terminal"] {
      guard let target = manifest[pure] else { continue }
      if !target.dependencies.isSubset(of: ["Text", "Threads"]) {
        broken.append("\(pure) is pure")
      }
    }
    if let rules = manifest["Rules"], !rules.dependencies.isSubset(of: ["Model", "Text"]) {
      broken.append("Rules is pure")
    }
    return broken
  }

  /// HTTP2 and TLS take bytes and give bytes; whoever moves them is Transport.
  static func socketCalls(in file: SourceFile) -> [Violation] {
    guard let room = file.room, room == "HTTP2" || room == "TLS" else { return [] }
    return file.code.enumerated().flatMap { index, line in
      socketCalls.filter { line.hasCall($0) }.map {
        file.violation(index + 1, "\(room) calls \($0): sockets belong to Transport")
      }
    }
  }

  private static let socketCalls = [
    "socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "recv", "recvfrom",
    "recvmsg", "send", "sendto", "sendmsg", "getaddrinfo", "epoll_create1", "epoll_ctl",
    "epoll_wait", "SSL_set_fd", "BIO_new_socket", "BIO_new_connect", "BIO_s_socket",
  ]

  /// The rooms on disk and those of the manifest are the same.
  static func unknownRooms(onDisk: Set<String>, manifest: Manifest) -> [String] {
    let kinds = ["library", "binding", "stage", "platform", "room", "program"]
    let declared = kinds.reduce(into: Set<String>()) {
      $0.formUnion(manifest.names(of: $1))
    }
    return onDisk.subtracting(declared).sorted().map { "\($0) is no target of Package.swift" }
      + declared.subtracting(onDisk).sorted().map { "\($0) has no folder in Sources" }
  }
}

extension StringProtocol {
  /// Whether `text` occurs at all: rules look at every line for many words, which hardly any has.
  func mentions(_ text: String) -> Bool { strstr(String(self), text) != nil }
}

extension String {
  /// Whether the line calls the function `name` as it stands alone: not as a method of something,
  /// not as part of a longer name, and not as its declaration.
  func hasCall(_ name: String) -> Bool {
    guard mentions("\(name)(") else { return false }
    return hasWord("\(name)(") { before in
      !before.hasSuffix(".") && !before.hasSuffix("func ")
    } || ["Glibc.", "Swift.", "CLinux."].contains { hasWord("\($0)\(name)(") { _ in true } }
  }

  /// Whether `word` occurs with no identifier's character before it, where `allowed` takes what
  /// precedes it.
  func hasWord(_ word: String, where allowed: (Substring) -> Bool = { _ in true }) -> Bool {
    guard mentions(word) else { return false }
    var rest = self[...]
    while let found = rest.firstRange(of: word) {
      let before = self[..<found.lowerBound]
      let follows = before.last.map { $0.isLetter || $0.isNumber || $0 == "_" } ?? false
      if !follows, allowed(before) { return true }
      rest = rest[found.upperBound...]
    }
    return false
  }
}
