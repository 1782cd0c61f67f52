import Glibc
import Testing

@testable import Processes

@Suite struct PortOwnerTests {
  private static let table = """
      sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
       0: 0100007F:210C 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4711 1
       1: 0100007F:210C 0100007F:D204 01 00000000:00000000 00:00000000 00000000 0 0 4712 1
       2: 00000000000000000000000000000000:210C 0:0000 0A 0:0 00:0 0     0        0 4713 1
       3: 0100007F:210D 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4714 1
       4: cut
    """

  @Test func socketsThatListenOnThePortAreFound() {
    #expect(PortOwner.inodes(of: 8_460, in: Self.table) == ["4711", "4713"])
    #expect(PortOwner.inodes(of: 53_764, in: Self.table) == [])
  }

  @Test func aProgramThatListensIsNamed() throws {
    let port = try LocalPort.findFree()
    #expect(LocalPort.canBeListenedOn(port))
    #expect(PortOwner.name(of: port) == nil)
    let server = try ChildProcess(
      [
        "python3", "-uc",
        "import socket, sys; s = socket.create_server(('127.0.0.1', \(port))); print('ready'); "
          + "sys.stdin.read(); s.accept()",
      ], output: .pipe)
    try server.waitForLine(containing: "ready")
    #expect(!LocalPort.canBeListenedOn(port))
    #expect(PortOwner.name(of: port)?.hasSuffix("(process \(server.processID))") == true)
    server.stop(SIGKILL)
    #expect(PortOwner.name(of: port) == nil)
  }
}

@Suite struct StayingDirectoryTests {
  @Test func itStaysWithWhatIsInIt() throws {
    let parent = try ScratchDirectory()
    do {
      let directory = try ScratchDirectory(staying: parent.file("a"))
      try directory.writeSecret("one", to: "secret")
      try directory.writeSecret("two", to: "secret")
    }
    let again = try ScratchDirectory(staying: parent.file("a"))
    #expect(ScratchDirectory.names(in: again.path) == ["secret"])
    #expect(ScratchDirectory.read(again.file("secret")) == "two")
    #expect(try ChildProcess.run(["stat", "-c", "%a", again.file("secret")]) == "600\n")
    #expect(throws: LocalRunError.self) {
      try ScratchDirectory(staying: parent.file("none/a"))
    }
  }

  @Test func aTreeGoesAndLinksInItAreNotFollowed() throws {
    let parent = try ScratchDirectory()
    try parent.write("stays", to: "other")
    _ = try parent.makeDirectory("a")
    _ = try parent.makeDirectory("a/b")
    try parent.write("goes", to: "a/b/c")
    _ = try ChildProcess.run(["ln", "-s", parent.path, parent.file("a/link")])
    ScratchDirectory.removeTree(parent.file("a"))
    #expect(ScratchDirectory.names(in: parent.path) == ["other"])
    ScratchDirectory.removeTree(parent.file("other"))
    ScratchDirectory.removeTree(parent.file("none"))
    #expect(ScratchDirectory.names(in: parent.path) == [])
  }
}
