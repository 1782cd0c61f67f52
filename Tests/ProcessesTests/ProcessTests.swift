import Glibc
import ServerProcesses
import Testing

@testable import Processes

@Suite struct ProcessTests {
  @Test func serverAnswersDiesAndComesBack() throws {
    let server = try RedisServerProcess()
    #expect(try server.cli("SET", "key", "value") == "OK")
    #expect(try server.cli("GET", "key") == "value")
    let first = try #require(server.processID)
    server.kill()
    #expect(Glibc.kill(first, 0) == -1)
    try server.start()
    #expect(try server.cli("EXISTS", "key") == "0")
  }

  @Test func aServerThatWasKilledKeepsItsPort() throws {
    let server = try RedisServerProcess()
    server.kill()
    #expect(!LocalPort.isListening(server.port))
    #expect(!LocalPort.isFree(server.port))
    try server.start()
    #expect(LocalPort.isListening(server.port))
  }

  @Test func aPortIsKeptAsLongAsItsOwner() throws {
    var reserved: ReservedPort? = try ReservedPort()
    let port = try #require(reserved?.number)
    #expect(!LocalPort.isFree(port))
    reserved = nil
    #expect(LocalPort.isFree(port))
  }

  @Test func aDurableServerKeepsWhatItAnswered() throws {
    let server = try RedisServerProcess(isDurable: true, options: ["--requirepass", "secret"])
    try server.cli("--pass", "secret", "--no-auth-warning", "SET", "key", "value")
    server.kill()
    try server.start()
    #expect(try server.cli("--pass", "secret", "--no-auth-warning", "GET", "key") == "value")
  }

  @Test func exitCodesAndOutputArrive() throws {
    #expect(try ChildProcess.run(["sh", "-c", "echo $NUMBER-one"]) == "-one\n")
    let process = try ChildProcess(
      ["sh", "-c", "echo $NUMBER; exit 7"], output: .pipe, environment: ["NUMBER": "5"])
    try process.waitForLine(containing: "5")
    #expect(process.waitForExit() == 7)
    #expect(throws: LocalRunError.self) { try ChildProcess(["/no/such/program"]) }
    #expect(try ChildProcess(["sleep", "600"]).stop() == 128 + SIGTERM)
  }

  @Test func directoriesVanish() throws {
    var directory: ScratchDirectory? = try ScratchDirectory()
    let path = try #require(directory?.path)
    try directory?.write("text", to: "file")
    #expect(mkdir("\(path)/inner", 0o755) == 0)
    try directory?.write("text", to: "inner/file")
    #expect(access("\(path)/inner/file", F_OK) == 0)
    directory = nil
    #expect(access(path, F_OK) == -1)
  }
}
