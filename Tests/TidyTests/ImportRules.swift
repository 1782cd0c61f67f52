/// What the source says about the walls of `ImportTable`.
struct ImportRules {
  let table: ImportTable

  struct Import: Equatable {
    let module: String
    let line: Int
    let isReexported: Bool
  }

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

  func violations(in file: SourceFile) -> [Violation] {
    guard let room = file.room, let row = table.row(room) else { return [] }
    return Self.imports(of: file).flatMap { found -> [Violation] in
      var broken: [Violation] = []
      let isOurs = table.rooms.contains(found.module)
      if isOurs
        ? !row.imports.contains(found.module) : !ImportTable.toolchain.contains(found.module)
      {
        broken.append(
          file.violation(
            found.line, "\(room) may not import \(found.module) (\(room): \(row.because))"))
      }
      if found.isReexported {
        broken.append(
          file.violation(found.line, "@_exported import of \(found.module) opens a wall unseen"))
      }
      return broken
    }
  }

  /// A test may reach into any room, but a C type leaves no binding there either.
  func violationsOfC(in file: SourceFile) -> [Violation] {
    Self.imports(of: file).compactMap { found in
      guard let importers = ImportTable.importersOfC[found.module], found.module != "CLinux",
        !importers.contains(file.room ?? "")
      else { return nil }
      return file.violation(
        found.line, "only \(importers.sorted().joined(separator: ", ")) may import \(found.module)")
    }
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

  /// The rooms on disk and the rows of the table are the same.
  static func unknownRooms(onDisk: Set<String>, table: ImportTable) -> [String] {
    onDisk.subtracting(table.rooms).sorted().map { "\($0) has no row in the import table" }
      + table.rooms.subtracting(onDisk).sorted().map { "\($0) has a row but no folder in Sources" }
  }
}

extension String {
  /// Whether the line calls the function `name` as it stands alone: not as a method of something,
  /// not as part of a longer name, and not as its declaration.
  func hasCall(_ name: String) -> Bool {
    hasWord("\(name)(") { before in
      !before.hasSuffix(".") && !before.hasSuffix("func ")
    } || ["Glibc.", "Swift.", "CLinux."].contains { hasWord("\($0)\(name)(") { _ in true } }
  }

  /// Whether `word` occurs with no identifier's character before it, where `allowed` takes what
  /// precedes it.
  func hasWord(_ word: String, where allowed: (Substring) -> Bool = { _ in true }) -> Bool {
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
