import Testing

@Suite struct ImportTests {
  private let rules = ImportRules(manifest: .this)

  private func broken(_ path: String, _ text: String) -> [Violation] {
    rules.violations(in: SourceFile(path: path, text: text))
  }

  @Test func everyTargetImportsWhatTheManifestSays() {
    report(PackageTree.swiftFiles.flatMap { rules.violations(in: $0) })
  }

  @Test func everyDoorIsUsed() {
    report(rules.unused(in: PackageTree.swiftFiles))
  }

  @Test func http2AndTLSNeverTouchASocket() {
    report(PackageTree.swiftFiles.flatMap { ImportRules.socketCalls(in: $0) })
  }

  @Test func manifestAndFoldersAgree() {
    let rooms = Set(PackageTree.this.rooms().keys)
    #expect(ImportRules.unknownRooms(onDisk: rooms, manifest: .this) == [])
    let tests = Set(PackageTree.swiftFiles.filter(\.isTest).compactMap(\.target))
    #expect(tests.subtracting(Manifest.this.names) == [])
  }

  @Test func theManifestKeepsTheDesign() {
    #expect(rules.brokenDesign() == [])
    #expect(ImportRules.hotRooms.isSubset(of: Manifest.this.names))
    #expect(Manifest.this.names(of: "stage").count == 5)
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
    #expect(found.first?.rule.hasPrefix("Expand does not depend on Kafka") == true)
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
      #expect(broken(path, "import CRdKafka\n").count == 1)
    }
    #expect(broken("Sources/Bindings/Kafka/A.swift", "import CRdKafka\n") == [])
  }

  @Test func findsDoorsThatNobodyUses() {
    let manifest = Manifest(#"room("Attic", ["Model", "Kafka"]), room("Model", [])"#)
    let file = SourceFile(path: "Sources/Attic/A.swift", text: "import Model\n")
    let found = ImportRules(manifest: manifest).unused(in: [file])
    #expect(found.map(\.rule) == ["Attic imports no Kafka"])
  }

  @Test(arguments: [
    (#"stage("Expand", ["Record"]), stage("Record", [])"#, "Expand imports another stage"),
    (#"room("Devices", ["Settings"])"#, "Devices imports Settings: it takes options instead"),
    (#"room("Devices", ["Pipeline"])"#, "Devices stands above the Pipeline"),
    (#"room("Devices", ["CHiredis"])"#, "only Redis may import CHiredis"),
    (#"room("Model", ["Redis"])"#, "Model is pure"),
    (
      #"program("f", ["A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "N"])"#,
      "f imports 14 rooms: what is no verb belongs in one"
    ),
  ])
  func findsABrokenDesign(manifest: String, complaint: String) {
    let broken = ImportRules(manifest: Manifest(manifest)).brokenDesign()
    #expect(broken.contains(complaint))
  }

  @Test func readsTheManifest() {
    let text = """
      support("TestBed", path: "Tests/Bed", ["Model"]),
      stage(
        "Expand",
        [
          "Model", "Redis",
        ]),
      cLibrary("CYAML", pkgConfig: "yaml-0.1", apt: "libyaml-dev", brew: "libyaml"),
      """
    #expect(
      Manifest(text).targets == [
        .init(name: "CYAML", kind: "library", dependencies: []),
        .init(name: "TestBed", kind: "support", dependencies: ["Model"]),
        .init(name: "Expand", kind: "stage", dependencies: ["Model", "Redis"]),
      ])
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

  @Test func findsRoomsWithoutATargetAndTargetsWithoutARoom() {
    let manifest = Manifest(#"room("Model", [])"#)
    #expect(ImportRules.unknownRooms(onDisk: ["Model"], manifest: manifest) == [])
    #expect(ImportRules.unknownRooms(onDisk: ["Model", "Attic"], manifest: manifest).count == 1)
    #expect(ImportRules.unknownRooms(onDisk: [], manifest: manifest).count == 1)
  }
}
