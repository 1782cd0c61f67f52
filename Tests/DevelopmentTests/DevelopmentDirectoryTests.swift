import Processes
import Testing

@testable import Development

@Suite struct DevelopmentDirectoryTests {
  private let parent: ScratchDirectory
  private let shipped: ScratchDirectory

  init() throws {
    parent = try ScratchDirectory()
    shipped = try ScratchDirectory()
    try shipped.write("shipped\n", to: "go-live.yaml")
  }

  private var path: String { parent.file("dev") }

  /// Of ports that are looked for here, and that nobody else gets meanwhile.
  private func open(isFresh: Bool = false) throws -> DevelopmentDirectory {
    var base = try LocalPort.findFree()
    while !(base..<base + DevelopmentPorts.count).allSatisfy(LocalPort.canBeListenedOn) {
      base = try LocalPort.findFree()
    }
    return try DevelopmentDirectory(
      path, DevelopmentPorts(base: base), isFresh: isFresh, shipped: shipped.path)
  }

  private func template() throws -> String? {
    ScratchDirectory.read("\(path)/templates/go-live.yaml")
  }

  @Test func theTemplateIsCopiedOnceAndNeverOverwritten() throws {
    let first = try open()
    #expect(try template() == "shipped\n")
    #expect(first.templateFile == "\(first.directory.path)/templates/go-live.yaml")
    try first.directory.write("edited\n", to: "templates/go-live.yaml")
    withExtendedLifetime(first) {}
    _ = consume first
    _ = try open()
    #expect(try template() == "edited\n")
  }

  @Test func logsOfAnEarlierRunGoAndDataStays() throws {
    do {
      let first = try open()
      for name in ["worker.log", "redis.out", "worker.ready", "api-keys"] {
        try first.directory.write("x", to: name)
      }
    }
    let second = try open()
    #expect(
      ScratchDirectory.names(in: second.directory.path)
        == ["api-keys", DevelopmentDirectory.mark, "templates"])
  }

  @Test func aFreshStartHasTheShippedTemplateAndNoData() throws {
    do {
      let first = try open()
      try first.directory.write("edited\n", to: "templates/go-live.yaml")
      try first.directory.write("x", to: "api-keys")
    }
    let second = try open(isFresh: true)
    #expect(try template() == "shipped\n")
    #expect(
      ScratchDirectory.names(in: second.directory.path)
        == [DevelopmentDirectory.mark, "templates"])
  }

  @Test func anUndoTakesThisRunsChangesFirstAndKeepsWhatItTakes() throws {
    let place = try open()
    let file = "templates/go-live.yaml"
    let undone = "\(place.directory.path)/go-live.undone.yaml"
    let older = "\(place.directory.path)/go-live.earlier.yaml"
    // An earlier run has changed it, and this one again.
    try place.directory.write("earlier\n", to: file)
    let start = DevelopmentDirectory.templateText(place.templateFile)
    try place.directory.write("edited\n", to: file)
    #expect(try place.undoTemplate(to: start) == .asAtStart(kept: undone))
    #expect(try template() == "earlier\n")
    #expect(ScratchDirectory.read(undone) == "edited\n")
    #expect(try place.undoTemplate(to: start) == .asShipped(kept: older))
    #expect(try template() == "shipped\n")
    #expect(ScratchDirectory.read(older) == "earlier\n")
    // The change of the earlier run comes back, and the text of this one is still there.
    #expect(try place.undoTemplate(to: start) == .asAtStart(kept: nil))
    #expect(try template() == "earlier\n")
    #expect(ScratchDirectory.read(undone) == "edited\n")
  }

  @Test func nothingIsUndoneTwice() throws {
    let place = try open()
    #expect(try place.undoTemplate(to: "shipped\n") == .nothing)
    #expect(!ScratchDirectory.exists("\(path)/go-live.undone.yaml"))
    // Somebody has removed the file: it comes back.
    ScratchDirectory.removeFile(place.templateFile)
    #expect(try place.undoTemplate(to: "shipped\n") == .asAtStart(kept: nil))
    #expect(try template() == "shipped\n")
  }

  @Test(arguments: [false, true])
  func aDirectoryOfSomethingElseStaysAsItIs(isFresh: Bool) throws {
    _ = try parent.makeDirectory("dev")
    try parent.write("precious", to: "dev/notes")
    let error = #expect(throws: LocalRunError.self) { try open(isFresh: isFresh) }
    #expect(error?.kind == .configuration)
    #expect(ScratchDirectory.names(in: path) == ["notes"])
  }

  @Test func oneProcessHasItAtATime() throws {
    let first = try open()
    try first.directory.write("x", to: "worker.log")
    let error = #expect(throws: LocalRunError.self) { try open(isFresh: true) }
    #expect(error?.kind == .unavailable && error?.message.contains("--directory") == true)
    #expect(ScratchDirectory.names(in: path).contains("worker.log"))
    withExtendedLifetime(first) {}
  }
}
