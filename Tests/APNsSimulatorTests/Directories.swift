import Glibc

struct SystemError: Error { let number: Int32 }

func makeDirectory() throws -> String {
  var template = Array("/tmp/simulator-test-XXXXXX".utf8CString)
  guard mkdtemp(&template) != nil else { throw SystemError(number: errno) }
  return String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
}

func removeDirectory(_ path: String) {
  for name in [
    "ca.pem", "server.pem", "server.key", "server.hosts", "AuthKey_SIMULATED1.p8", "control.token",
    "client.pem", "client-sandbox.pem", "client-production.pem",
  ] {
    unlink("\(path)/\(name)")
  }
  rmdir(path)
}

func readFile(_ path: String) throws -> String {
  let descriptor = open(path, O_RDONLY)
  guard descriptor >= 0 else { throw SystemError(number: errno) }
  defer { close(descriptor) }
  var bytes = [UInt8](repeating: 0, count: 65_536)
  let count = read(descriptor, &bytes, bytes.count)
  guard count >= 0 else { throw SystemError(number: errno) }
  return String(decoding: bytes[0..<count], as: UTF8.self)
}
