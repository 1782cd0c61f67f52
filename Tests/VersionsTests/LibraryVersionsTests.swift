import Testing
import Versions

@Suite struct LibraryVersionsTests {
  @Test func everyLibrarySaysWhichItIs() {
    #expect(LibraryVersions.all.count == 6)
    #expect(LibraryVersions.all.filter { !$0.version.contains { $0.isNumber } }.isEmpty)
  }
}
