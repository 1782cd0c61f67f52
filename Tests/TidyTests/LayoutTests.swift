import Testing

@Suite struct LayoutTests {
  private let tree = PackageTree.this

  @Test func topLevelIsAsDesigned() {
    report(LayoutRules.strangers(atTop: tree.names(in: "")))
  }

  @Test func testsMirrorRooms() {
    let rooms = Set(tree.rooms().filter { !$0.value.hasPrefix("Sources/C/") }.keys)
    report(LayoutRules.unmirrored(tests: tree.folders(in: "Tests"), rooms: rooms))
  }

  @Test func noRoomIsEmpty() {
    report(LayoutRules.placeholders(in: PackageTree.swiftFiles.map(\.path)))
  }

  @Test func cModulesHoldNothingOfOurs() {
    for name in tree.folders(in: "Sources/C") {
      report(
        LayoutRules.violations(
          ofModule: name, files: tree.names(in: "Sources/C/\(name)"),
          header: tree.text(of: "Sources/C/\(name)/shim.h")))
    }
  }

  /// Were the root wrong, every rule above would be kept by nobody.
  @Test func theTreeIsThisPackage() {
    #expect(PackageTree.swiftFiles.contains { $0.path == "Tests/TidyTests/LayoutTests.swift" })
    #expect(tree.rooms()["EventLoop"] == "Sources/Bindings/EventLoop")
    #expect(tree.text(of: "Package.swift").contains("name: \"fanfare\""))
  }

  // MARK: - The rules can fail

  @Test func findsStrangersAtTop() {
    #expect(
      LayoutRules.strangers(atTop: ["Sources", ".build", "scripts"]).map(\.file) == ["scripts"])
  }

  @Test func findsTestsWithoutARoomAndRoomsWithoutTests() {
    let tests = ["ModelTests", "IntegrationTests", "AtticTests"]
    let broken = LayoutRules.unmirrored(tests: tests, rooms: ["Model", "Render", "fanfare"])
    #expect(broken.map(\.file) == ["Tests/AtticTests", "Tests/RenderTests"])
  }

  @Test func findsPlaceholders() {
    let paths = ["Sources/Model/Event.swift", "Sources/Pipeline/Placeholder.swift"]
    #expect(LayoutRules.placeholders(in: paths).map(\.file) == [paths[1]])
  }

  @Test func findsMoreThanAShimInC() {
    let broken = LayoutRules.violations(
      ofModule: "CYAML", files: ["module.modulemap", "shim.h", "shim.c"],
      header: "#include <yaml.h>\n#include \"../CLinux/shim.h\"\n")
    #expect(broken.map(\.line) == [0, 2])
  }
}
