import Checkout
import LocalStack
import Processes
import Testing

@Suite struct TemplateDirectoryTests {
  @Test func whatTheCommandLineNamesIsTaken() throws {
    let templates = Checkout.path("Config/templates")
    #expect(try TemplateDirectory.find(templates) == templates)
  }

  @Test func aDirectoryWithoutTheTemplateIsRefused() throws {
    let empty = try ScratchDirectory()
    let failure = #expect(throws: LocalRunError.self) { try TemplateDirectory.find(empty.path) }
    #expect(failure?.kind == .configuration)
    #expect(failure?.message == "\(empty.path) holds no template go-live.yaml")
  }
}
