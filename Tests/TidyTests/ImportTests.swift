import Testing

@Suite struct ImportTests {
  private let rules = ImportRules(table: .this)

  private func broken(_ path: String, _ text: String) -> [Violation] {
    rules.violations(in: SourceFile(path: path, text: text))
  }

  @Test func everyRoomKeepsToTheTable() {
    report(PackageTree.swiftFiles.flatMap { rules.violations(in: $0) })
  }

  @Test func cModulesAreImportedByTheirBindingOnly() {
    report(PackageTree.swiftFiles.flatMap { rules.violationsOfC(in: $0) })
  }

  @Test func http2AndTLSNeverTouchASocket() {
    report(PackageTree.swiftFiles.flatMap { ImportRules.socketCalls(in: $0) })
  }

  @Test func tableAndFoldersAgree() {
    let rooms = Set(PackageTree.this.rooms().keys)
    #expect(ImportRules.unknownRooms(onDisk: rooms, table: .this) == [])
  }

  @Test func tableItselfKeepsTheDesign() {
    let stages = Set(ImportTable.stages.map(\.room))
    for row in ImportTable.this.rows {
      let cModules = row.imports.intersection(ImportTable.importersOfC.keys)
      for module in cModules {
        #expect(ImportTable.importersOfC[module]?.contains(row.room) == true, "\(row.room)")
      }
      if stages.contains(row.room) { #expect(row.imports.isDisjoint(with: stages), "\(row.room)") }
      if row.room != "fanfare" { #expect(!row.imports.contains("Settings"), "\(row.room)") }
      #expect(row.imports.isSubset(of: ImportTable.this.rooms), "\(row.room)")
      #expect(!row.imports.contains("fanfare") && !row.imports.contains(row.room), "\(row.room)")
    }
    #expect(ImportTable.hotRooms.isSubset(of: ImportTable.this.rooms))
    for room in ["Model", "Keyspace", "Telemetry"] {
      #expect(ImportTable.this.row(room)?.imports == [])
    }
    for room in ["HTTP2", "TLS"] {
      #expect(ImportTable.this.row(room)?.imports.contains("CLinux") == false)
    }
  }

  // MARK: - The rules can fail

  @Test(arguments: [
    "import Kafka", "  import Kafka", "package import Kafka", "@testable import Kafka",
    "@_spi(Inner) private import Kafka", "import struct Kafka.KafkaMessage",
    "import Model; import Kafka",
  ])
  func findsAnImportThroughTheWall(_ text: String) {
    let found = broken("Sources/Stages/Expand/A.swift", "import Model\n\(text)\n")
    #expect(found.map(\.line) == [2])
    #expect(found.first?.rule.hasPrefix("Expand may not import Kafka") == true)
  }

  @Test func findsOutsideModulesAndReexports() {
    #expect(broken("Sources/Model/A.swift", "import NIOCore\n").count == 1)
    #expect(broken("Sources/Pipeline/A.swift", "@_exported import Expand\n").count == 1)
    #expect(broken("Sources/Pipeline/A.swift", "import Settings\n").count == 1)
    #expect(broken("Sources/Stages/Record/A.swift", "import Expand\n").count == 1)
  }

  @Test func readsOverWhatIsNoImport() {
    let text = """
      // import Kafka
      /* import Kafka */
      let a = "import Kafka"
      let b = \"""
        import Kafka
        \"""
      import Model
      """
    #expect(broken("Sources/Stages/Expand/A.swift", text) == [])
  }

  @Test func findsCOutsideItsBinding() {
    for path in ["Sources/fanfare/A.swift", "Tests/KafkaTests/A.swift"] {
      let file = SourceFile(path: path, text: "import CRdKafka\n")
      #expect(rules.violationsOfC(in: file).count == 1)
    }
    let binding = SourceFile(path: "Sources/Bindings/Kafka/A.swift", text: "import CRdKafka\n")
    #expect(rules.violationsOfC(in: binding) == [])
  }

  @Test func findsSocketCalls() {
    func calls(_ text: String) -> Int {
      ImportRules.socketCalls(in: SourceFile(path: "Sources/Bindings/TLS/A.swift", text: text))
        .count
    }
    #expect(calls("let a = socket(AF_INET, 1, 0)") == 1)
    #expect(calls("guard Glibc.connect(a, b, c) == 0 else { return }") == 1)
    #expect(calls("SSL_set_fd(ssl, descriptor)") == 1)
    #expect(calls("func send(_ bytes: [UInt8]) {}") == 0)
    #expect(calls("SSL_connect(ssl); session.send(bytes)  // then connect(it)") == 0)
  }

  @Test func findsRoomsWithoutARowAndRowsWithoutARoom() {
    let table = ImportTable(rows: [.init("Model", [], because: "pure")])
    #expect(ImportRules.unknownRooms(onDisk: ["Model"], table: table) == [])
    #expect(ImportRules.unknownRooms(onDisk: ["Model", "Attic"], table: table).count == 1)
    #expect(ImportRules.unknownRooms(onDisk: [], table: table).count == 1)
  }
}
